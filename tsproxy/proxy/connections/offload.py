"""The work of one connection that threads do: `OffloadJudging` and `OffloadDecoding`.

There is at most one request and one answer at a time. The session accepts no other request before it has the
judgement, and nothing more is read from the broker while an answer is decoded.
"""

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Final

from tsproxy.proxy.connections.judge_pool import JudgePool, Ticket
from tsproxy.proxy.daemon_threads import Queued
from tsproxy.session.effects import Judge, ReadAnswer
from tsproxy.session.reading import AnswerRead, NodeWanted, Unreadable
from tsproxy.session.verdict import Judged

DECODERS: Final = 2
"""How many threads decode large answers. These threads do not judge, so busy judges delay no answers."""

JudgedFuture = asyncio.Future[Judged]
DecodedFuture = asyncio.Future[AnswerRead | NodeWanted | Unreadable]


class OffloadJudging:
    """The judging of one connection. `judged` is called with a future for each request. The future has the
    judgement or an error, or it was cancelled."""

    __slots__ = ("_at_work", "_judged", "_judges", "_postponed", "_ticket")

    def __init__(self, judges: JudgePool, judged: Callable[[JudgedFuture], None]) -> None:
        self._judges = judges
        self._judged = judged
        self._at_work: JudgedFuture | None = None
        self._postponed: Judge | None = None
        self._ticket: Ticket | None = None

    def begin(self, wanted: Judge, address: str) -> None:
        """Begin to judge a request. `address` is the client's address: addresses take turns."""
        loop = asyncio.get_running_loop()
        work: JudgedFuture = loop.create_future()

        def done(result: Judged | BaseException) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: the process ends
                loop.call_soon_threadsafe(_settle, work, result)

        self._ticket = self._judges.begin(wanted.job, address, done)
        self._at_work = work
        work.add_done_callback(self._done)

    def postpone(self, wanted: Judge) -> None:
        self._postponed = wanted

    def begin_postponed(self, address: str) -> None:
        if (wanted := self._postponed) is not None:
            self._postponed = None
            self.begin(wanted, address)

    def cancel(self) -> None:
        self._postponed = None
        if self._ticket is not None:
            self._judges.cancel(self._ticket)
        if self._at_work is not None:
            self._at_work.cancel()

    def _done(self, work: JudgedFuture) -> None:
        self._at_work = self._ticket = None
        self._judged(work)


def _settle(work: JudgedFuture, result: Judged | BaseException) -> None:
    if work.done():
        return
    if isinstance(result, BaseException):
        work.set_exception(result)
    else:
        work.set_result(result)


class OffloadDecoding:
    """The decoding of one connection's large answers. `decoded` is called with the future of each answer,
    unless it was cancelled."""

    __slots__ = ("_at_work", "_decoded", "_decoders")

    def __init__(self, decoders: Executor, decoded: Callable[[DecodedFuture], None]) -> None:
        self._decoders = decoders
        self._decoded = decoded
        self._at_work: DecodedFuture | None = None

    def begin(self, wanted: ReadAnswer, address: str) -> None:
        """Begin to decode an answer. `address` is the client's address: addresses take turns. A small request
        may have an answer that takes a second, and an address may have a thousand connections."""
        loop = asyncio.get_running_loop()
        work: DecodedFuture = loop.run_in_executor(self._decoders, Queued(address, wanted.job))
        self._at_work = work
        work.add_done_callback(self._done)

    def cancel(self) -> None:
        if self._at_work is not None:
            self._at_work.cancel()

    def _done(self, work: DecodedFuture) -> None:
        self._at_work = None
        if not work.cancelled():
            self._decoded(work)
