"""Cases beyond LogValidator's 53: bits, edges of Long, exact bounds, whole requests.

`intended.py` has the reasons where a broker differs. Rows exactly on a bound are judged by a clock of their
own. `test_boundaries` tests the same bounds at a broker's clock.
"""

import gzip
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from rigs.differential.batches import Batch, Record, write_batch
from rigs.differential.message_sets import Message, wrapper, write_messages
from tests.verdicts.rows import (
    ACCEPTED,
    APPEND_TIME,
    COMPACTED,
    DAY,
    HOUR,
    MINUTE,
    Expected,
    Row,
    Wire,
    cut_short,
    invalid_record,
    invalid_timestamp,
    legacy,
    limits,
    v2,
    v2_at,
)
from tsproxy.model.kafka import LONG_MAX, LONG_MIN, NO_TIMESTAMP, Codec, ErrorCode, wrap64

BOTH: Final = limits(DAY, HOUR)
NOTHING: Final = limits(0)
UNLIMITED: Final = limits(LONG_MAX)
ONLY_AFTER: Final = limits(LONG_MAX, HOUR)
DIFFERENCE: Final = {"message.timestamp.difference.max.ms": str(HOUR)}
ONLY_BEFORE: Final = limits(DAY, LONG_MAX)

BIT_3, BIT_4, BIT_6 = 0x08, 0x10, 0x40
UNAUTHORIZED: Final = Expected(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
OUT_OF_RANGE: Final = HOUR + MINUTE
TOO_LONG: Final = b"\x80" * 5 + bytes(20)


def row(
    name: str, records: Callable[[int], bytes], expected: Expected, config: Mapping[str, str] = BOTH, **more
) -> Row:
    return Row(name, records, expected, config, **more)


old: Final = partial(row, wire=Wire.LEGACY)
"""A row of messages of magic 0 and 1, or of Produce below version 3."""
exact: Final = partial(row, is_exact=True)


def _at(difference_from_min: int) -> Callable[[int], bytes]:
    """One record at Long.MIN + now + `difference_from_min`."""
    return lambda now_ms: v2_at(LONG_MIN + now_ms + difference_from_min)(now_ms)


def _past_end_of_long(now_ms: int) -> bytes:
    """base + delta runs over Long.MAX and comes out far before the clock."""
    return write_batch(
        Batch((Record(wrap64(LONG_MAX + 10)),), base_timestamp=LONG_MAX, max_timestamp=LONG_MAX)
    )


def _keys_and_times(now_ms: int) -> bytes:
    return write_batch(
        Batch(
            (
                Record(now_ms, key=None),
                Record(now_ms + OUT_OF_RANGE, key=None),
                Record(now_ms + OUT_OF_RANGE),
                Record(now_ms),
            )
        )
    )


def _deltas(now_ms: int) -> bytes:
    bad = now_ms + OUT_OF_RANGE
    return write_batch(Batch((Record(bad, offset_delta=3), Record(bad, offset_delta=9))))


def _stamped_message(now_ms: int) -> bytes:
    return write_messages([Message(1, now_ms, attributes=BIT_3)])


def _two_batches(now_ms: int) -> bytes:
    return v2(0)(now_ms) + v2(OUT_OF_RANGE)(now_ms)


def _codec_inside(codec: int) -> Callable[[int], bytes]:
    """A message in a wrapper that claims to be compressed itself."""

    def write(now_ms: int) -> bytes:
        return write_messages([wrapper((Message(1, now_ms, attributes=codec),), Codec.GZIP, magic=1)])

    return write


def _negative_then_bad(now_ms: int) -> bytes:
    return write_messages([Message(1, -2), Message(1, now_ms + OUT_OF_RANGE, offset=1)])


def _old_stamped_message(now_ms: int) -> bytes:
    return write_messages([Message(0, attributes=BIT_3)])


def _wrapped_before(tail: bytes) -> Callable[[int], bytes]:
    """A message in a wrapper, and `tail` behind it, compressed with it."""

    def write(now_ms: int) -> bytes:
        messages = (Message(1, now_ms),)
        return write_messages(
            [wrapper(messages, Codec.GZIP, dialect=lambda plain: gzip.compress(plain + tail))]
        )

    return write


def _two_magics(now_ms: int) -> bytes:
    return write_messages([Message(1, now_ms), Message(0, offset=1)]) + v2(OUT_OF_RANGE)(now_ms)


EXACT_BYTES: Final = str(len(v2(OUT_OF_RANGE)(0)))

STAMPED: Final = invalid_timestamp(0)
NEGATIVE: Final = Expected(ErrorCode.UNKNOWN_SERVER_ERROR, text="Invalid negative timestamp -2")

BOUNDS: Final = (
    ("the last millisecond that is early enough", -DAY, ACCEPTED),
    ("one millisecond too old", -DAY - 1, invalid_timestamp(0)),
    ("the last millisecond that is late enough", HOUR, ACCEPTED),
    ("one millisecond too far ahead", HOUR + 1, invalid_timestamp(0)),
)

EXACT: Final = (
    *(exact(name, v2(offset), expected) for name, offset, expected in BOUNDS),
    exact("limits of 0 take this very millisecond", v2(0), ACCEPTED, NOTHING),
    exact("limits of 0 take none before it", v2(-1), invalid_timestamp(0), NOTHING),
    exact("limits of 0 take none after it", v2(1), invalid_timestamp(0), NOTHING),
    exact("Long.MIN + now, which a broker's overflow lets through", _at(0), invalid_timestamp(0)),
    exact("Long.MIN + now where the past is unlimited", _at(0), ACCEPTED, ONLY_AFTER),
    exact("one below it wraps into the future", _at(-1), invalid_timestamp(0), ONLY_AFTER),
    exact("one below it where the future is unlimited", _at(-1), ACCEPTED, ONLY_BEFORE),
    exact("one above it is simply old", _at(1), invalid_timestamp(0), ONLY_BEFORE),
    exact("one above it where the past is unlimited", _at(1), ACCEPTED, ONLY_AFTER),
    exact("a limit of Long.MAX - 1 is a limit", _at(1), invalid_timestamp(0), limits(LONG_MAX - 1)),
    exact("a limit of Long.MAX - 1 takes the next", _at(2), ACCEPTED, limits(LONG_MAX - 1)),
)

ON_BROKERS: Final = (
    row("-1 is no time", v2_at(NO_TIMESTAMP), ACCEPTED, NOTHING),
    row(
        "-1 beside a bad one is no culprit", v2_at(NO_TIMESTAMP, LONG_MAX, NO_TIMESTAMP), invalid_timestamp(1)
    ),
    row("other negatives are times before 1970", v2_at(-2, -1000), ACCEPTED, ONLY_AFTER),
    row("other negatives are too old", v2_at(-2, NO_TIMESTAMP, -1000), invalid_timestamp(0, 2)),
    row("zero is a time in 1970", v2_at(0), invalid_timestamp(0)),
    row("Long.MAX", v2_at(LONG_MAX), invalid_timestamp(0), ONLY_AFTER),
    row("Long.MAX where the future is unlimited", v2_at(LONG_MAX), ACCEPTED, ONLY_BEFORE),
    row("Long.MIN", v2_at(LONG_MIN), invalid_timestamp(0), ONLY_AFTER),
    row("Long.MIN where nothing is limited", v2_at(LONG_MIN), ACCEPTED, UNLIMITED),
    row("a limit of Long.MAX makes the text's bound wrap", v2_at(0), invalid_timestamp(0), ONLY_BEFORE),
    row("base + delta wraps at 64 bits", _past_end_of_long, invalid_timestamp(0)),
    row("limits do not count where the broker stamps", v2_at(LONG_MAX, -5), ACCEPTED, APPEND_TIME | NOTHING),
    row("the text counts offsets by the deltas on the wire", _deltas, invalid_timestamp(0, 1)),
    row(
        "keys and times at fault in one batch", _keys_and_times, invalid_timestamp(0, 1, 2), BOTH | COMPACTED
    ),
    row(
        "structure is told before times",
        v2(OUT_OF_RANGE, last_offset_delta=5),
        invalid_record("Inconsistent batch offset range"),
    ),
    row(
        "the checksum is told before times",
        v2(OUT_OF_RANGE, crc_off=1),
        Expected(ErrorCode.CORRUPT_MESSAGE, text="Record is corrupt"),
    ),
    row(
        "size is told before the checksum",
        v2(OUT_OF_RANGE, crc_off=1),
        Expected(ErrorCode.MESSAGE_TOO_LARGE, text="The record batch size"),
        BOTH | {"max.message.bytes": "50"},
    ),
    row(
        "base offset is told before size",
        v2(OUT_OF_RANGE, base_offset=7),
        invalid_record("The baseOffset of the record batch"),
        BOTH | {"max.message.bytes": "50"},
    ),
    row("bit 3 on a CreateTime topic", v2(0, 0, attributes=BIT_3), invalid_timestamp(0, 1), broker=ACCEPTED),
    row(
        "bit 3 hides no time",
        v2(OUT_OF_RANGE, 0, attributes=BIT_3, max_timestamp=NO_TIMESTAMP),
        invalid_timestamp(0, 1),
    ),
    row(
        "bit 3 where nothing is limited",
        v2(0, attributes=BIT_3),
        invalid_timestamp(0),
        UNLIMITED,
        broker=ACCEPTED,
    ),
    row("bit 3 on a LogAppendTime topic", v2(0, attributes=BIT_3), invalid_timestamp(0), APPEND_TIME),
    old("bit 3 of a message of magic 1", _stamped_message, STAMPED, broker=ACCEPTED),
    row("bit 6", v2(0, attributes=BIT_6), invalid_record("Producers must not set"), broker=ACCEPTED),
    row(
        "bit 6 where nothing is limited",
        v2(0, attributes=BIT_6),
        invalid_record(""),
        UNLIMITED,
        broker=ACCEPTED,
    ),
    *(row(f"bit {bit}", v2(0, attributes=1 << bit), ACCEPTED) for bit in range(7, 15)),
    row("bit 15", v2(0, attributes=-1 << 15), ACCEPTED),
    row("a wrong maxTimestamp is no fault", v2(0, max_timestamp=LONG_MAX), ACCEPTED),
    row("control records", v2(OUT_OF_RANGE, attributes=32), invalid_record("Clients are not allowed")),
    row("transactional without an id", v2(OUT_OF_RANGE, attributes=BIT_4), UNAUTHORIZED),
    row(
        "zstd before v7",
        v2(OUT_OF_RANGE, codec=Codec.ZSTD),
        Expected(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, text="Produce requests with version 6 are not allowed"
        ),
        version=6,
    ),
    row("zstd from v7 on", v2(OUT_OF_RANGE, codec=Codec.ZSTD), invalid_timestamp(0), version=7),
    row(
        "a codec that nobody knows",
        v2(OUT_OF_RANGE, codec=5, dialect=bytes),
        Expected(ErrorCode.UNKNOWN_SERVER_ERROR, text="Unknown compression type id"),
    ),
    row(
        "data that does not decompress",
        v2(0, codec=Codec.GZIP, dialect=lambda data: b"no gzip" + data),
        Expected(ErrorCode.UNKNOWN_SERVER_ERROR, text="Failed to decompress"),
    ),
    row(
        "no records at all", lambda now_ms: b"", invalid_record("Produce requests with version 11 must have")
    ),
    row("a tail of 11 bytes", v2(OUT_OF_RANGE, tail=b"x" * 11), invalid_timestamp(0)),
    row(
        "a tail of 12 bytes that is no batch",
        v2(OUT_OF_RANGE, tail=bytes(12)),
        Expected(
            ErrorCode.CORRUPT_MESSAGE, text="Record size 0 is less than the minimum record overhead (14)"
        ),
    ),
    row(
        "messages of magic 1 from v3 on",
        legacy(1, OUT_OF_RANGE),
        invalid_record(
            "Produce requests with version 11 are only allowed to contain record batches with magic"
        ),
    ),
    old("in v2, a batch of magic 2", v2(OUT_OF_RANGE, 0), invalid_timestamp(0), version=2),
    row(
        "two batches in v3",
        _two_batches,
        invalid_record("Produce requests with version 3 are only allowed to contain exactly one"),
        version=3,
    ),
    old(
        "two batches of magic 2 in v2",
        _two_batches,
        invalid_record("Compressed outer record has more than one batch"),
        version=2,
    ),
    row(
        "two batches, and behind them what is none",
        lambda now_ms: _two_batches(now_ms) + bytes(12),
        invalid_record("Produce requests with version 11 are only allowed to contain exactly one"),
    ),
    row(
        "a batch cut before its producer_id ends",
        cut_short(OUT_OF_RANGE, 50),
        Expected(ErrorCode.UNKNOWN_SERVER_ERROR, text="Record batch is shorter than its header"),
    ),
    row(
        "a batch cut behind its producer_id",
        cut_short(OUT_OF_RANGE, 51),
        Expected(ErrorCode.CORRUPT_MESSAGE, text="Record is corrupt"),
    ),
    row(
        "a record's length of more than 5 bytes",
        v2(OUT_OF_RANGE, payload=TOO_LONG),
        Expected(ErrorCode.UNKNOWN_SERVER_ERROR, text="Varint is too long"),
    ),
    row(
        "a record's length of more than 5 bytes, compressed",
        v2(OUT_OF_RANGE, payload=TOO_LONG, codec=Codec.GZIP),
        invalid_record("Incorrect declared batch size, premature EOF reached"),
    ),
    old(
        "a wrapped message with a codec that nobody knows",
        _codec_inside(5),
        Expected(ErrorCode.UNKNOWN_SERVER_ERROR, text="Unknown compression type id"),
    ),
    old(
        "a wrapped message with a codec",
        _codec_inside(Codec.GZIP),
        invalid_record("Inner messages must not be compressed"),
    ),
    row(
        "an offset range of nothing",
        v2(OUT_OF_RANGE, last_offset_delta=-1),
        invalid_record("Batch has an invalid offset range: [0, -1]"),
    ),
    row(
        "as large as is allowed",
        v2(OUT_OF_RANGE),
        invalid_timestamp(0),
        BOTH | {"max.message.bytes": EXACT_BYTES},
    ),
    *(
        old(name, _negative_then_bad, expected, ONLY_AFTER | config)
        for name, expected, config in (
            ("a negative time in a bare message, before a bad one", NEGATIVE, {}),
            (
                "the same where the topic compresses: all are judged before any is written",
                invalid_timestamp(0),
                {"compression.type": "gzip"},
            ),
            ("the same where the topic does not compress", NEGATIVE, {"compression.type": "uncompressed"}),
        )
    ),
    old(
        "messages of several magics: the first that is not the first one's",
        _two_magics,
        invalid_record("Batch magic 0 is not the same as the first batch's magic byte 1"),
    ),
    old("bit 3 of a message of magic 0 means nothing", _old_stamped_message, ACCEPTED),
    old("wrapped, a tail of 11 bytes", _wrapped_before(bytes(11)), ACCEPTED),
    old(
        "wrapped, a tail of 12 bytes that is no message",
        _wrapped_before(bytes(12)),
        Expected(ErrorCode.CORRUPT_MESSAGE, text="Record size is less than the minimum record overhead (14)"),
    ),
    old(
        "a wrapper that stands before its last message",
        lambda now_ms: write_messages(
            [wrapper((Message(1, now_ms), Message(1, now_ms, offset=2)), Codec.GZIP, offset=1)]
        ),
        invalid_record("Found invalid wrapper offset in compressed v1 message set"),
    ),
    old("KIP-32's one limit", legacy(1, -2 * HOUR), invalid_timestamp(0), DIFFERENCE),
)

BEYOND: Final = EXACT + ON_BROKERS
