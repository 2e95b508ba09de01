"""Reads a large answer of one connection in a thread. Meanwhile nothing more is read from the broker."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Final

from tsproxy.session.effects import ReadAnswer
from tsproxy.session.reading import AnswerRead, NodeUnknown, Unreadable

READERS: Final = 2
"""How many threads read answers. These threads do not judge, so busy judges delay no answers."""

Read = asyncio.Future[AnswerRead | NodeUnknown | Unreadable]


class Reading:
    """The reading of one connection's answers. `read` is called with the future of each answer when a thread
    has read it, unless it was cancelled."""

    __slots__ = ("_at_work", "_read", "_readers")

    def __init__(self, readers: Executor, read: Callable[[Read], None]) -> None:
        self._readers = readers
        self._read = read
        self._at_work: Read | None = None

    def begin(self, wanted: ReadAnswer) -> None:
        work: Read = asyncio.get_running_loop().run_in_executor(self._readers, wanted.job)
        self._at_work = work
        work.add_done_callback(self._done)

    def cancel(self) -> None:
        if self._at_work is not None:
            self._at_work.cancel()

    def _done(self, work: Read) -> None:
        self._at_work = None
        if not work.cancelled():
            self._read(work)
