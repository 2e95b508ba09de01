"""The verdict that the candidate limits would give: `judge_candidate`.

What proves a batch innocent of the limits in force, the lowest and the highest of its times, proves it
innocent of these as well: only where it does not are its records looked at again, natively, to count
them and to name the first. Nobody is answered, so no text is made.

Each side is judged by itself, ahead before behind. What lies ahead says whether a newer broker would reject
the batch; what lies far behind says that a time is likely a mistake. A verdict is about one of them, so no
count mixes both, and a batch with both is counted for the side that a broker would reject.
"""

from tsproxy.model.kafka import LONG_MAX, LONG_MIN, ErrorCode
from tsproxy.model.verdict import Bounds, OutOfRange, Reject, TopicLimits, reason_out_of_range
from tsproxy.policy import timestamps
from tsproxy.policy.case import Case
from tsproxy.policy.units import guess_unit


def judge_candidate(case: Case) -> Reject | None:
    """Of a batch that is let pass: None where there is no candidate, or where it would let it pass too.

    All but times is left aside: what is wrong besides is no news of these limits.
    """
    limits = case.policy.candidate
    if limits is None or not case.record_set.batches:
        return None
    bounds = limits.bounds(case.now_ms)
    assert bounds is not None, "a candidate limits something"
    for side in (Bounds(LONG_MIN, bounds.highest), Bounds(bounds.lowest, LONG_MAX)):
        for one in case.each_batch():
            facts = one.facts
            if facts is None or facts.fault or facts.lowest_ms is None or facts.highest_ms is None:
                continue
            if facts.lowest_ms < side.lowest or facts.highest_ms > side.highest:
                return _rejection(one, side, limits)
    return None


def _rejection(case: Case, side: Bounds, limits: TopicLimits) -> Reject | None:
    outside = case.find_outside(side.lowest, side.highest, case.culprits_listed)
    if not outside.timestamps_ms:
        return None
    first_ms = outside.timestamps_ms[0]
    pieces = timestamps.out_of_range_pieces(limits, case.now_ms)
    return Reject(
        ErrorCode.INVALID_TIMESTAMP,
        timestamps.REJECTED,
        reason_out_of_range(first_ms, case.now_ms),
        OutOfRange(outside, case.batch.base_offset, pieces, case.now_ms),
        outside.count,
        guess_unit(first_ms, case.now_ms),
    )
