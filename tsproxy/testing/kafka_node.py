"""One broker of a cluster: its folder, its ports and its process.

Processes are plain `Popen`s. Nothing here belongs to an event loop, so a cluster may be started in one loop
and used from another.
"""

import asyncio
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tsproxy.testing.java import java_command
from tsproxy.testing.server_properties import HOST, NodePorts

_STOP_TIMEOUT_S: Final = 180
_TAIL_LINES: Final = 40
_STARTED: Final = b"Kafka Server started"


class KafkaStartError(RuntimeError):
    """A broker did not start; the text ends with the last lines of its log."""


class PortTakenError(KafkaStartError):
    """Another program uses one of the chosen ports."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """The settings shared by a cluster's Java processes of one version: jars, heap, and process group."""

    jars: Path
    heap: str
    group: int
    options: Sequence[str] = ()
    """Options of the virtual machine."""

    def command(self, main_class: str, *arguments: str | Path) -> Sequence[str | Path]:
        """The command line that runs a class from the jars."""
        return java_command([self.jars / "*"], self.heap, main_class, *arguments, options=self.options)


class KafkaNode:
    """A broker. It is formatted once; then a test may start and end it any number of times."""

    def __init__(self, node_id: int, ports: NodePorts, folder: Path, runtime: Runtime) -> None:
        self.node_id = node_id
        self.host = HOST
        self.port = ports.clients
        self.internal_port = ports.internal
        self.controller_port = ports.controller
        self.folder = folder
        self._runtime = runtime
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    @property
    def properties_path(self) -> Path:
        return self.folder / "server.properties"

    @property
    def data(self) -> Path:
        """The folder of the broker's log segments."""
        return self.folder / "data"

    @property
    def pid(self) -> int:
        """The broker's process id. Raises an error while it is not running."""
        return self._running().pid

    @property
    def is_started(self) -> bool:
        """True between `start` and the end of `stop` or `kill`, even if the broker has died."""
        return self._process is not None

    def write_configuration(self, properties: str) -> None:
        """Makes the node's folder, with its server.properties."""
        self.folder.mkdir()
        self.properties_path.write_text(properties)

    async def format(self, cluster_id: str, properties: str, arguments: Sequence[str]) -> None:
        """Writes the configuration, and formats the data folder for a broker of this version."""
        self.write_configuration(properties)
        # With an equals sign, because an id may begin with a dash.
        chosen = (f"--cluster-id={cluster_id}", f"--config={self.properties_path}", *arguments)
        command = self._runtime.command("kafka.tools.StorageTool", "format", *chosen)
        process = self._spawn(command)
        if await asyncio.to_thread(process.wait) != 0:
            raise KafkaStartError(f"node {self.node_id} could not be formatted:\n{self._tail()}")

    def upgrade(self, jars: Path) -> None:
        self._runtime = replace(self._runtime, jars=jars)

    def start(self) -> None:
        """Starts the process and returns at once; `is_up` says when it is ready."""
        if self._process is not None:
            raise RuntimeError(f"node {self.node_id} is running already")
        self._log_start = self._log_path.stat().st_size if self._log_path.exists() else 0
        self._process = self._spawn(self._runtime.command("kafka.Kafka", self.properties_path))

    def is_up(self) -> bool:
        """True if the broker has logged, since its last start, that it has started.

        A connection would prove less: the broker may serve one listener while it cannot bind the next one,
        and another program may accept connections there. Raises KafkaStartError if the process has ended by
        itself.
        """
        exit_code = self._running().poll()
        if exit_code is not None:
            tail = self._tail()
            kind = PortTakenError if "Address already in use" in tail else KafkaStartError
            raise kind(f"node {self.node_id} ended with exit code {exit_code}; its log ends:\n{tail}")
        with self._log_path.open("rb") as log:
            log.seek(self._log_start)
            return _STARTED in log.read()

    async def stop(self) -> None:
        """Stops the broker by SIGTERM: leaders move, the log is flushed and closed."""
        process = self._running()
        process.terminate()
        try:
            await asyncio.to_thread(process.wait, _STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            await self.kill()
            raise RuntimeError(f"node {self.node_id} did not stop; killed:\n{self._tail()}") from None
        self._process = None

    async def kill(self) -> None:
        """Ends the broker by SIGKILL; its folder stays."""
        process = self._running()
        process.kill()
        await asyncio.to_thread(process.wait)
        self._process = None

    def reap(self) -> None:
        """Waits for a process that the guard has killed, so that no zombie is left."""
        if self._process is not None:
            self._process.wait()
            self._process = None

    def log_text(self) -> str:
        """The broker's whole log, of all its starts."""
        return self._log_path.read_text(errors="replace")

    @property
    def _log_path(self) -> Path:
        return self.folder / "server.log"

    def _spawn(self, command: Sequence[str | Path]) -> "subprocess.Popen[bytes]":
        with self._log_path.open("ab") as log:
            return subprocess.Popen(  # noqa: S603 - our own command line
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=self._runtime.group,
            )

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            raise RuntimeError(f"node {self.node_id} is not running")
        return self._process

    def _tail(self) -> str:
        return "\n".join(self.log_text().splitlines()[-_TAIL_LINES:])
