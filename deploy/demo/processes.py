"""The commands that a user would type, run as processes: `tsproxy run` and `spark_reports daily`.

They join the process group of a guard (`tsproxy.testing.guard`), so they end with the demo, however it ends:
normally, by Ctrl-C, or killed. Ctrl-C reaches only the demo, which then stops them.
`tsproxy.testing.proxy.RunningProxy` is for tests, which need more of a proxy than a user does.
"""

import asyncio
import shlex
import socket
import sys
from asyncio.subprocess import DEVNULL, STDOUT, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO, Final

from tsproxy.testing.guard import guarded_folder
from tsproxy.testing.ports import free_ports

HOST: Final = "127.0.0.1"
_PORTS: Final = 3
"""One port where clients bootstrap, and one for each node id from 0: the only broker is node 1."""
_POLL_S: Final = 0.05
_STOP_S: Final = 60
_TAIL_LINES: Final = 20


class CommandError(Exception):
    """A command ended too early, or failed, or did not start; the text ends with its last output."""


class Commands:
    """Starts the commands that are installed beside this Python. `commands` returns one."""

    def __init__(self, group: int) -> None:
        self._group = group

    async def start(self, command: Sequence[str], output: IO[bytes] | None = None) -> Process:
        """A process. Its output and errors go to `output`, or to the output of this process."""
        return await asyncio.create_subprocess_exec(
            str(Path(sys.executable).with_name(command[0])),
            *command[1:],
            stdin=DEVNULL,
            stdout=output,
            stderr=None if output is None else STDOUT,
            process_group=self._group,
        )

    @asynccontextmanager
    async def proxy(self, upstream: str, decisions: Path, log: Path) -> AsyncIterator[str]:
        """Runs `tsproxy run` in front of `upstream`. Yields the bootstrap address when clients can connect.

        At the end SIGTERM drains it, so that the decision log is complete. Raises CommandError. If the proxy
        ends before the block does, the block is cancelled.
        """
        listen = f"{HOST}:{free_ports(_PORTS)[0]}"
        command = proxy_command(upstream, listen, decisions)
        with log.open("wb") as output:
            process = await self.start(command, output)
            try:
                await _until_listening(process, listen, log)
                async with asyncio.TaskGroup() as group:
                    watching = group.create_task(_raise_at_end(process, log))
                    yield listen
                    watching.cancel()
                await _stop(process, log)
            finally:
                if process.returncode is None:
                    process.kill()
                await process.wait()

    async def daily_report(self, day: str, decisions: Path, output: Path) -> None:
        """Runs `spark_reports daily` for a UTC day, which prints the report. Raises CommandError."""
        process = await self.start(report_command(day, decisions, output))
        try:
            if await process.wait() != 0:
                raise CommandError(f"spark_reports daily ended with {process.returncode}")
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


def proxy_command(upstream: str, listen: str, decisions: Path) -> list[str]:
    """The command with which a user starts the proxy."""
    options = ("--admin", "off", "--decisions", str(decisions))
    return ["tsproxy", "run", "--upstream", upstream, "--listen", listen, *options]


def report_command(day: str, decisions: Path, output: Path) -> list[str]:
    """The command with which a user makes the report."""
    options = ("--input", str(decisions), "--output", str(output))
    return ["spark_reports", "daily", "--date", day, *options]


@asynccontextmanager
async def commands() -> AsyncIterator[Commands]:
    """Commands whose processes all end with the block, or with this process."""
    async with guarded_folder("tsproxy-demo-") as (_, group):
        yield Commands(group)


async def _until_listening(process: Process, address: str, log: Path) -> None:
    """Waits for the proxy's port. The proxy opens it when it has found the brokers."""
    host, _, port = address.rpartition(":")
    while process.returncode is None:
        with suppress(OSError), socket.create_connection((host, int(port))):
            return
        await asyncio.sleep(_POLL_S)
    raise CommandError(f"tsproxy run ended with {process.returncode}:\n{_tail(log)}")


async def _raise_at_end(process: Process, log: Path) -> None:
    exit_code = await process.wait()
    raise CommandError(f"tsproxy run ended by itself, with {exit_code}:\n{_tail(log)}")


async def _stop(process: Process, log: Path) -> None:
    process.terminate()
    try:
        exit_code = await asyncio.wait_for(process.wait(), _STOP_S)
    except TimeoutError:
        raise CommandError(f"tsproxy run did not stop within {_STOP_S} s:\n{_tail(log)}") from None
    if exit_code != 0:
        raise CommandError(f"tsproxy run ended with {exit_code}:\n{_tail(log)}")


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-_TAIL_LINES:])


def shown(command: Sequence[str]) -> str:
    """The command as a user types it."""
    return "$ " + shlex.join(command)
