"""A request that is judged beside the loop, in steps: `Job`; what it has cost, and may cost: `Work`.

A request of few bytes may hold a hundred million records. So one request has a budget over all its
partitions, its judge looks after each step and each piece of decompression whether it is still wanted, and
between two steps it may make room for another request.
"""

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Final, Generic, TypeVar

from tsproxy.model.records import Fault, RecordFacts
from tsproxy.model.view import SessionLimits
from tsproxy.session.purse import Purse
from tsproxy.wire.record_batch import SHELLS

BYTES_A_RECORD: Final = 64
"""So many decompressed bytes cost about as much as one record."""
A_STEP: Final = 10
"""The cost of a step beside its records, in records."""
AN_ODD_BATCH: Final = 100
"""The cost, in records, of each batch of a set below v3 that is not a bare message like the first: what no
client sends, since brokers reject the set."""


Verdict = TypeVar("Verdict")


class StoppedError(Exception):
    """Nobody waits for this verdict any more. Nothing has happened."""


class Work:
    """What judging one request has cost so far, in records (`done`), and what is left of its budget.

    `purse` is that of the loop, None beside it. Belongs to one thread at a time; `stop` may be called by
    any other.
    """

    __slots__ = ("_bytes_left", "_is_stopped", "_purse", "_records_left", "done")

    def __init__(self, limits: SessionLimits, purse: Purse | None = None) -> None:
        self._bytes_left = limits.decompressed_request
        self._is_stopped = False
        self._purse = purse
        self._records_left = limits.records_per_request
        self.done = 0

    def stop(self) -> None:
        """End it at its next look."""
        self._is_stopped = True

    def look(self, cost: int = A_STEP) -> None:
        """`cost` records' worth is done. Raises StoppedError where it has been stopped."""
        self.done += cost
        if self._is_stopped:
            raise StoppedError

    def spend(self, size: int) -> None:
        """So many bytes go into a decompressor, or came out of it (`record_batch.Spend`). Raises DearError
        as the purse does, and as `look`."""
        if self._purse is not None:
            self._purse.spend(size)
        if size == SHELLS:
            self.look()
            return
        self._bytes_left -= size
        self.look(size // BYTES_A_RECORD)

    def read_again(self, size: int) -> None:
        """The same of bytes that were charged to the budget before."""
        self.look(A_STEP if size == SHELLS else size // BYTES_A_RECORD)

    @property
    def is_spent(self) -> bool:
        """True where no more records are read."""
        return self._records_left <= 0

    def take_odd(self) -> None:
        """Of a set below v3 one more batch has to be looked at by itself."""
        self._records_left -= AN_ODD_BATCH
        self.look(AN_ODD_BATCH)

    def within(
        self, limits: SessionLimits, read: Callable[[SessionLimits], RecordFacts], *, is_compressed: bool
    ) -> RecordFacts:
        """What `read` finds of one batch, whose own bounds are `limits`, within what is left for all."""
        if self._records_left <= 0:
            return _unread(Fault.REQUEST_OF_TOO_MANY_RECORDS)
        if is_compressed and self._bytes_left <= 0:
            return _unread(Fault.REQUEST_TOO_LARGE)
        lowered = self._lowered(limits)
        found = read(lowered)
        self._records_left -= found.records
        self.look(found.records)
        if lowered is limits or found.fault is None:
            return found
        return self._as_of_the_request(found, limits, lowered)

    def _lowered(self, limits: SessionLimits) -> SessionLimits:
        """The bounds of one batch, lowered to what is left."""
        if self._bytes_left >= limits.decompressed_batch and self._records_left >= limits.records_per_batch:
            return limits
        return replace(
            limits,
            decompressed_batch=min(limits.decompressed_batch, max(0, self._bytes_left)),
            records_per_batch=min(limits.records_per_batch, self._records_left),
        )

    def _as_of_the_request(
        self, found: RecordFacts, limits: SessionLimits, lowered: SessionLimits
    ) -> RecordFacts:
        """A fault that is the lowered bound's is the request's; what lies behind is then not read at all."""
        is_lower = lowered.decompressed_batch < limits.decompressed_batch
        if found.fault is Fault.DECOMPRESSED_TOO_LARGE and is_lower:
            self._bytes_left = 0
            return _unread(Fault.REQUEST_TOO_LARGE)
        if found.fault is Fault.TOO_MANY_RECORDS and lowered.records_per_batch < limits.records_per_batch:
            self._records_left = 0
            return _unread(Fault.REQUEST_OF_TOO_MANY_RECORDS)
        return found


def _unread(fault: Fault) -> RecordFacts:
    return RecordFacts(0, None, None, 0, fault)


class Job(Generic[Verdict]):
    """`begin` makes the steps of the work that it is given; `size` is how many bytes it keeps while it waits.

    Called, it is done in one go.
    """

    __slots__ = ("_begin", "size", "work")

    def __init__(
        self, begin: Callable[[Work], Generator[None, None, Verdict]], work: Work, size: int
    ) -> None:
        self._begin = begin
        self.size = size
        self.work = work

    def steps(self) -> Generator[None, None, Verdict]:
        return self._begin(self.work)

    def __call__(self) -> Verdict:
        return in_one_go(self.steps())


def in_one_go(steps: Generator[None, None, Verdict]) -> Verdict:
    """What they come to."""
    while True:
        try:
            next(steps)
        except StopIteration as over:
            verdict: Verdict = over.value
            return verdict
