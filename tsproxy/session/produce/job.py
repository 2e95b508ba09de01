"""A request that is judged in a thread, step by step: `Job`; its cost and its budget: `Work`.

A request of few bytes may hold a hundred million records. So one request has a budget over all its
partitions. After each step and each piece of decompression, the thread checks whether the verdict is still
needed, and between two steps another request may have its turn.
"""

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Final, Generic, TypeVar

from tsproxy.model.records import Fault, RecordFacts
from tsproxy.model.view import SessionLimits
from tsproxy.session.produce.budget import DecompressionBudget
from tsproxy.wire.record_batch import SHELLS

BYTES_A_RECORD: Final = 64
"""The number of decompressed bytes that cost about as much as one record."""
A_STEP: Final = 10
"""The cost of a step beside its records, in records."""
AN_ODD_BATCH: Final = 100
"""The cost, in records, of each batch of a set below v3 that is not a bare message like the first. No client
sends that, since brokers reject the set."""


Verdict = TypeVar("Verdict")


class StoppedError(Exception):
    """Nobody waits for this verdict any more. Nothing has happened."""


class Work:
    """The cost of judging one request so far, in records (`done`), and the rest of its budget.

    `budget` is that of the event loop, None in a thread. Belongs to one thread at a time; any other may call
    `stop`.
    """

    __slots__ = ("_budget", "_bytes_left", "_is_stopped", "_records_left", "done")

    def __init__(self, limits: SessionLimits, budget: DecompressionBudget | None = None) -> None:
        self._bytes_left = limits.decompressed_request
        self._is_stopped = False
        self._budget = budget
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

    def charge(self, size: int) -> None:
        """`size` bytes go into a decompressor, or came out of it (`record_batch.Charge`). Raises
        BudgetExceededError as the budget does, and as `look`."""
        if self._budget is not None:
            self._budget.charge(size)
        if size == SHELLS:
            self.look()
            return
        self._bytes_left -= size
        self.look(size // BYTES_A_RECORD)

    def charge_again(self, size: int) -> None:
        """The same for bytes that were charged to the budget before."""
        self.look(A_STEP if size == SHELLS else size // BYTES_A_RECORD)

    @property
    def is_spent(self) -> bool:
        """True where no more records are read."""
        return self._records_left <= 0

    def take_odd(self) -> None:
        """One more batch of a set below v3 has to be judged by itself."""
        self._records_left -= AN_ODD_BATCH
        self.look(AN_ODD_BATCH)

    def within(
        self, limits: SessionLimits, read: Callable[[SessionLimits], RecordFacts], *, is_compressed: bool
    ) -> RecordFacts:
        """The facts that `read` finds of one batch, within `limits` and what is left for the request."""
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
        """A fault of the lowered bound is the request's fault; batches behind it are then not read at all."""
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

    A call does all steps at once.
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
        return all_steps(self.steps())


def all_steps(steps: Generator[None, None, Verdict]) -> Verdict:
    """Their result."""
    while True:
        try:
            next(steps)
        except StopIteration as over:
            verdict: Verdict = over.value
            return verdict
