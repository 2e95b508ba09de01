"""A request that is judged in a thread, step by step: `Job`; its cost and its budget: `Work`.

A request of few bytes may hold a hundred million records. So one request has a budget over all its
partitions. After each step and each piece of decompression, the thread checks whether the verdict is still
needed, and between two steps it may work on another request.
"""

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, Generic, TypeVar

from tsproxy.model.records import Fault, RecordFacts
from tsproxy.model.view import SessionLimits
from tsproxy.session.budget import AGAIN_BYTES, MAX_BYTES, BudgetExceededError, DecompressionBudget
from tsproxy.wire.record_batch import SHELLS

BYTES_A_RECORD: Final = 64
"""The number of decompressed bytes that cost about as much as one record."""
A_STEP: Final = 10
"""The cost of a step beside its records, in records."""
AN_ODD_BATCH: Final = 1_000
"""The cost, in records, of each look at a batch of a set below v3 that is not a bare message like the first:
20 to 40 us in Python. A batch is looked at five times at most. Old clients send one such batch in a
partition."""
A_BARE_MESSAGE: Final = 100
"""The same for a bare message that only Python can judge, because of the topic's policy. Old clients may send
100,000 of them in a request, so they count as less than they cost."""

MAX_OBJECTS: Final = 12
"""The most records of one read that become objects on the event loop. An object takes 5 us, and the way to a
thread costs as much as a dozen."""
AN_OBJECT: Final = MAX_BYTES // MAX_OBJECTS
"""The price of such a record, in decompressed bytes."""

UNLIMITED: Final = sys.maxsize

Verdict = TypeVar("Verdict")


A_RECORD_US: Final = 1
"""The estimate for a record, in microseconds of CPU time. It takes 0.01 us to read, and 0.8 us to repair."""
TIMES_ESTIMATE: Final = 10


class TooDearError(Exception):
    """The request has taken more time than it may (`Work.is_too_dear`)."""


class StoppedError(Exception):
    """The verdict is not needed any more. The request has had no effect."""


class Work:
    """The cost of judging one request so far, in records (`done`), and the rest of its budget.

    `budget` is the budget of the event loop, and None in a thread. A `Work` belongs to one thread at a time,
    but any other thread may call `stop`.
    """

    __slots__ = (
        "_began_us",
        "_budget",
        "_bytes_left",
        "_charged",
        "_is_stopped",
        "_most_us",
        "_records_left",
        "_spent_us",
        "_thread_us",
        "done",
        "is_too_dear",
        "kept_bytes",
    )

    def __init__(self, limits: SessionLimits, budget: DecompressionBudget | None = None) -> None:
        self._bytes_left = limits.decompressed_request
        self._is_stopped = False
        self._budget = budget
        self._charged = 0
        self._records_left = limits.records_per_request
        self._began_us = self._spent_us = 0
        self._most_us = limits.judging_time_ms * 1_000
        self._thread_us: Callable[[], int] | None = None
        self.done = 0
        self.is_too_dear = False
        """True once threads have spent more CPU time on it than the limit, and than ten times the estimate
        of what is done. So nothing that no charge counts keeps a thread, and a slow machine rejects
        nothing."""
        self.kept_bytes = 0
        """Memory of what the work has found so far and keeps to its end. Any thread may read it."""

    def begin_turn(self, thread_us: Callable[[], int]) -> None:
        """A thread goes on with the request. `thread_us` returns the thread's CPU time."""
        self._thread_us = thread_us
        self._began_us = thread_us()

    def end_turn(self) -> None:
        if self._thread_us is not None:
            self._spent_us += self._thread_us() - self._began_us
            self._thread_us = None

    def stop(self) -> None:
        """End the work at its next call of `look`."""
        self._is_stopped = True

    def look(self, cost: int = A_STEP) -> None:
        """Count `cost`, in records, as done. Raises StoppedError if the work has been stopped, and
        TooDearError if it takes too long."""
        self.step(cost)
        if self.is_too_dear:
            raise TooDearError

    def step(self, cost: int = A_STEP) -> None:
        """The same between two partitions, where nothing is left unfinished. Raises StoppedError."""
        self.done += cost
        if self._is_stopped:
            raise StoppedError
        if self._thread_us is not None and not self.is_too_dear:
            spent_us = self._spent_us + self._thread_us() - self._began_us
            self.is_too_dear = spent_us > max(self._most_us, self.done * A_RECORD_US * TIMES_ESTIMATE)

    def charge(self, size: int, weight: int = 1) -> None:
        """Charge `size` bytes that go into a decompressor, or came out of it (`record_batch.Charge`). Raises
        BudgetExceededError like the budget, and StoppedError like `look`. A thread knows no weight, since it
        looks between pieces."""
        if self._budget is not None:
            self._budget.charge(size, weight)
            self._charged += size * weight
        if size == SHELLS:
            self.look()
            return
        self._bytes_left -= size
        self.look(size // BYTES_A_RECORD)

    @contextmanager
    def taking_nothing(self) -> Iterator[None]:
        """Take nothing from the request's records and bytes for what is read meanwhile, whatever is left of
        them. Its time counts."""
        left = self._bytes_left, self._records_left
        self._bytes_left = self._records_left = UNLIMITED
        try:
            yield
        finally:
            self._bytes_left, self._records_left = left

    def read_again(self, records: int) -> None:
        """Count a batch of so many records that is read once more. Raises BudgetExceededError if the event
        loop has decompressed much for the request, and StoppedError like `look`."""
        if self._charged > AGAIN_BYTES:
            raise BudgetExceededError
        self.look(max(0, records))

    def charge_again(self, size: int, _weight: int = 1) -> None:
        """The same as `charge`, for bytes that were charged to the budget before."""
        self.look(A_STEP if size == SHELLS else size // BYTES_A_RECORD)

    def leave_loop(self) -> None:
        """Leave work that no charge counts to a thread. On the event loop this raises BudgetExceededError."""
        if self._budget is not None:
            raise BudgetExceededError

    def charge_objects(self, count: int) -> None:
        """Charge the event loop for `count` records that become objects. Raises BudgetExceededError."""
        if self._budget is not None:
            self._budget.charge(count * AN_OBJECT)

    @property
    def is_spent(self) -> bool:
        return self._records_left <= 0

    def take_odd(self, cost: int = AN_ODD_BATCH) -> None:
        """Charge one more look at a batch of a set below v3 that has to be judged by itself."""
        self._records_left -= cost
        self.look(cost)

    def within(
        self, limits: SessionLimits, read: Callable[[SessionLimits], RecordFacts], *, is_compressed: bool
    ) -> RecordFacts:
        """The facts that `read` finds of one batch, within `limits` and the rest of the request's budget."""
        if self.is_too_dear:
            return _unread(Fault.JUDGED_TOO_LONG)
        if self._records_left <= 0:
            return _unread(Fault.REQUEST_OF_TOO_MANY_RECORDS)
        if is_compressed and self._bytes_left <= 0:
            return _unread(Fault.REQUEST_TOO_LARGE)
        lowered = self._lowered(limits)
        facts = read(lowered)
        self._records_left -= facts.records
        self.look(facts.records)
        if lowered is limits or facts.fault is None:
            return facts
        return self._as_of_the_request(facts, limits, lowered)

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
        self, facts: RecordFacts, limits: SessionLimits, lowered: SessionLimits
    ) -> RecordFacts:
        """The facts, with the request's fault in place of the batch's if a lowered bound caused it. Batches
        behind this one are then not read, if they would need what is used up."""
        is_lower = lowered.decompressed_batch < limits.decompressed_batch
        if facts.fault is Fault.DECOMPRESSED_TOO_LARGE and is_lower:
            self._bytes_left = 0
            return _unread(Fault.REQUEST_TOO_LARGE)
        if facts.fault is Fault.TOO_MANY_RECORDS and lowered.records_per_batch < limits.records_per_batch:
            self._records_left = 0
            return _unread(Fault.REQUEST_OF_TOO_MANY_RECORDS)
        return facts


def _unread(fault: Fault) -> RecordFacts:
    return RecordFacts(0, None, None, 0, fault)


class Job(Generic[Verdict]):
    """A request to judge in steps. `begin` makes the steps, given the `Work`. `size` is how many bytes the
    job keeps while it waits. `is_light`: once it has begun, it keeps hardly more.

    A call of the job does all steps at once.
    """

    __slots__ = ("_begin", "is_light", "size", "work")

    def __init__(
        self,
        begin: Callable[[Work], Generator[None, None, Verdict]],
        work: Work,
        size: int,
        *,
        is_light: bool = False,
    ) -> None:
        self._begin = begin
        self.is_light = is_light
        self.size = size
        self.work = work

    def steps(self) -> Generator[None, None, Verdict]:
        return self._begin(self.work)

    def __call__(self) -> Verdict:
        return all_steps(self.steps())


def all_steps(steps: Generator[None, None, Verdict]) -> Verdict:
    while True:
        try:
            next(steps)
        except StopIteration as over:
            verdict: Verdict = over.value
            return verdict
