"""The timestamp rule: KIP-32 (CreateTime, LogAppendTime, NO_TIMESTAMP) with KIP-937's two limits.

Source: `LogValidator.java#validateTimestamp` of Kafka 3.6 to 4.4. Kafka computes with 64-bit longs that wrap,
and this module does the same if a verdict or a text depends on it. There are three differences, all on
purpose:

* A limit that the operator has set is a whole number. With `before` set, nothing older is accepted, however
  old; with `after` set alone, nothing old is rejected.
* A timestamp of exactly Long.MIN_VALUE + now passes a broker's check by overflow, whatever the limits. Here
  it is too old, and is rejected unless that side is unlimited.
* If a producer sets attribute bit 3 (LogAppendTime), brokers from 3.6 on skip the check of each record. Here
  every record is judged by its own timestamp, and the bit itself is rejected.
"""

from typing import Final

from tsproxy.model.kafka import LONG_MAX, LONG_MIN, NO_TIMESTAMP, TimestampType, wrap64
from tsproxy.model.verdict import TopicLimits


def is_out_of_range(timestamp_ms: int, limits: TopicLimits, now_ms: int) -> bool:
    """True if KIP-937's validation of one record fails: both branches of its pseudo-code, with longs.

    `difference` is the KIP's time_difference. It is positive for a timestamp before now, which before.max.ms
    limits. It is negative for a timestamp after now, which after.max.ms limits.
    """
    if limits.timestamp_type is TimestampType.LOG_APPEND_TIME or timestamp_ms == NO_TIMESTAMP:
        return False
    difference = wrap64(now_ms - timestamp_ms)
    if difference == LONG_MIN:
        return limits.before_max_ms is not None
    is_wrapped = timestamp_ms < LONG_MIN + now_ms
    after_max_ms = limits.wrapped_after_ms if is_wrapped else _long(limits.after_max_ms)
    return difference > _long(limits.before_max_ms) or -difference > after_max_ms


REJECTED: Final = "One or more records have been rejected due to invalid timestamp"
"""The partition's error_message if a record's timestamp is at fault."""


def out_of_range_text(timestamp_ms: int, offset: int, limits: TopicLimits, now_ms: int) -> str:
    before, between, after = out_of_range_pieces(limits, now_ms)
    return f"{before}{timestamp_ms}{between}{offset}{after}"


def out_of_range_pieces(limits: TopicLimits, now_ms: int) -> tuple[str, str, str]:
    """The parts of the text before a record's timestamp, between it and the offset, and after the offset.
    Bounds wrap like a broker's."""
    earliest = wrap64(now_ms - _long(limits.before_max_ms))
    latest = wrap64(now_ms + _long(limits.after_max_ms))
    return (
        "Timestamp ",
        " of message with offset ",
        f" is out of range. The timestamp should be within [{earliest}, {latest}]",
    )


def draft_text(offset: int) -> str:
    """The text that the first draft of KIP-937 proposed for a record more than an hour ahead."""
    return f"Timestamp of the message with offset {offset} is ahead of the broker's current time."


def log_append_time_text(record: str) -> str:
    """The broker's text for a record of a batch in which the producer has set bit 3."""
    return (
        f"Invalid timestamp type in message {record}. "
        "Producer should not set timestamp type to LogAppendTime."
    )


def _long(limit_ms: int | None) -> int:
    return LONG_MAX if limit_ms is None else limit_ms
