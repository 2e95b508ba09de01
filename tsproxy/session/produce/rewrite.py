"""A batch that is rewritten because its rule requires it: `rewritten`.

`policy` decides on the timestamps, and `wire` writes them. The result is judged as if a client had sent it,
so that the proxy never forwards a repaired batch that it would reject.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from tsproxy.model.kafka import ErrorCode
from tsproxy.model.policy import TopicPolicy
from tsproxy.model.records import DELETE_HORIZON
from tsproxy.model.verdict import Listed, Reason, Reject, UnitGuess, Verdict, reason_out_of_range
from tsproxy.model.view import SessionLimits
from tsproxy.policy.checks.batch import size_is_allowed
from tsproxy.policy.checks.record import records_are_small_enough
from tsproxy.policy.context import BatchContext
from tsproxy.policy.judge import first_rejection, judge
from tsproxy.policy.repair import Repair, repair_of
from tsproxy.policy.units import guess_unit
from tsproxy.session.verdict import Rewritten
from tsproxy.wire import rewriting
from tsproxy.wire.record_batch import Charge

ORIGINAL_TIME: Final = b"tsproxy-original-timestamp"
ARRIVAL_TIME: Final = b"tsproxy-arrival-timestamp"
"""The keys of two record headers. Their values are milliseconds since 1970, in decimal digits."""

_LISTED: Final = 20
"""The number of repaired records that the decision log names."""


def rewritten(
    context: BatchContext,
    verdict: Verdict,
    limits: SessionLimits,
    read_again: Callable[[memoryview], BatchContext],
    charge: Charge,
) -> Rewritten | Reject | None:
    """The rewritten batch. None if the batch is forwarded, or rejected, as it came. A Reject if the batch has
    to be rewritten, but the result must be rejected. Raises only the errors of `charge`, which gets the
    numbers of bytes that are read and written."""
    repair = repair_of(context, verdict)
    if repair is None:
        return None
    headers = _headers(repair, context.policy, context.now_ms)
    cleared = DELETE_HORIZON if context.is_extended else 0
    data = rewriting.rewrite(context.batch, limits, repair.times_ms, headers, cleared, charge)
    if data is None:
        return None
    read = read_again(memoryview(data))
    again = _too_large(context, read) or judge(read)
    if isinstance(again, Reject):
        return again
    repaired = _as_rejection(repair, verdict, context.now_ms) if repair.changed else None
    return Rewritten(data, repaired)


def _headers(repair: Repair, policy: TopicPolicy, now_ms: int) -> Callable[[int], rewriting.Headers] | None:
    """The headers that the record at a position gets; None if no record gets any."""
    keeps_original = policy.keep_original_time and bool(repair.changed)
    if not (keeps_original or policy.keep_both_times):
        return None
    arrival = ((ARRIVAL_TIME, b"%d" % now_ms),) if policy.keep_both_times else ()

    def added(index: int) -> rewriting.Headers:
        original_ms = repair.original_ms[index]
        if not keeps_original or original_ms == repair.times_ms[index]:
            return arrival
        return (ORIGINAL_TIME, b"%d" % original_ms), *arrival

    return added


def _too_large(came: BatchContext, now: BatchContext) -> Reject | None:
    """The rejection of a batch that is too large for its topic only since it was rewritten. A broker would
    send no text. If it makes an earlier check that fails, its answer is that of this check."""
    of_size = _of_size(now)
    if of_size is None or _of_size(came) is not None:
        return None
    rejection = first_rejection(now)
    if rejection != of_size:
        return rejection
    is_whole = of_size.error_code == ErrorCode.MESSAGE_TOO_LARGE
    text = (
        f"{of_size.detail} Repaired timestamps or added headers have made it larger than the topic's "
        f"{'max.message.bytes' if is_whole else 'max.decompressed.message.bytes'} allows; send smaller "
        f"{'batches' if is_whole else 'records'}, or right timestamps"
    )
    return replace(of_size, error_message=text, detail=text)


def _of_size(context: BatchContext) -> Reject | None:
    return size_is_allowed(context) or records_are_small_enough(context)


def _as_rejection(repair: Repair, verdict: Verdict, now_ms: int) -> Reject:
    """The repaired mistakes as a rejection, for the decision log. No client gets this rejection."""
    listed = tuple(repair.changed[:_LISTED])
    times_ms = tuple(repair.original_ms[index] for index in listed)
    culprits = Listed(listed, times_ms, lambda at: (_reason(times_ms[at], now_ms), ""))
    first_ms = times_ms[0]
    unit: UnitGuess | None = guess_unit(first_ms, now_ms) if first_ms >= 0 else None
    reason = verdict.reason if isinstance(verdict, Reject) else _reason(first_ms, now_ms)
    return Reject(ErrorCode.INVALID_TIMESTAMP, None, reason, culprits, len(repair.changed), unit)


def _reason(time_ms: int, now_ms: int) -> Reason:
    if time_ms == -1:
        return Reason.MISSING
    return Reason.NEGATIVE if time_ms < 0 else reason_out_of_range(time_ms, now_ms)
