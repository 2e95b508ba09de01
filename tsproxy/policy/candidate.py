"""The verdict that the candidate limits would give: `judge_candidate`.

The lowest and the highest timestamp of a batch prove that it is within the limits in force, and prove the
same for the candidate limits. Only where they do not, the records are searched again, natively, to count
those outside and to name the first. Nobody is answered, so no text is made.

Each side is judged by itself, ahead before behind. A record ahead says whether a newer broker would reject
the batch; a record far behind says that a timestamp is likely a mistake. A verdict is about one of them, so
no count mixes both, and a batch with both is counted for the side that a broker would reject."""

from tsproxy.model.kafka import LONG_MAX, LONG_MIN, ErrorCode
from tsproxy.model.verdict import Bounds, OutOfRange, Reject, TopicLimits, reason_out_of_range
from tsproxy.policy import timestamps
from tsproxy.policy.context import BatchContext
from tsproxy.policy.units import guess_unit


def judge_candidate(context: BatchContext) -> Reject | None:
    """The rejection of an accepted batch; None where there is no candidate, or it would accept the batch too.

    Only timestamps count: anything else that is wrong with the batch says nothing about these limits.
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
                return _rejection(one, side, limits)
    return None


def _rejection(context: BatchContext, side: Bounds, limits: TopicLimits) -> Reject | None:
    outside = context.reader.find_outside(side.lowest, side.highest, context.culprits_listed)
    if not outside.timestamps_ms:
        return None
    first_ms = outside.timestamps_ms[0]
    pieces = timestamps.out_of_range_pieces(limits, context.now_ms)
    return Reject(
        ErrorCode.INVALID_TIMESTAMP,
        timestamps.REJECTED,
        reason_out_of_range(first_ms, context.now_ms),
        OutOfRange(outside, context.batch.base_offset, pieces, context.now_ms),
        outside.count,
        guess_unit(first_ms, context.now_ms),
    )
