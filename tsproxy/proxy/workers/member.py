"""One worker as the supervisor sees it: started, heard, and started again when it ends.

A worker that ends before it ever let clients in ends the whole start: what keeps it from running keeps
the others too. Later a life that ends is followed by the next one, after a wait that doubles from
FIRST_RETRY_MS to LAST_RETRY_MS and begins anew after a life of HEALTHY_MS. A life that hangs is ended.
"""

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import structlog

from tsproxy.clock import Clock
from tsproxy.config.settings import Config
from tsproxy.proxy.admin.report import NOTHING, Report, together
from tsproxy.proxy.startup import StartError
from tsproxy.proxy.workers.channel import VARIABLE, Channel, Orders, as_text
from tsproxy.proxy.workers.watch import Silence

log = structlog.get_logger()

FIRST_RETRY_MS: Final = 250
LAST_RETRY_MS: Final = 30_000
HEALTHY_MS: Final = 60_000
REPORT_S: Final = 2.0
"""How long a worker may take to say how it is; one that takes longer is not ready."""
PREPARE_S: Final = 10.0
"""How long it may take to make ready for another configuration: it may have begun a moment ago."""
OBEY_S: Final = 10.0
"""How long a reload waits for it to have taken that up."""

_ORDERLY: Final = (0, -signal.SIGTERM)
"""How a worker may end once it was told to. The signal itself ends it, where a service manager sends it
to every process, only before it has begun or after it has finished; in between it means `drain`."""


class Member:
    """Worker `number`; `on_started` is called with the facts of each life that lets clients in.

    No life begins while somebody holds `changing`: whoever changes the configuration of all workers
    knows then which of them run by which.
    """

    def __init__(
        self,
        number: int,
        config: Config,
        clock: Clock,
        on_started: Callable[[Mapping[str, Any]], None],
        changing: asyncio.Lock,
    ) -> None:
        self.clients_cut = 0
        self.number = number
        self.restarts = 0
        self._asked: dict[int, asyncio.Future[Mapping[str, Any]]] = {}
        self._asks = 0
        self._changing = changing
        self._channel: Channel | None = None
        self._clock = clock
        self._config = config
        self._failure: str | None = None
        self._latest = _not_ready("does not run yet")
        self._on_started = on_started
        self._process: Process | None = None
        self._retired = NOTHING
        self._silence = Silence()
        self._started_ms: int | None = None
        self._stopping = asyncio.Event()
        self._was_ever_started = False

    @property
    def is_ready(self) -> bool:
        return not self._latest.not_ready

    @property
    def hangs(self) -> bool:
        """From the moment that this is found out until it is heard again, or has ended."""
        return self._silence.is_too_long

    @property
    def known(self) -> Report:
        """How this worker is, as far as it has said: counts of this life and those before, all else of
        this one."""
        both = together([self._latest, self._retired])
        return replace(both, not_ready=self._ours(both.not_ready), warnings=self._ours(both.warnings))

    async def run(self) -> None:
        """Returns when it has ended after `drain`. Raises StartError where it never ran, or where it
        did not end well."""
        retry_ms = FIRST_RETRY_MS
        while not self._stopping.is_set():
            try:
                status = await self._live()
            except OSError as error:  # no process or descriptor to be had: perhaps later
                status, self._failure = 1, f"worker {self.number} cannot be started: {error.strerror}"
            end = self._failure or f"worker {self.number} ended: {_status_text(status)}"
            if self._stopping.is_set():
                if status not in _ORDERLY:
                    raise StartError(end)
                return
            if not self._was_ever_started:
                raise StartError(end)
            if self._started_ms is not None and self._clock.monotonic_ms() - self._started_ms >= HEALTHY_MS:
                retry_ms = FIRST_RETRY_MS
            log.error("worker_ended", worker=self.number, error=end, restart_in_ms=retry_ms)
            self._latest = _not_ready(end)
            with suppress(TimeoutError):
                async with asyncio.timeout(retry_ms / 1000):
                    await self._stopping.wait()
                    return
            retry_ms = min(2 * retry_ms, LAST_RETRY_MS)
            self.restarts += 1

    async def report(self) -> bool:
        """Bring `known` up to now, or make it say that this failed. Returns whether it did not fail."""
        try:
            await self._ask({"order": "report"}, REPORT_S)
        except TimeoutError:
            self._latest = replace(self._latest, not_ready=(f"has not answered for {REPORT_S:g} s",))
            return False
        return True

    async def look_after(self) -> None:
        """`report`, and end a life that has left too many questions in a row without an answer. One that was
        told to end is left to the time that this may take."""
        process = self._process
        if await self.report() or process is not self._process or self._stopping.is_set():
            return
        was_known = self.hangs
        self._silence.missed()
        if process is None or not self.hangs or was_known:
            return
        self._failure = f"worker {self.number} hung and was killed"
        advice = "it is killed and started anew"
        log.error("worker_hangs", worker=self.number, pid=process.pid, advice=advice)
        if process.returncode is None:
            process.kill()

    async def prepare(self, config: Config) -> list[str]:
        """Let it make ready for another configuration. Returns what is in its way; nothing where it
        does not run, since its next life begins with what is committed."""
        try:
            answer = await self._ask({"order": "prepare", "config": as_text(config)}, PREPARE_S)
        except TimeoutError:
            return [f"worker {self.number} has not answered for {PREPARE_S:g} s"]
        problems: list[str] = answer.get("problems", [])
        return problems

    def commit(self, config: Config) -> None:
        """Let it run by what it has prepared, and all its lives to come."""
        self._config = config
        self._order("commit")

    async def obeys(self) -> None:
        """Returns when all orders so far are obeyed. It obeys them in their turn, so the answer to one
        tells of those before it; a worker that does not run begins with what is committed."""
        try:
            await self._ask({"order": "report"}, OBEY_S)
        except TimeoutError:
            advice = "it runs by the old configuration until it answers again, and then by the new one"
            log.error("worker_not_reloaded", worker=self.number, waited_s=OBEY_S, advice=advice)

    def abandon(self) -> None:
        """Let it forget what it has prepared."""
        self._order("abandon")

    def drain(self) -> None:
        """End in order; a worker that waits to be restarted is not."""
        self._stopping.set()
        self._order("drain")

    def stop_now(self) -> None:
        self._order("stop_now")

    def kill(self) -> None:
        """For one that does not end in order."""
        if self._process is not None and self._process.returncode is None:
            log.error("worker_killed", worker=self.number, advice="it did not end in time")
            self._process.kill()

    def _ours(self, texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(f"worker {self.number}: {text}" for text in texts)

    def _order(self, order: str) -> None:
        """To be obeyed without an answer."""
        if self._channel is not None:
            self._channel.say({"order": order})

    async def _ask(self, order: Mapping[str, Any], timeout_s: float) -> Mapping[str, Any]:
        """The answer to an order; an empty one where this life ends first. Raises TimeoutError."""
        if self._channel is None:
            return {}
        self._asks += 1
        number = self._asks
        answered: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._asked[number] = answered
        self._channel.say({**order, "id": number})
        try:
            async with asyncio.timeout(timeout_s):
                return await answered
        finally:
            self._asked.pop(number, None)

    async def _begin(self) -> tuple[Process, Channel]:
        """A new process that has its orders. Raises OSError where none is to be had."""
        ours, theirs = socket.socketpair()
        try:
            process = await _start(theirs)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        channel = await Channel.over(ours)
        channel.give(Orders(self.number, self._config, self._was_ever_started))
        return process, channel

    async def _live(self) -> int:
        """One life, from its start to its end. Returns its status, negative for a signal."""
        self._failure, self._started_ms = None, None
        self._silence = Silence()
        self._latest = _not_ready("does not run yet")
        async with self._changing:
            process, channel = self._process, self._channel = await self._begin()
        try:
            if self._stopping.is_set():
                self.drain()
            async for line in channel.lines():
                self._hear(line)
            return await process.wait()
        finally:
            self._channel = None
            self._silence = Silence()
            for answered in self._asked.values():
                if not answered.done():
                    answered.set_result({})
            self._retired = together([self._latest, self._retired]).remains()
            self._latest = _not_ready("has ended")
            if process.returncode is None:  # we were cancelled
                process.kill()
                await process.wait()
            await channel.close()

    def _hear(self, line: Mapping[str, Any]) -> None:
        self._silence.heard()
        match line["told"]:
            case "started":
                self._started_ms = self._clock.monotonic_ms()
                self._was_ever_started = True
                self._latest = replace(self._latest, not_ready=())
                self._on_started(line)
            case "failed":
                self._failure = line["text"]
            case "stopped":
                self.clients_cut += line["clients_cut"]
            case "report":
                self._latest = Report.of_line(line["report"])
        answered = self._asked.get(line.get("id", 0))
        if answered is not None and not answered.done():
            answered.set_result(line)


async def _start(theirs: socket.socket) -> Process:
    """The command that this process is, once more, with its end of the channel.

    In a session of its own: a terminal's Ctrl-C is for the supervisor, which then tells its workers.
    """
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *sys.orig_argv[1:],
        stdin=DEVNULL,
        pass_fds=[theirs.fileno()],
        start_new_session=True,
        env={**os.environ, VARIABLE: str(theirs.fileno())},
    )


def _not_ready(text: str) -> Report:
    """Of a life that cannot be asked."""
    return replace(NOTHING, not_ready=(text,))


def _status_text(status: int) -> str:
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"status {status}"
