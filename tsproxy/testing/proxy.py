"""`tsproxy run` as a process of its own, for the duration of an `async with`.

    async with RunningProxy(kafka.bootstrap_servers) as proxy:
        ... clients connect to proxy.bootstrap_servers ...
    lines = proxy.decisions()

It listens on free ports and writes its decision log to a folder. SIGTERM stops it when the block ends, so the
log is complete afterwards.
"""

import asyncio
import json
import os
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

_START_TIMEOUT_S: Final = 120
_LINE_BYTES: Final = 1 << 20
"""The longest line of a log that is read."""


class ProxyError(Exception):
    """The proxy did not start, or failed; the text has the last lines of its log."""


class RunningProxy:
    """`tsproxy run --upstream UPSTREAM`, with `arguments` added and `settings` given by `--set`.

    `config` is a file that replaces the flags for upstream and listener. Without other settings, brokers are
    served on free ports.
    """

    def __init__(
        self,
        upstream: str | None = None,
        *,
        config: Path | None = None,
        decisions: Path | None = None,
        arguments: Sequence[str] = (),
        settings: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._upstream = upstream
        self._config = config
        self._decisions = decisions
        self._arguments = list(arguments)
        self._settings = dict(settings or {})
        self._environment = dict(environment or {})
        self._stack = AsyncExitStack()
        self._process: Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._started: asyncio.Future[Mapping[str, Any]] | None = None
        self._is_killed = False
        self._lines: list[dict[str, Any]] | None = None
        self.log: list[Mapping[str, Any]] = []
        """Every parsed line of the proxy's log so far."""

    async def __aenter__(self) -> Self:
        if self._decisions is None:
            folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="tsproxy-decisions-"))
            self._decisions = Path(folder)
        try:
            await self._start()
        except BaseException:
            await self.kill()
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            status = await self.stop()
        finally:
            self._lines = self._read_decisions()
            await self._stack.aclose()
        if status != 0 and not self._is_killed and kind is None:
            raise ProxyError(f"tsproxy ended with status {status}:\n{self._tail()}")

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def facts(self) -> Mapping[str, Any]:
        """The fields of `proxy_started`: the real addresses of listeners, brokers and admin port."""
        assert self._started is not None
        return self._started.result()

    @property
    def bootstrap_servers(self) -> str:
        """The address where clients bootstrap: the first listener."""
        address: str = next(iter(self.facts["listeners"].values()))
        return address

    @property
    def admin_address(self) -> str:
        address: str = self.facts["admin"]
        return address

    def decisions(self) -> list[dict[str, Any]]:
        """The lines of the decision log so far. They are complete after `stop` and after the block."""
        return self._read_decisions() if self._lines is None else self._lines

    async def stop(self) -> int:
        """Stops the proxy by SIGTERM and returns its exit status."""
        process = self._process
        assert process is not None
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        return await self.wait()

    async def wait(self) -> int:
        """Waits until the proxy has ended, and returns its exit status."""
        process = self._process
        assert process is not None
        try:
            async with asyncio.timeout(_START_TIMEOUT_S):
                status = await process.wait()
        except TimeoutError:
            await self.kill()
            raise ProxyError(f"tsproxy did not stop within {_START_TIMEOUT_S} s:\n{self._tail()}") from None
        if self._reader is not None:
            await self._reader
        return status

    async def kill(self) -> None:
        """Ends the proxy at once by SIGKILL. `decisions` leaves out a last line that was cut off."""
        self._is_killed = True
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def _start(self) -> None:
        self._started = asyncio.get_running_loop().create_future()
        self._process = await asyncio.create_subprocess_exec(
            *self._command(),
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=PIPE,
            limit=_LINE_BYTES,
            env={**os.environ, **self._environment},
        )
        self._reader = asyncio.create_task(self._read_log(self._process))
        try:
            async with asyncio.timeout(_START_TIMEOUT_S):
                await asyncio.shield(self._started)
        except TimeoutError:
            raise ProxyError(f"tsproxy did not start within {_START_TIMEOUT_S} s:\n{self._tail()}") from None

    def _command(self) -> list[str]:
        command = [sys.executable, "-m", "tsproxy", "run", "--log-format", "json", "--admin", "127.0.0.1:0"]
        command += ["--decisions", str(self._decisions)]
        if self._config is not None:
            command += ["--config", str(self._config)]
        else:
            command += ["--upstream", str(self._upstream), "--listen", "127.0.0.1:0"]
        for key, value in self._settings.items():
            command += ["--set", f"{key}={value}"]
        return command + self._arguments

    async def _read_log(self, process: Process) -> None:
        assert process.stderr is not None
        assert self._started is not None
        async for raw in process.stderr:
            text = raw.decode("utf-8", "replace").rstrip()
            try:
                line: Mapping[str, Any] = json.loads(text)
            except ValueError:
                line = {"event": "not_json", "text": text}
            self.log.append(line)
            if line.get("event") == "proxy_started" and not self._started.done():
                self._started.set_result(line)
        if not self._started.done():
            self._started.set_exception(ProxyError(f"tsproxy did not start:\n{self._tail()}"))

    def _read_decisions(self) -> list[dict[str, Any]]:
        assert self._decisions is not None
        files = sorted(self._decisions.glob("decisions-*.jsonl*"))
        lines = (line for file in files for line in file.read_bytes().splitlines(keepends=True))
        return [json.loads(line) for line in lines if line.endswith(b"\n")]

    def _tail(self) -> str:
        return "\n".join(str(line) for line in self.log[-20:])
