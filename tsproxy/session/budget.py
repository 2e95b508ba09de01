"""The bytes that the event loop decompresses for one read, bounded: `DecompressionBudget`.

A few bytes may decompress to a thousand times as many bytes, or to a thousand empty pieces. Neither their
size nor their header shows this before they are decompressed. So the session simply begins. If a request
exceeds the budget, the session stops (`BudgetExceededError`), and a thread judges the request from the
beginning. Bytes that go into a decompressor are charged as well as bytes that come out.

A request may have to be decompressed more than once: the fast path reads it, then the session, which reads it
again for its culprits. Only what is cheap is decompressed again on the event loop (`AGAIN_BYTES`)."""

from dataclasses import dataclass
from typing import Final

from tsproxy.wire.frames import SIZE_BYTES
from tsproxy.wire.headers import RequestHeader

MAX_BYTES: Final = 4 << 20
"""The maximum of input and output bytes for one read: some milliseconds. A byte of gzip weighs as
much as many others (`one_shot.input_weight`)."""

AGAIN_BYTES: Final = 32 << 10
"""From this charge on, a thread decompresses again. For less, the way there costs more: 50 to 70 us."""


class BudgetExceededError(Exception):
    """The budget is spent. The request has had no effect yet."""


class DecompressionBudget:
    """The budget of one read from the client. All requests of that read share it. Once a thread has judged a
    request, the others get a new one, unless the fast path has refused a request that was dear."""

    __slots__ = ("has_refused", "left")

    def __init__(self) -> None:
        self.left = MAX_BYTES
        self.has_refused = False

    def charge(self, size: int, weight: int = 1) -> None:
        """Take `size` bytes of that weight from the budget. Raises BudgetExceededError if less is left."""
        self.left -= size * weight
        if self.left < 0:
            raise BudgetExceededError

    def refuse(self) -> None:
        """The fast path has decompressed a request and does not forward it. If that was dear, a thread judges
        the request, and all others of the read that have to be decompressed. Below 0, the request was not
        refused for what it holds."""
        if 0 <= self.left < MAX_BYTES - AGAIN_BYTES:
            self.left, self.has_refused = 0, True


@dataclass(frozen=True, slots=True)
class Request:
    """A whole request. `frame` is as it came, with its size prefix. It is judged by the clock of `now_ms`
    (`RequestContext`), however long it waits; `begun_ms` is when its judging began last.
    `old_topics` have old limits, and no answer about them has come; None until the request has waited.
    Its wait for names and limits ends at `wait_ends_ms` (monotonic); None if it has not waited."""

    frame: bytes
    header: RequestHeader
    now_ms: int
    begun_ms: int
    budget: DecompressionBudget
    old_topics: frozenset[str] | None = None
    wait_ends_ms: int | None = None

    @property
    def body(self) -> memoryview:
        return memoryview(self.frame)[SIZE_BYTES + self.header.body_start :]
