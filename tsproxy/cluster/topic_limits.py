"""A topic's limits, from its configuration as a broker describes it. Pure.

Brokers up to 3.5 only know `message.timestamp.difference.max.ms`. Brokers 3.6 to 3.9 also know `before` and
`after`. Each of these two falls back to `difference` if it is unlimited itself (KIP-937,
`LogConfig.getMessageTimestampBeforeMaxMs`). Brokers from 4.0 on know only `before` and `after` (KAFKA-17997).
A topic's description already holds the broker's own settings if the topic sets none, so the same rule holds
for all three groups of brokers. `max.decompressed.message.bytes` is known from 4.4 on.
"""

from collections.abc import Collection, Mapping
from typing import Final

from tsproxy.model.kafka import LONG_MAX, Codec, TimestampType
from tsproxy.model.policy import HOUR_MS
from tsproxy.model.verdict import TopicLimits

TIMESTAMP_TYPE: Final = "message.timestamp.type"
BEFORE: Final = "message.timestamp.before.max.ms"
AFTER: Final = "message.timestamp.after.max.ms"
DIFFERENCE: Final = "message.timestamp.difference.max.ms"
MAX_MESSAGE_BYTES: Final = "max.message.bytes"
CLEANUP_POLICY: Final = "cleanup.policy"
COMPRESSION_TYPE: Final = "compression.type"
MAX_DECOMPRESSED_MESSAGE_BYTES: Final = "max.decompressed.message.bytes"

ANY_RECORD_SIZE: Final = 2_147_483_639
"""The default of `max.decompressed.message.bytes`: the largest array of Java. It limits no real record."""

CONFIG_NAMES: Final = (
    TIMESTAMP_TYPE,
    BEFORE,
    AFTER,
    DIFFERENCE,
    MAX_MESSAGE_BYTES,
    CLEANUP_POLICY,
    COMPRESSION_TYPE,
    MAX_DECOMPRESSED_MESSAGE_BYTES,
)
"""The settings that matter for limits. A broker leaves out those that it does not know."""

_TIMESTAMP_TYPES: Final = {kind.config_value: kind for kind in TimestampType}

_CODECS: Final = {
    "producer": None,
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}


def topic_limits(described: Mapping[str, str | None]) -> TopicLimits:
    """The limits that result from `described` (configuration name -> value).

    Raises ValueError if Kafka's documentation does not allow a value.
    """
    defaults = TopicLimits()
    timestamp_type = described.get(TIMESTAMP_TYPE) or "CreateTime"
    if timestamp_type not in _TIMESTAMP_TYPES:
        raise ValueError(f"{TIMESTAMP_TYPE} is {timestamp_type!r}")
    compression_type = described.get(COMPRESSION_TYPE) or "producer"
    if compression_type not in _CODECS:
        raise ValueError(f"{COMPRESSION_TYPE} is {compression_type!r}")
    largest = described.get(MAX_DECOMPRESSED_MESSAGE_BYTES)
    difference = _bound(described, DIFFERENCE)
    before, after = _bound(described, BEFORE), _bound(described, AFTER)
    return TopicLimits(
        timestamp_type=_TIMESTAMP_TYPES[timestamp_type],
        before_max_ms=difference if before is None else before,
        after_max_ms=difference if after is None else after,
        max_message_bytes=int(described.get(MAX_MESSAGE_BYTES) or defaults.max_message_bytes),
        is_compacted="compact" in (described.get(CLEANUP_POLICY) or "").replace(" ", "").split(","),
        codec=_CODECS[compression_type],
        max_decompressed_message_bytes=None if largest is None else int(largest),
    )


def as_kafka_4(described: Mapping[str, str | None], defaults: Collection[str]) -> dict[str, str | None]:
    """The same topic as a 4.x broker would describe it. Values that were set on the topic or its broker stay.
    Values that nobody set (`defaults`) become those of KIP-1030, and `difference` is removed
    (KAFKA-17997)."""
    gone = {DIFFERENCE, *({BEFORE, AFTER} & set(defaults))}
    kept = {name: value for name, value in described.items() if name not in gone}
    return {BEFORE: str(LONG_MAX), AFTER: str(HOUR_MS), **kept}


def _bound(described: Mapping[str, str | None], name: str) -> int | None:
    """Milliseconds; None if the broker does not know the setting, or if it is Long.MAX, "unlimited"."""
    value = described.get(name)
    bound = LONG_MAX if value is None else int(value)
    return None if bound == LONG_MAX else bound
