"""Cases beyond LogValidator's 53: bits, edges of Long, exact bounds, whole requests.

`intended.py` has the reasons where a broker differs. Rows exactly on a bound are judged by a clock of their
own. `test_boundaries` tests the same bounds at a broker's clock.
"""

import gzip
from collections.abc import Callable
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
LEGACY = Wire.LEGACY
UNAUTHORIZED: Final = Expected(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
OUT_OF_RANGE: Final = HOUR + MINUTE
TOO_LONG: Final = b"\x80" * 5 + bytes(20)


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

BOUNDS: Final = (
    ("the last millisecond that is early enough", -DAY, ACCEPTED),
    ("one millisecond too old", -DAY - 1, invalid_timestamp(0)),
    ("the last millisecond that is late enough", HOUR, ACCEPTED),
    ("one millisecond too far ahead", HOUR + 1, invalid_timestamp(0)),
)

EXACT: Final = (
    *(Row(name, v2(offset), expected, BOTH, is_exact=True) for name, offset, expected in BOUNDS),
    Row("limits of 0 take this very millisecond", v2(0), ACCEPTED, NOTHING, is_exact=True),
    Row("limits of 0 take none before it", v2(-1), invalid_timestamp(0), NOTHING, is_exact=True),
    Row("limits of 0 take none after it", v2(1), invalid_timestamp(0), NOTHING, is_exact=True),
    Row(
        "Long.MIN + now, which a broker's overflow lets through",
        _at(0),
        invalid_timestamp(0),
        BOTH,
        is_exact=True,
    ),
    Row("Long.MIN + now where the past is unlimited", _at(0), ACCEPTED, ONLY_AFTER, is_exact=True),
    Row("one below it wraps into the future", _at(-1), invalid_timestamp(0), ONLY_AFTER, is_exact=True),
    Row("one below it where the future is unlimited", _at(-1), ACCEPTED, ONLY_BEFORE, is_exact=True),
    Row("one above it is simply old", _at(1), invalid_timestamp(0), ONLY_BEFORE, is_exact=True),
    Row("one above it where the past is unlimited", _at(1), ACCEPTED, ONLY_AFTER, is_exact=True),
    Row(
        "a limit of Long.MAX - 1 is a limit",
        _at(1),
        invalid_timestamp(0),
        limits(LONG_MAX - 1),
        is_exact=True,
    ),
    Row("a limit of Long.MAX - 1 takes the next", _at(2), ACCEPTED, limits(LONG_MAX - 1), is_exact=True),
)

ON_BROKERS: Final = (
    Row("-1 is no time", v2_at(NO_TIMESTAMP), ACCEPTED, NOTHING),
    Row(
        "-1 beside a bad one is no culprit",
        v2_at(NO_TIMESTAMP, LONG_MAX, NO_TIMESTAMP),
        invalid_timestamp(1),
        BOTH,
    ),
    Row("other negatives are times before 1970", v2_at(-2, -1000), ACCEPTED, ONLY_AFTER),
    Row("other negatives are too old", v2_at(-2, NO_TIMESTAMP, -1000), invalid_timestamp(0, 2), BOTH),
    Row("zero is a time in 1970", v2_at(0), invalid_timestamp(0), BOTH),
    Row("Long.MAX", v2_at(LONG_MAX), invalid_timestamp(0), ONLY_AFTER),
    Row("Long.MAX where the future is unlimited", v2_at(LONG_MAX), ACCEPTED, ONLY_BEFORE),
    Row("Long.MIN", v2_at(LONG_MIN), invalid_timestamp(0), ONLY_AFTER),
    Row("Long.MIN where nothing is limited", v2_at(LONG_MIN), ACCEPTED, UNLIMITED),
    Row("a limit of Long.MAX makes the text's bound wrap", v2_at(0), invalid_timestamp(0), ONLY_BEFORE),
    Row("base + delta wraps at 64 bits", _past_end_of_long, invalid_timestamp(0), BOTH),
    Row("limits do not count where the broker stamps", v2_at(LONG_MAX, -5), ACCEPTED, APPEND_TIME | NOTHING),
    Row("the text counts offsets by the deltas on the wire", _deltas, invalid_timestamp(0, 1), BOTH),
    Row(
        "keys and times at fault in one batch", _keys_and_times, invalid_timestamp(0, 1, 2), BOTH | COMPACTED
    ),
    Row(
        "structure is told before times",
        v2(OUT_OF_RANGE, last_offset_delta=5),
        invalid_record("Inconsistent batch offset range"),
        BOTH,
    ),
    Row(
        "the checksum is told before times",
        v2(OUT_OF_RANGE, crc_off=1),
        Expected(ErrorCode.CORRUPT_MESSAGE, text="Record is corrupt"),
        BOTH,
    ),
    Row(
        "size is told before the checksum",
        v2(OUT_OF_RANGE, crc_off=1),
        Expected(ErrorCode.MESSAGE_TOO_LARGE, text="The record batch size"),
        BOTH | {"max.message.bytes": "50"},
    ),
    Row(
        "base offset is told before size",
        v2(OUT_OF_RANGE, base_offset=7),
        invalid_record("The baseOffset of the record batch"),
        BOTH | {"max.message.bytes": "50"},
    ),
    Row(
        "bit 3 on a CreateTime topic",
        v2(0, 0, attributes=BIT_3),
        invalid_timestamp(0, 1),
        BOTH,
        broker=ACCEPTED,
    ),
    Row(
        "bit 3 hides no time",
        v2(OUT_OF_RANGE, 0, attributes=BIT_3, max_timestamp=NO_TIMESTAMP),
        invalid_timestamp(0, 1),
        BOTH,
    ),
    Row(
        "bit 3 where nothing is limited",
        v2(0, attributes=BIT_3),
        invalid_timestamp(0),
        UNLIMITED,
        broker=ACCEPTED,
    ),
    Row("bit 3 on a LogAppendTime topic", v2(0, attributes=BIT_3), invalid_timestamp(0), APPEND_TIME),
    Row("bit 3 of a message of magic 1", _stamped_message, STAMPED, BOTH, wire=LEGACY, broker=ACCEPTED),
    Row("bit 6", v2(0, attributes=BIT_6), invalid_record("Producers must not set"), BOTH, broker=ACCEPTED),
    Row(
        "bit 6 where nothing is limited",
        v2(0, attributes=BIT_6),
        invalid_record(""),
        UNLIMITED,
        broker=ACCEPTED,
    ),
    *(Row(f"bit {bit}", v2(0, attributes=1 << bit), ACCEPTED, BOTH) for bit in range(7, 15)),
    Row("bit 15", v2(0, attributes=-1 << 15), ACCEPTED, BOTH),
    Row("a wrong maxTimestamp is no fault", v2(0, max_timestamp=LONG_MAX), ACCEPTED, BOTH),
    Row(
        "control records", v2(OUT_OF_RANGE, attributes=0x20), invalid_record("Clients are not allowed"), BOTH
    ),
    Row("transactional without an id", v2(OUT_OF_RANGE, attributes=BIT_4), UNAUTHORIZED, BOTH),
    Row(
        "zstd before v7",
        v2(OUT_OF_RANGE, codec=Codec.ZSTD),
        Expected(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, text="Produce requests with version 6 are not allowed"
        ),
        BOTH,
        version=6,
    ),
    Row("zstd from v7 on", v2(OUT_OF_RANGE, codec=Codec.ZSTD), invalid_timestamp(0), BOTH, version=7),
    Row(
        "a codec that nobody knows",
        v2(OUT_OF_RANGE, codec=5, dialect=bytes),
        Expected(ErrorCode.UNKNOWN_SERVER_ERROR, text="Unknown compression type id"),
        BOTH,
    ),
    Row(
        "data that does not decompress",
        v2(0, codec=Codec.GZIP, dialect=lambda data: b"no gzip" + data),
        Expected(ErrorCode.UNKNOWN_SERVER_ERROR, text="Failed to decompress"),
        BOTH,
    ),
    Row(
        "no records at all",
        lambda now_ms: b"",
        invalid_record("Produce requests with version 11 must have"),
        BOTH,
    ),
    Row("a tail of 11 bytes", v2(OUT_OF_RANGE, tail=b"x" * 11), invalid_timestamp(0), BOTH),
    Row(
        "a tail of 12 bytes that is no batch",
        v2(OUT_OF_RANGE, tail=bytes(12)),
        Expected(
            ErrorCode.CORRUPT_MESSAGE, text="Record size 0 is less than the minimum record overhead (14)"
        ),
        BOTH,
    ),
    Row(
        "messages of magic 1 from v3 on",
        legacy(1, OUT_OF_RANGE),
        invalid_record(
            "Produce requests with version 11 are only allowed to contain record batches with magic"
        ),
        BOTH,
    ),
    Row("in v2, a batch of magic 2", v2(OUT_OF_RANGE, 0), invalid_timestamp(0), BOTH, version=2, wire=LEGACY),
    Row(
        "two batches in v3",
        _two_batches,
        invalid_record("Produce requests with version 3 are only allowed to contain exactly one"),
        BOTH,
        version=3,
    ),
    Row(
        "two batches of magic 2 in v2",
        _two_batches,
        invalid_record("Compressed outer record has more than one batch"),
        BOTH,
        version=2,
        wire=LEGACY,
    ),
    Row(
        "two batches, and behind them what is none",
        lambda now_ms: _two_batches(now_ms) + bytes(12),
        invalid_record("Produce requests with version 11 are only allowed to contain exactly one"),
        BOTH,
    ),
    Row(
        "a batch cut before its producer_id ends",
        cut_short(OUT_OF_RANGE, 50),
        Expected(ErrorCode.UNKNOWN_SERVER_ERROR, text="Record batch is shorter than its header"),
        BOTH,
    ),
    Row(
        "a batch cut behind its producer_id",
        cut_short(OUT_OF_RANGE, 51),
        Expected(ErrorCode.CORRUPT_MESSAGE, text="Record is corrupt"),
        BOTH,
    ),
    Row(
        "a record's length of more than 5 bytes",
        v2(OUT_OF_RANGE, payload=TOO_LONG),
        Expected(ErrorCode.UNKNOWN_SERVER_ERROR, text="Varint is too long"),
        BOTH,
    ),
    Row(
        "a record's length of more than 5 bytes, compressed",
        v2(OUT_OF_RANGE, payload=TOO_LONG, codec=Codec.GZIP),
        invalid_record("Incorrect declared batch size, premature EOF reached"),
        BOTH,
    ),
    Row(
        "a wrapped message with a codec that nobody knows",
        _codec_inside(5),
        Expected(ErrorCode.UNKNOWN_SERVER_ERROR, text="Unknown compression type id"),
        BOTH,
        wire=LEGACY,
    ),
    Row(
        "a wrapped message with a codec",
        _codec_inside(Codec.GZIP),
        invalid_record("Inner messages must not be compressed"),
        BOTH,
        wire=LEGACY,
    ),
    Row(
        "an offset range of nothing",
        v2(OUT_OF_RANGE, last_offset_delta=-1),
        invalid_record("Batch has an invalid offset range: [0, -1]"),
        BOTH,
    ),
    Row(
        "as large as is allowed",
        v2(OUT_OF_RANGE),
        invalid_timestamp(0),
        BOTH | {"max.message.bytes": EXACT_BYTES},
    ),
    Row(
        "a negative time in a bare message, before a bad one",
        _negative_then_bad,
        Expected(ErrorCode.UNKNOWN_SERVER_ERROR, text="Invalid negative timestamp -2"),
        ONLY_AFTER,
        wire=LEGACY,
    ),
    Row(
        "the same where the topic compresses: all are judged before any is written",
        _negative_then_bad,
        invalid_timestamp(0),
        ONLY_AFTER | {"compression.type": "gzip"},
        wire=LEGACY,
    ),
    Row(
        "the same where the topic does not compress",
        _negative_then_bad,
        Expected(ErrorCode.UNKNOWN_SERVER_ERROR, text="Invalid negative timestamp -2"),
        ONLY_AFTER | {"compression.type": "uncompressed"},
        wire=LEGACY,
    ),
    Row(
        "messages of several magics: the first that is not the first one's",
        _two_magics,
        invalid_record("Batch magic 0 is not the same as the first batch's magic byte 1"),
        BOTH,
        wire=LEGACY,
    ),
    Row("bit 3 of a message of magic 0 means nothing", _old_stamped_message, ACCEPTED, BOTH, wire=LEGACY),
    Row("wrapped, a tail of 11 bytes", _wrapped_before(bytes(11)), ACCEPTED, BOTH, wire=LEGACY),
    Row(
        "wrapped, a tail of 12 bytes that is no message",
        _wrapped_before(bytes(12)),
        Expected(ErrorCode.CORRUPT_MESSAGE, text="Record size is less than the minimum record overhead (14)"),
        BOTH,
        wire=LEGACY,
    ),
    Row(
        "a wrapper that stands before its last message",
        lambda now_ms: write_messages(
            [wrapper((Message(1, now_ms), Message(1, now_ms, offset=2)), Codec.GZIP, offset=1)]
        ),
        invalid_record("Found invalid wrapper offset in compressed v1 message set"),
        BOTH,
        wire=LEGACY,
    ),
    Row("KIP-32's one limit", legacy(1, -2 * HOUR), invalid_timestamp(0), DIFFERENCE, wire=LEGACY),
)

BEYOND: Final = EXACT + ON_BROKERS
