"""The verdict that the candidate limits would give: `judge_candidate`.

The lowest and the highest timestamp of a batch may prove that it is within the candidate limits. Otherwise a
(native) search of its records counts those outside the limits and lists the first ones. No client gets this
rejection, so no text is made.

Each side of the clock is judged separately: first timestamps ahead, then timestamps behind. A record ahead
shows that a newer broker would reject the batch. A record far behind is probably a mistake. A verdict is
about one side, so no count mixes the two sides. A batch with such records on both sides is counted as ahead,
since a broker would reject it for that side.
"""

from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.verdict import Bounds, Reject
from tsproxy.policy.checks.record import reject_out_of_range
from tsproxy.policy.context import BatchContext


def judge_candidate(context: BatchContext) -> Reject | None:
    """The rejection that the candidate limits would give an accepted batch; None if there are no candidate
    limits, or if they would accept the batch too. Faults that are not about timestamps do not count."""
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
