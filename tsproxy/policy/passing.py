"""What the kernel may let pass without a look from here: `span_that_passes`.

Two bounds around the clock are all that it knows. What is asked of a topic's times beyond that (no time
at all, zero, negative ones, what an operator's own rule says of them) it cannot see, and such a topic
never passes, unless the rule itself says that it always takes what lies within two bounds; nor does one
whose batches may be written anew. (With `extended_timestamps` that becomes only of batches with bit 6 set,
which the kernel never passes.) Under a waiver no more passes than without: inside the limits it changes
nothing, so its end takes nothing back, and what lies outside is looked at each time.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from tsproxy.model.own_rule import OwnRule
from tsproxy.model.policy import Mode, TopicPolicy
from tsproxy.model.verdict import TopicLimits


@dataclass(frozen=True, slots=True)
class Passable:
    """How far a time may lie before and after the clock, in ms; both None where any time passes."""

    before_max_ms: int | None
    after_max_ms: int | None


ANY_TIME: Final = Passable(None, None)


def span_that_passes(policy: TopicPolicy) -> Passable | None:
    """None where each batch must be looked at. Inside the limits and the candidate's, nothing is left
    to be found, rejected or counted; whatever lies outside either is judged once, here, for both."""
    if policy.mode is Mode.OFF:
        return ANY_TIME
    if not policy.is_known or policy.limits is None:
        return None
    if policy.until_ms is not None:  # a waiver will end; what passes now must be fine then, too
        policy = replace(policy, mode=Mode.ENFORCE)
    if policy.rejects_some_values or policy.rewrites_any:
        return None
    all_of_them = [_span(limits) for limits in (policy.limits, policy.candidate) if limits is not None]
    for own in policy.own:
        bounds = bounds_of(own)
        if bounds is None:
            return None
        all_of_them.append(Passable(*bounds))
    return Passable(
        _least(span.before_max_ms for span in all_of_them), _least(span.after_max_ms for span in all_of_them)
    )


def bounds_of(own: OwnRule) -> tuple[int | None, int | None] | None:
    """What a rule says that it takes whatever else there is; None where it says nothing, or nothing sound."""
    bounds = getattr(own.rule, "bounds", None)
    if bounds is None:
        return None
    try:
        before_max_ms, after_max_ms = bounds()
    except Exception:  # somebody else's code: then each batch is looked at
        return None
    both = (before_max_ms, after_max_ms)
    return both if all(each is None or (isinstance(each, int) and each >= 0) for each in both) else None


def _span(limits: TopicLimits) -> Passable:
    if not limits.is_limited:
        return ANY_TIME
    return Passable(limits.before_max_ms, limits.after_max_ms)


def _least(bounds_ms: Iterable[int | None]) -> int | None:
    return min((each for each in bounds_ms if each is not None), default=None)
