"""The rules in the form that the fast path needs: `fast_path_bounds` and `repeatable_rejection`.

The fast path forwards batches of a topic if their timestamps lie within two bounds around the clock, and
repeats a rejection that the session has made. Both are computed from the rows of `checks.tables`. A topic
whose batches may be rewritten is not on the fast path. (`extended_timestamps` only affects batches with bit
6, which never take the fast path.) A waiver changes nothing within the limits, so the bounds are the same as
without the waiver.
"""

from dataclasses import dataclass, replace

from tsproxy.model.policy import Inspect, Mode, TopicPolicy
from tsproxy.model.verdict import OutOfRange, Reject
from tsproxy.policy.checks import record, tables
from tsproxy.policy.checks.check import ANY_TIME, FastPathBounds, narrowest
from tsproxy.policy.units import values_of_one_unit


def fast_path_bounds(policy: TopicPolicy) -> FastPathBounds | None:
    """The bounds within which no check fails and the candidate counts nothing; None if the session must
    judge each batch of the topic."""
    if policy.mode is Mode.OFF:
        return ANY_TIME
    if not policy.is_known or policy.limits is None:
        return None
    if policy.until_ms is not None:
        policy = replace(policy, mode=Mode.ENFORCE)
    if policy.rewrites_any:
        return None
    bounds = [check.bounds(policy) for check in tables.CHECKS.about_timestamps]
    if policy.candidate is not None:
        bounds.append(record.within(policy.candidate))
    return narrowest(bounds)


def may_stay_unread(policy: TopicPolicy) -> bool:
    """True if the header of a compressed batch may be enough to judge it, for a topic that has bounds. If a
    rule copies culprits, the proxy must find them before the broker does, and no broker finds those of a
    custom rule."""
    if policy.dead_letters or policy.custom_rules:
        return False
    return policy.inspect_compressed in (Inspect.AUTO, Inspect.ADAPTIVE)


def only_limits_matter(policy: TopicPolicy) -> bool:
    """True if only the check of limits may reject a usual batch for its timestamps."""
    if record.bounds(policy) is None:
        return False
    checks = tables.CHECKS.about_timestamps
    others = (check for check in checks if check.reject is not record.each_record_is_valid)
    return all(check.bounds(policy) is ANY_TIME for check in others)


@dataclass(frozen=True, slots=True)
class RepeatableRejection:
    """The batches that are rejected in the same words. The timestamp of their first culprit is between
    `lowest_ms` and `highest_ms`, and the clock shows `from_ms` or later, but not yet `until_ms`."""

    lowest_ms: int
    highest_ms: int
    from_ms: int
    until_ms: int


def repeatable_rejection(
    policy: TopicPolicy, reject: Reject, now_ms: int, for_ms: int
) -> RepeatableRejection | None:
    """The batches that will be rejected in the same words for `for_ms` after a rejection at `now_ms`; None if
    the session must judge each batch.

    The words are the same if three conditions hold: the only faults of both batches are timestamps outside
    the same limits, their first culprits are on the same side of the clock, and the same unit is guessed for
    these.
    """
    if not isinstance(reject.violations, OutOfRange):
        return None
    if not policy.needs_only_range or record.bounds(policy) is ANY_TIME:
        return None
    if policy.mode is not Mode.ENFORCE or policy.until_ms is not None:
        return None
    if policy.dead_letters or policy.rewrites_any or not only_limits_matter(policy):
        return None
    first_ms, until_ms = reject.violations.outside.timestamps_ms[0], now_ms + for_ms
    bounds_ms = values_of_one_unit(first_ms, now_ms, until_ms)
    if bounds_ms is None:
        return None
    lowest_ms, highest_ms = bounds_ms
    if first_ms >= until_ms:
        lowest_ms = max(lowest_ms, until_ms)
    elif first_ms <= now_ms:
        highest_ms = min(highest_ms, now_ms)
    else:
        return None
    return RepeatableRejection(lowest_ms, highest_ms, now_ms, until_ms)
