"""The request of a connection that is decided elsewhere or later, while nothing else is taken of its client.

One that is dear to judge is judged by a thread; one whose client should be silent is put off. There is at
most one: the session takes no other before it is told the ruling.
"""

import asyncio
import contextlib
from collections.abc import Callable

from tsproxy.proxy.connections.judge_pool import JudgePool, Ticket
from tsproxy.session.effects import Judge, PutOff
from tsproxy.session.produce.judge_request import Judgement, Malformed

Judged = asyncio.Future[Judgement]


class Judging:
    """Of one connection. `judged` is called with each ruling, or what came in its place; also with one that
    was cancelled."""

    __slots__ = ("_at_work", "_judged", "_judges", "_postponed", "_ticket")

    def __init__(self, judges: JudgePool, judged: Callable[[Judged], None]) -> None:
        self._judges = judges
        self._judged = judged
        self._at_work: Judged | None = None
        self._postponed: Judge | None = None
        self._ticket: Ticket | None = None

    def begin(self, wanted: Judge, address: str) -> None:
        """`address` is its client's: addresses take turns."""
        loop = asyncio.get_running_loop()
        work: Judged = loop.create_future()

        def done(told: Judgement | BaseException) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: the process ends
                loop.call_soon_threadsafe(_settle, work, told)

        self._ticket = self._judges.begin(wanted.job, address, done)
        self._wait_for(work)

    def postpone(self, wanted: Judge) -> None:
        """Until `begin_postponed`."""
        self._postponed = wanted

    def begin_postponed(self, address: str) -> None:
        """Where there is one."""
        if (wanted := self._postponed) is not None:
            self._postponed = None
            self.begin(wanted, address)

    def put_off(self, wanted: PutOff) -> None:
        """Its ruling stands already, and is told when the silence is over."""
        self._wait_for(asyncio.ensure_future(asyncio.sleep(wanted.silence_ms / 1000, wanted.ruling)))

    def cancel(self) -> None:
        self._postponed = None
        if self._ticket is not None:
            self._judges.cancel(self._ticket)
        if self._at_work is not None:
            self._at_work.cancel()

    def _wait_for(self, work: Judged) -> None:
        self._at_work = work
        work.add_done_callback(self._done)

    def _done(self, work: Judged) -> None:
        self._at_work = self._ticket = None
        self._judged(work)


def _settle(work: Judged, told: Judgement | BaseException) -> None:
    if work.done():
        return
    if isinstance(told, BaseException):
        work.set_exception(told)
    else:
        work.set_result(told)


def finds_nobody(judged: Judged) -> bool:
    """True for a request with an answer: a broker that cannot deliver it reads nothing more either."""
    if judged.exception() is not None:
        return False
    judgement = judged.result()
    return isinstance(judgement, Malformed) or judgement.acks != 0
