"""One worker from the supervisor's side: `Member` starts the worker, reads its messages, and restarts it.

If a worker ends before it ever accepted clients, the whole start fails, since the other workers would have
the same problem. Later a process that ends is replaced after a wait. The wait doubles from FIRST_RETRY_MS to
LAST_RETRY_MS, and is reset after a process ran for HEALTHY_MS. A process that hangs is killed.
"""

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, Final

from tsproxy.clock import Clock
from tsproxy.config.settings import Config
from tsproxy.log_events.catalogue import (
    WORKER_ENDED,
    WORKER_HANGS,
    WORKER_KILLED,
    WORKER_NOT_RELOADED,
)
from tsproxy.proxy.admin.report import NOTHING, Report, together
from tsproxy.proxy.startup import Kept, StartError
from tsproxy.proxy.wait import RetryWait, wait_at_most
from tsproxy.proxy.workers.channel import VARIABLE, Channel, Orders, as_text
from tsproxy.proxy.workers.watch import Silence

FIRST_RETRY_MS: Final = 250
LAST_RETRY_MS: Final = 30_000
HEALTHY_MS: Final = 60_000
REPORT_S: Final = 2.0
"""How long a worker may take to report. A worker that takes longer is not ready."""
PREPARE_S: Final = 10.0
"""How long a worker may take to prepare another configuration. It may have started a moment ago."""
COMMIT_S: Final = 10.0
"""How long a reload waits for the worker to apply it."""

_ORDERLY: Final = (0, -signal.SIGTERM)
"""The exit statuses of a worker that had the order to stop. A service manager may send SIGTERM to every
process. The signal itself only ends a worker before it has begun or after it has finished; in between it
means `drain`."""


class Member:
    """Worker `number`. `on_started` is called with the facts of each of its processes that accepts clients.
    `kept` returns what a replacement gets.

    No process starts while `changing` is held, so that the configuration of all workers can be replaced
    consistently.
    """

    def __init__(
        self,
        number: int,
        config: Config,
        clock: Clock,
        on_started: Callable[[Mapping[str, Any]], None],
        changing: asyncio.Lock,
        kept: Callable[[], Kept],
    ) -> None:
        self.connections_aborted = 0
        self.number = number
        self.restarts = 0
        self._answers: dict[int, asyncio.Future[Mapping[str, Any]]] = {}
        """The answers that are still missing, by the id of their order."""
        self._changing = changing
        self._channel: Channel | None = None
        self._clock = clock
        self._config = config
        self._failure: str | None = None
        self._kept = kept
        self._latest = _not_ready("does not run yet")
        self._on_started = on_started
        self._order_ids = count(1)
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
        """True if the worker was found to hang, until it answers again or has ended."""
        return self._silence.is_too_long

    @property
    def known(self) -> Report:
        """The worker's last report: counts of all its processes so far, and the state of the current one."""
        both = together([self._latest, self._retired])
        return replace(
            both, not_ready=self._with_number(both.not_ready), warnings=self._with_number(both.warnings)
        )

    async def run(self) -> None:
        """Run the worker until it has ended after `drain`. Raises StartError if it never accepted clients, or
        did not end cleanly."""
        retry = RetryWait(FIRST_RETRY_MS)
        while not self._stopping.is_set():
            try:
                status = await self._live()
            except OSError as error:  # no process or descriptor available: perhaps later
                status, self._failure = 1, f"worker {self.number} cannot be started: {error.strerror}"
            end = self._failure or f"worker {self.number} ended: {_status_text(status)}"
            self._latest = _not_ready(f"{end.removeprefix(f'worker {self.number} ')}, and is restarted")
            if self._stopping.is_set():
                if status not in _ORDERLY:
                    raise StartError(end)
                return
            if not self._was_ever_started:
                raise StartError(end)
            if self._started_ms is not None and self._clock.monotonic_ms() - self._started_ms >= HEALTHY_MS:
                retry.start_over()
            retry_ms = retry.next_ms(LAST_RETRY_MS)
            WORKER_ENDED(worker=self.number, error=end, restart_in_ms=retry_ms)
            if await wait_at_most(retry_ms / 1000, self._stopping):
                return
            self.restarts += 1

    async def not_ready(self) -> tuple[str, ...]:
        """The reasons why no client should connect to this worker now."""
        if self._silence.has_begun and not self._silence.has_missed:
            await self._ask("ready")
        return self._with_number(self._latest.not_ready)

    async def report(self) -> bool:
        """Request a report for `known`. Returns False if the worker has not answered in time; `known` then
        says this. Nobody waits for a worker that has not answered the last time: `look_after` asks it again,
        and otherwise every page would be late while a worker hangs."""
        return not self._silence.has_missed and await self._ask("report")

    async def _ask(self, order: str) -> bool:
        try:
            await self._answer_to({"order": order}, REPORT_S)
        except TimeoutError:
            if self._silence.has_begun:
                self._latest = replace(self._latest, not_ready=(f"has not answered for {REPORT_S:g} s",))
            return False
        return True

    async def look_after(self) -> None:
        """Request a report, and kill a process that has missed too many reports in a row. A process that
        has the order to stop is exempt."""
        process = self._process
        has_answered = await self._ask("report")
        if has_answered or process is None or process is not self._process or self._stopping.is_set():
            return
        was_known = self.hangs
        self._silence.answer_missed(process.pid, self._clock.monotonic_ms())
        if not self.hangs or was_known:
            return
        self._failure = f"worker {self.number} hung and was killed"
        advice = "it is killed and restarted"
        WORKER_HANGS(worker=self.number, pid=process.pid, advice=advice)
        if process.returncode is None:
            process.kill()

    async def prepare(self, config: Config) -> list[str] | None:
        """Let the worker prepare another configuration. Returns the problems; none if the worker does not
        run, since its next process starts with the committed configuration. None if it was too slow."""
        try:
            answer = await self._answer_to({"order": "prepare", "config": as_text(config)}, PREPARE_S)
        except TimeoutError:
            return None
        problems: list[str] = answer.get("problems", [])
        return problems

    def commit(self, config: Config) -> None:
        """Let the worker apply the prepared configuration. All its later processes use this configuration."""
        self._config = config
        self._order("commit")

    async def has_committed(self) -> None:
        """Wait until the worker has executed all orders so far. It executes them in order, so one answer
        confirms all orders before it. A worker that does not run starts with the committed configuration."""
        try:
            await self._answer_to({"order": "report"}, COMMIT_S)
        except TimeoutError:
            advice = "it runs by the old configuration until it answers again, and then by the new one"
            WORKER_NOT_RELOADED(worker=self.number, waited_s=COMMIT_S, advice=advice)

    def abandon(self) -> None:
        """Let the worker discard the prepared configuration."""
        self._order("abandon")

    def drain(self) -> None:
        """Stop gracefully. A worker that waits for its restart is not restarted."""
        self._stopping.set()
        self._order("drain")

    def stop_now(self) -> None:
        self._order("stop_now")

    def kill(self) -> None:
        """Kill a worker that does not stop in time."""
        if self._process is not None and self._process.returncode is None:
            WORKER_KILLED(worker=self.number, advice="it did not end in time")
            self._process.kill()

    def _with_number(self, texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(f"worker {self.number}: {text}" for text in texts)

    def _order(self, order: str) -> None:
        """Send an order that has no answer."""
        if self._channel is not None:
            self._channel.send({"order": order})

    async def _answer_to(self, order: Mapping[str, Any], timeout_s: float) -> Mapping[str, Any]:
        """The answer to an order; empty if the process ends first. Raises TimeoutError."""
        if self._channel is None:
            return {}
        order_id = next(self._order_ids)
        answer: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[order_id] = answer
        self._channel.send({**order, "id": order_id})
        try:
            async with asyncio.timeout(timeout_s):
                return await answer
        finally:
            self._answers.pop(order_id, None)

    async def _begin(self) -> tuple[Process, Channel]:
        """Start a new process and send its orders. Raises OSError if that is not possible."""
        ours, theirs = socket.socketpair()
        try:
            process = await _start(theirs.fileno())
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        channel = await Channel.over(ours)
        kept = self._kept() if self._was_ever_started else None
        channel.send_orders(Orders(self.number, self._config, kept))
        return process, channel

    async def _live(self) -> int:
        """Run one process from its start to its end. Returns its status, negative for a signal."""
        self._failure, self._started_ms = None, None
        self._silence = Silence()
        async with self._changing:
            process, channel = self._process, self._channel = await self._begin()
        try:
            if self._stopping.is_set():
                self.drain()
            async for line in channel.lines():
                self._receive(line)
            return await process.wait()
        finally:
            self._channel = None
            self._silence = Silence()
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_result({})
            self._retired = together([self._latest, self._retired]).remains()
            self._latest = _not_ready("has ended")
            if process.returncode is None:  # this task was cancelled
                process.kill()
                await process.wait()
            await channel.close()

    def _receive(self, line: Mapping[str, Any]) -> None:
        self._silence.message_received()
        match line["event"]:
            case "started":
                self._started_ms = self._clock.monotonic_ms()
                self._was_ever_started = True
                self._latest = replace(self._latest, not_ready=())
                self._on_started(line)
            case "failed":
                self._failure = line["text"]
            case "stopped":
                self.connections_aborted += line["connections_aborted"]
            case "ready":
                self._latest = replace(self._latest, not_ready=tuple(line["not_ready"]))
            case "report":
                kept, new = self._latest.remains().families, Report.of_line(line["report"])
                self._latest = replace(new, families={**kept, **new.families})  # it may lack a descriptor
        answer = self._answers.get(line.get("id", 0))
        if answer is not None and not answer.done():
            answer.set_result(line)


async def _start(channel: int) -> Process:
    """Start this process's own command again. It inherits the worker's end of the channel.

    The worker gets a session of its own. So a terminal's Ctrl-C goes only to the supervisor, which then stops
    its workers.
    """
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *sys.orig_argv[1:],
        stdin=DEVNULL,
        pass_fds=(channel,),
        start_new_session=True,
        env={**os.environ, VARIABLE: str(channel)},
    )


def _not_ready(text: str) -> Report:
    """The report of a process that cannot answer."""
    return replace(NOTHING, not_ready=(text,))


def _status_text(status: int) -> str:
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"status {status}"
