"""What the kernel may reject without a look from here, once one batch like it was: `rejected_likewise`.

A batch is like another one where nothing is wrong with either but times outside the same two limits, and
what is said of them is the same: on which side the first culprit lies, and in which unit it seems to be.
Whatever a rule asks for beyond limits in a broker's words makes each batch a case of its own.
"""

from dataclasses import dataclass

from tsproxy.model.policy import Mode, TopicPolicy
from tsproxy.model.verdict import OutOfRange, Reject
from tsproxy.policy.units import values_guessed_alike


@dataclass(frozen=True, slots=True)
class Likewise:
    """Where a batch's first culprit must lie, and at which clocks: from `from_ms` up to, not including,
    `until_ms`. All in ms."""

    lowest_ms: int
    highest_ms: int
    from_ms: int
    until_ms: int


def rejected_likewise(policy: TopicPolicy, reject: Reject, now_ms: int, for_ms: int) -> Likewise | None:
    """Of a batch rejected at `now_ms`, which others are rejected with the same words for the next `for_ms`;
    None where each must be looked at."""
    limits = policy.limits
    if not isinstance(reject.violations, OutOfRange):
        return None
    if limits is None or limits.is_compacted or not limits.is_limited:
        return None
    if policy.mode is not Mode.ENFORCE or policy.until_ms is not None or policy.own:
        return None
    if policy.dead_letters:
        return None
    if policy.rewrites_any or policy.rejects_some_values or policy.speaks_as_draft or policy.names_unit:
        return None
    first_ms, until_ms = reject.violations.outside.timestamps_ms[0], now_ms + for_ms
    alike = values_guessed_alike(first_ms, now_ms, until_ms)
    if alike is None:
        return None
    lowest_ms, highest_ms = alike
    if first_ms >= until_ms:
        lowest_ms = max(lowest_ms, until_ms)
    elif first_ms <= now_ms:
        highest_ms = min(highest_ms, now_ms)
    else:
        return None
    return Likewise(lowest_ms, highest_ms, now_ms, until_ms)
