"""The verdict on one partition of a ProduceRequest: `judge`.

A batch that is certainly acceptable is forwarded, and the broker makes all other checks itself. A batch that
violates the proxy's rules is rejected here with the broker's answer. So the proxy also makes the checks that
a broker makes earlier, and the first check that fails gives the answer.

The proxy rejects a batch for a timestamp out of range, for bit 3 or bit 6, and for null records. If
timestamps are limited, it also rejects a batch that cannot be read, since nothing proves that it is
acceptable. An unknown codec below Produce v7 is an exception, since it affects the whole request
(`checks.request.is_left_to_the_broker`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.policy import CANDIDATE, Mode, TopicPolicy
from tsproxy.model.verdict import Accept, Bounds, Reject, Verdict
from tsproxy.policy.checks import record, request, tables
from tsproxy.policy.checks.check import ANY_TIME, Check
from tsproxy.policy.checks.record import reject_out_of_range
from tsproxy.policy.context import BatchContext

ACCEPT: Final = Accept()


def judge(context: BatchContext) -> Verdict:
    """Accept, or the rejection that a broker would give. The rejection is the proxy's own if brokers lack the
    check."""
    if is_certainly_acceptable(context) or request.is_left_to_the_broker(context):
        return ACCEPT
    return first_rejection(context) or ACCEPT


def first_rejection(context: BatchContext) -> Reject | None:
    """The rejection by the first check that fails, in a broker's order; None if all pass. The check may be
    one for which alone the proxy does not reject a batch."""
    return next(_rejections(context), None)


def _rejections(context: BatchContext) -> Iterator[Reject]:
    yield from _failed(tables.CHECKS.partition, context)
    for one in context.each_odd_batch():
        yield from _failed(tables.CHECKS.log, one)
    yield from _failed(tables.CHECKS.batches, context)
    if record.is_converted(context):
        for one in context.each_odd_batch():
            yield from _failed(tables.CHECKS.conversion, one)
    for one in context.each_batch():
        yield from _failed(tables.CHECKS.validator, one)


def _failed(checks: Iterable[Check], context: BatchContext) -> Iterator[Reject]:
    return (reject for check in checks if (reject := check.reject(context)) is not None)


def is_certainly_acceptable(context: BatchContext) -> bool:
    """True if the batch is certain to pass every check for which the proxy rejects."""
    if not request.is_read_whole(context) and limits_times(context.policy):
        return False  # a batch that was not read may hold any timestamp
    checks = tables.CHECKS
    if any(check.may_fail(context) for check in checks.of_the_proxy_about_a_partition):
        return False
    of_a_batch = checks.of_the_proxy_about_a_batch
    return not any(check.may_fail(one) for one in context.each_batch() for check in of_a_batch)


def limits_times(policy: TopicPolicy) -> bool:
    """True if some check may reject a usual batch for its timestamps."""
    return any(check.bounds(policy) is not ANY_TIME for check in tables.CHECKS.about_timestamps)


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict in force. `would` is the rejection of an accepted batch by a rule that only counts, and
    `would_rule` the name of that rule."""

    verdict: Verdict
    would: Reject | None = None
    would_rule: str | None = None


EXAMPLES_KEPT: Final = 20
"""The number of culprits that are listed for a batch that is only counted, as many as in a decision line."""


def decide(context: BatchContext) -> Decision:
    """The verdict by the mode of the batch's policy: `enforce`, `audit` or `off`."""
    mode = context.policy.mode
    if mode is Mode.OFF:
        return Decision(ACCEPT)
    if mode is Mode.ENFORCE and isinstance(verdict := judge(context), Reject):
        return Decision(verdict)
    if mode is not Mode.AUDIT and context.policy.candidate is None:  # nothing counts: most batches
        return Decision(ACCEPT)
    counted = context.listing(EXAMPLES_KEPT)
    if mode is Mode.AUDIT and isinstance(would := judge(counted), Reject):
        return Decision(ACCEPT, would, context.policy.rule)
    by_candidate = judge_candidate(counted)
    return Decision(ACCEPT, by_candidate, CANDIDATE if by_candidate else None)


def judge_candidate(context: BatchContext) -> Reject | None:
    """The rejection that the candidate limits would give an accepted batch; None if there are no candidate
    limits, or if they would accept the batch too. Faults that are not about timestamps do not count. No
    client gets this rejection, so no text is made.

    Each side of the clock is judged separately: first timestamps ahead, then timestamps behind. A record
    ahead shows that a newer broker would reject the batch. A record far behind is probably a mistake. No
    count mixes the two sides. A batch with such records on both sides is counted as ahead, since a broker
    would reject it for that side.
    """
    limits = context.policy.candidate
    if limits is None or not context.record_set.batches:
        return None
    bounds = limits.bounds(context.now_ms)
    assert bounds is not None, "a candidate limits something"
    for side in (Bounds(LONG_MIN, bounds.highest), Bounds(bounds.lowest, LONG_MAX)):
        for one in context.each_batch():
            facts = one.facts
            if facts is None or facts.fault or facts.lowest_ms is None or facts.highest_ms is None:
                continue
            if facts.lowest_ms < side.lowest or facts.highest_ms > side.highest:
                outside = one.reader.find_outside(side.lowest, side.highest, one.culprits_listed)
                return reject_out_of_range(one, outside, limits) if outside.timestamps_ms else None
    return None
