"""The request of a connection that is decided elsewhere or later, while nothing else is taken of its client.

One that is dear to judge is judged by a thread; one whose client should be silent is put off. There is at
most one: the session takes no other before it is told the ruling.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Final

from tsproxy.session.effects import Judge, PutOff
from tsproxy.session.produce import Ruling

JUDGES: Final = 2
"""How many threads judge large compressed batches; decompressors let other threads run meanwhile. Each
may hold one batch's largest block, so that few of them are a bound on memory, too."""

Judged = asyncio.Future[Ruling]


class Judging:
    """Of one connection. `judged` is called with each ruling, or what came in its place; also with one that
    was cancelled."""

    __slots__ = ("_at_work", "_judged", "_judges", "_postponed")

    def __init__(self, judges: Executor, judged: Callable[[Judged], None]) -> None:
        self._judges = judges
        self._judged = judged
        self._at_work: Judged | None = None
        self._postponed: Judge | None = None

    def begin(self, wanted: Judge) -> None:
        loop = asyncio.get_running_loop()
        self._wait_for(loop.run_in_executor(self._judges, wanted.job))

    def postpone(self, wanted: Judge) -> None:
        """Until `begin_postponed`."""
        self._postponed = wanted

    def begin_postponed(self) -> None:
        """Where there is one."""
        if (wanted := self._postponed) is not None:
            self._postponed = None
            self.begin(wanted)

    def put_off(self, wanted: PutOff) -> None:
        """Its ruling stands already, and is told when the silence is over."""
        self._wait_for(asyncio.ensure_future(asyncio.sleep(wanted.silence_ms / 1000, wanted.ruling)))

    def cancel(self) -> None:
        self._postponed = None
        if self._at_work is not None:
            self._at_work.cancel()

    def _wait_for(self, work: Judged) -> None:
        self._at_work = work
        work.add_done_callback(self._done)

    def _done(self, work: Judged) -> None:
        self._at_work = None
        self._judged(work)


def finds_nobody(judged: Judged) -> bool:
    """True for a request with an answer: a broker that cannot deliver it reads nothing more either."""
    return judged.exception() is None and judged.result().acks != 0
