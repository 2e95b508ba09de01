"""Jumps of a partition's stream time, and records out of order: `StreamTimeGuard`, `advanced`.

Kafka Streams uses the newest timestamp of a partition as its clock. One record an hour ahead closes every
window before it, and then good records are dropped as late. A limit around the wall clock does not find this
mistake if it allows an hour ahead, or if the whole stream is in the past.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from tsproxy.model.custom_rule import RuleContext, StreamTime
from tsproxy.model.kafka import NO_TIMESTAMP
from tsproxy.model.verdict import Reason

STREAM_TIME_GUARD: Final = "stream-time-guard"
"""The name of the rule among the entry points."""


@dataclass(frozen=True, slots=True)
class StreamTimeGuard:
    """Rejects a record more than `max_jump_ahead_ms` ahead of the newest record before it in its partition.

    The time since that newest record arrived is added, because a partition may be silent for a while. If this
    process has not received a timestamp of the partition yet, the proxy's clock is used instead. Rejected
    records do not count for later ones.
    """

    max_jump_ahead_ms: int
    follows_stream_time: ClassVar[bool] = True
    reason: ClassVar[Reason] = Reason.JUMP_AHEAD

    def culprits(self, timestamps_ms: Sequence[int], context: RuleContext) -> Iterator[tuple[int, str]]:
        latest_ms = _expected_ms(context)
        for index, time_ms in enumerate(timestamps_ms):
            jump_ms = time_ms - latest_ms
            if time_ms == NO_TIMESTAMP or jump_ms <= 0:
                continue
            if jump_ms > self.max_jump_ahead_ms:
                text = (
                    f"Timestamp {time_ms} is {jump_ms} ms ahead of the partition's stream time, which is "
                    f"{latest_ms} by now; at most {self.max_jump_ahead_ms} ms are accepted"
                )
                yield index, text
            else:
                latest_ms = time_ms


def _expected_ms(context: RuleContext) -> int:
    known = context.stream_time
    if known is None:
        return context.now_ms
    return known.latest_ms + max(0, context.now_ms - known.seen_at_ms)


@dataclass(frozen=True, slots=True)
class StreamTimeAdvance:
    """The effect of a batch on its partition's stream time.

    `latest_ms` is the newest time of the batch. `out_of_order_records` of its records are older than a record
    before them in the partition, by `out_of_order_max_ms` at most.
    """

    latest_ms: int
    out_of_order_records: int
    out_of_order_max_ms: int


def advanced(timestamps_ms: Sequence[int], stream_time: StreamTime | None) -> StreamTimeAdvance | None:
    """The effect of these records on the stream time; None if no record has a timestamp."""
    times_ms = [time_ms for time_ms in timestamps_ms if time_ms != NO_TIMESTAMP]
    if not times_ms:
        return None
    latest_ms = times_ms[0] if stream_time is None else stream_time.latest_ms
    out_of_order_records = out_of_order_max_ms = 0
    for time_ms in times_ms:
        if time_ms < latest_ms:
            out_of_order_records += 1
            out_of_order_max_ms = max(out_of_order_max_ms, latest_ms - time_ms)
        else:
            latest_ms = time_ms
    return StreamTimeAdvance(max(times_ms), out_of_order_records, out_of_order_max_ms)
