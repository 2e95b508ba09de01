"""A row of the tables of checks: `Check`."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from tsproxy.model.policy import TopicPolicy
from tsproxy.model.verdict import Reject
from tsproxy.policy.context import BatchContext


@dataclass(frozen=True, slots=True)
class FastPathBounds:
    """How far a timestamp may be before and after the clock, in ms; None is unlimited."""

    before_max_ms: int | None
    after_max_ms: int | None


ANY_TIME: Final = FastPathBounds(None, None)
"""The bounds of a check that no usual batch fails, whatever its timestamps. Compare with `is`."""


def narrowest(bounds: Iterable[FastPathBounds | None]) -> FastPathBounds | None:
    """The widest bounds that are within all of `bounds`; None if one of these is None."""
    known = list(bounds)
    if None in known:
        return None
    before = (span.before_max_ms for span in known if span and span.before_max_ms is not None)
    after = (span.after_max_ms for span in known if span and span.after_max_ms is not None)
    return FastPathBounds(min(before, default=None), min(after, default=None))


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a batch. All three fields must be given, so that none can be forgotten.

    `reject` returns the broker's rejection, or None if the batch passes.

    `may_fail` is False if the known facts of the batch prove that `reject` would return None, so that no
    record is read. It must be True if facts are needed and missing. `left_to_the_broker` marks a check that
    the proxy only makes to answer in a broker's order: it never rejects a batch for such a check alone.

    `bounds` are the bounds within which no usual batch fails the check. They are None if there are no such
    bounds; then the fast path forwards no batch of the topic. A usual batch is complete and of magic 2, its
    header is right, its CRC is valid, it is not too large, and neither attribute bit 3 nor 6 is set.
    """

    reject: Callable[[BatchContext], Reject | None]
    may_fail: Callable[[BatchContext], bool]
    bounds: Callable[[TopicPolicy], FastPathBounds | None]


def left_to_the_broker(context: BatchContext) -> bool:  # noqa: ARG001 # a column of the tables
    """Always False: the proxy rejects nothing for such a check alone."""
    return False


def any_time(policy: TopicPolicy) -> FastPathBounds:  # noqa: ARG001 # a column of the tables
    return ANY_TIME
