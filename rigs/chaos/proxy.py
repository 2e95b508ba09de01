"""One proxy with two workers, run as a service manager runs it: it is started again whenever it ends."""

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from tests.proxy.running import page
from tests.proxy.world import until

PATIENCE_S = 240
RESTART_DELAY_S = 0.2
"""A service manager starts the proxy again after so long (RestartSec)."""
TOKEN = "planted-Jw7qXn2LrT9cVb4K"


class Proxy:
    """A proxy at `host`. Its configuration and its log are in `folder`, its decision log in `decisions`."""

    def __init__(self, host, admin_port, folder, decisions):
        self.admin_address = f"{host}:{admin_port}"
        self.config = folder / f"{host}.yaml"
        self.decisions = decisions / host
        self.host = host
        self._log = folder / f"{host}.log"
        self._may_run = asyncio.Event()
        self._may_run.set()
        self._process = None

    @property
    def supervisor(self):
        """The process id of the proxy; None between two starts."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    def workers(self):
        """The process ids of the workers that run now."""
        return [pid for pid in self.processes() if pid != self.supervisor]

    def processes(self):
        """The supervisor, its workers, and workers of a supervisor that was killed, while they drain."""
        config = str(self.config).encode()
        return [
            int(folder.name) for folder in Path("/proc").glob("[0-9]*") if config in _command_line(folder)
        ]

    async def is_ready(self):
        """Returns when the proxy lets clients in."""
        await until(self._lets_clients_in, f"the proxy at {self.host} is ready", PATIENCE_S)

    async def _lets_clients_in(self):
        try:
            status, _ = await page(self.admin_address, "/readyz")
        except OSError:
            return False
        return status == 200

    async def end(self):
        """Stop the proxy as a service manager does, until `begin`. All of its processes end."""
        self._may_run.clear()
        send_signal([self.supervisor], signal.SIGTERM)
        await until(lambda: not self.processes(), f"no process of {self.host} is left", PATIENCE_S)

    def begin(self):
        self._may_run.set()

    def events(self):
        """The events of the proxy's log so far."""
        with self._log.open() as log:
            return [json.loads(line)["event"] for line in log if line.startswith("{") and line.endswith("\n")]

    async def keep_running(self, environment):
        """Run the proxy for ever."""
        command = (sys.executable, "-m", "tsproxy", "run", "--config", self.config, "--log-format", "json")
        with self._log.open("ab") as log:
            while True:
                await self._may_run.wait()
                self._process = await asyncio.create_subprocess_exec(*command, stderr=log, env=environment)
                await self._process.wait()
                await asyncio.sleep(RESTART_DELAY_S)


def send_signal(pids, number):
    for pid in pids:
        with suppress(ProcessLookupError, TypeError):
            os.kill(pid, number)


def _command_line(folder):
    with suppress(OSError):
        return (folder / "cmdline").read_bytes()
    return b""
