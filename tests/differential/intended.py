"""The differences between a broker's answer and the proxy's that are meant to be, each with its reason.

`docs/verdicts.md` prints this table. A difference that no row claims is a failure.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.differential.comparison import Exchange
from tsproxy.model.kafka import ErrorCode, TimestampType

_ATTRIBUTES_AT: Final = {0: 17, 1: 17, 2: 22}
"""Where the low byte of the attributes lies, by magic."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One row: what the broker answers, what the proxy answers, and why."""

    name: str
    broker: str
    proxy: str
    reason: str
    claims: Callable[[Exchange], bool]


def attribute_bits(records: bytes) -> int:
    """The low byte of the first batch's attributes; 0 where there is none."""
    if len(records) < 23:
        return 0
    return records[_ATTRIBUTES_AT.get(records[16], 22)]


def _is_refused_here(exchange: Exchange, code: ErrorCode) -> bool:
    return exchange.proxied is not None and exchange.proxied.error_code == code


def _only_log_start_offset(exchange: Exchange) -> bool:
    return (
        exchange.differing() == ("log_start_offset",)
        and exchange.proxied is not None
        and exchange.proxied.error_code != ErrorCode.NONE
        and exchange.proxied.log_start_offset == -1
    )


def _bit_3(exchange: Exchange) -> bool:
    return (
        bool(attribute_bits(exchange.part.records) & 0x08)
        and exchange.part.topic.limits.timestamp_type is TimestampType.CREATE_TIME
        and _is_refused_here(exchange, ErrorCode.INVALID_TIMESTAMP)
    )


def _bit_6(exchange: Exchange) -> bool:
    return bool(attribute_bits(exchange.part.records) & 0x40) and _is_refused_here(
        exchange, ErrorCode.INVALID_RECORD
    )


INTENDED: Final = (
    Difference(
        "log start offset",
        "A rejection carries the partition's log_start_offset (v5+).",
        "-1, the schema's own value for unknown.",
        "Only the leader knows it. Clients use it with UNKNOWN_PRODUCER_ID alone, which stays the broker's.",
        _only_log_start_offset,
    ),
    Difference(
        "LogAppendTime set by a producer (attribute bit 3) on a CreateTime topic",
        "From 3.6 on a broker then looks at the header's maxTimestamp alone: any record time is stored.",
        "INVALID_TIMESTAMP 32: each record by its own time, else the bit, with the broker's text for it.",
        "A hole: one bit would carry any timestamp past every limit. Brokers up to 3.5 refused it, too.",
        _bit_3,
    ),
    Difference(
        "delete horizon set by a producer (attribute bit 6)",
        "Stored as it came; the cleaner of a compacted topic then takes the base timestamp for a deadline.",
        "INVALID_RECORD 87, without text.",
        "Only a broker's cleaner may set it (KIP-534).",
        _bit_6,
    ),
)


def claimed_by(exchange: Exchange) -> Difference | None:
    """The row that says this difference is meant to be; None where none does."""
    return next((row for row in INTENDED if row.claims(exchange)), None)
