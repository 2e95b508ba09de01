"""The limit of 4.4: `max.decompressed.message.bytes`, for each record of a compressed batch.

The broker meets it as it reads the size of a record. It then rejects the batch as a whole, without a text,
whatever it found in the records before.
"""

from collections.abc import Callable
from typing import Final

from rigs.differential.batches import Batch, Record, write_batch, write_record
from tests.verdicts.rows import (
    APPEND_TIME,
    CODECS,
    COMPACTED,
    DAY,
    HOUR,
    MINUTE,
    Expected,
    Row,
    Wire,
    compressed_as,
    invalid_record,
    invalid_timestamp,
    limits,
    v2,
)
from tests.wire.batches import varint
from tsproxy.model.kafka import Codec, ErrorCode
from tsproxy.wire.records import read_varint

SIZE: Final = 100
OF_A_RECORD: Final = {"max.decompressed.message.bytes": str(SIZE)}
BOTH: Final = limits(DAY, HOUR)
LIMITED: Final = BOTH | OF_A_RECORD
COMPRESSED: Final = tuple(codec for codec in CODECS if codec != Codec.NONE)
BAD_MS: Final = HOUR + MINUTE
TOO_LARGE: Final = invalid_record(
    "Invalid record size: 101 exceeds the configured maximum record size of 100"
)
PRODUCE_VERSIONS: Final = (3, 5, 7, 8, 9, 10, 12)


def sized(offset_ms: int, size: int, key: bytes | None = b"k") -> Callable[[int], Record]:
    """A record that declares `size` bytes."""

    def record(now_ms: int) -> Record:
        candidates = (Record(now_ms + offset_ms, key, bytes(value)) for value in range(size))
        return next(one for one in candidates if read_varint(write_record(one, 0, now_ms), 0)[0] == size)

    return record


def of(*makers: Callable[[int], Record], codec: int = Codec.GZIP, **fields: object) -> Callable[[int], bytes]:
    def write(now_ms: int) -> bytes:
        records = tuple(make(now_ms) for make in makers)
        return write_batch(Batch(records, codec=codec, base_timestamp=now_ms, **fields))

    return write


def lying(declared: int, codec: int = Codec.GZIP) -> Callable[[int], bytes]:
    """One record that is too far ahead and declares this size."""

    def write(now_ms: int) -> bytes:
        record = write_record(Record(now_ms + BAD_MS), 0, now_ms)
        payload = varint(declared) + record[1:]
        return write_batch(
            Batch((Record(now_ms + BAD_MS),), codec=codec, base_timestamp=now_ms, payload=payload)
        )

    return write


GOOD, BAD = sized(0, 40), sized(BAD_MS, 40)
LARGE, LARGE_AND_BAD, AS_LARGE_AS_MAY_BE = sized(0, SIZE + 1), sized(BAD_MS, SIZE + 1), sized(BAD_MS, SIZE)


def row(
    name: str,
    records: Callable[[int], bytes],
    expected: Expected,
    config: dict[str, str] = LIMITED,
    version: int | None = None,
) -> Row:
    return Row("record size", records, expected, config, name, Wire.SINCE_4_4, version)


SIZES: Final = (
    *(
        row(f"{name}, {Codec(codec).name}", of(*records, codec=codec), expected)
        for codec in COMPRESSED
        for name, records, expected in (
            ("good times", (GOOD, LARGE), TOO_LARGE),
            ("a bad time before", (BAD, LARGE), TOO_LARGE),
            ("a bad time behind", (LARGE, BAD), TOO_LARGE),
            ("a bad time of its own", (GOOD, LARGE_AND_BAD, GOOD), TOO_LARGE),
            ("as large as may be", (GOOD, AS_LARGE_AS_MAY_BE, BAD), invalid_timestamp(1, 2)),
        )
    ),
    *(
        row(
            f"{Codec(codec).name} to {Codec(target).name}",
            of(BAD, LARGE, codec=codec),
            invalid_timestamp(0) if codec == Codec.NONE else TOO_LARGE,
            LIMITED | compressed_as(target),
        )
        for codec, target in (
            (Codec.NONE, Codec.NONE),
            (Codec.NONE, Codec.GZIP),
            (Codec.GZIP, Codec.NONE),
            (Codec.GZIP, Codec.GZIP),
            (Codec.LZ4, Codec.ZSTD),
        )
    ),
    row("uncompressed", of(BAD, LARGE, codec=Codec.NONE), invalid_timestamp(0)),
    *(row(f"in v{version}", of(BAD, LARGE), TOO_LARGE, version=version) for version in PRODUCE_VERSIONS),
    row("not limited", of(BAD, LARGE), invalid_timestamp(0), BOTH),
    row("where the broker stamps", of(BAD, LARGE), TOO_LARGE, APPEND_TIME | OF_A_RECORD),
    row("and a key is missing", of(sized(BAD_MS, 40, None), LARGE), TOO_LARGE, LIMITED | COMPACTED),
    row(
        "structure is told before", of(BAD, LARGE, last_offset_delta=5), invalid_record("Inconsistent batch")
    ),
    row(
        "the checksum is told before",
        of(BAD, LARGE, crc_off=1),
        Expected(ErrorCode.CORRUPT_MESSAGE, text="Record is corrupt"),
    ),
    row(
        "two batches are told before",
        lambda now_ms: of(BAD, LARGE)(now_ms) + v2(0)(now_ms),
        invalid_record("Produce requests with version 11 are only allowed to contain exactly one"),
    ),
    row(
        "another record at fault before it",
        of(GOOD, LARGE, records_count=3, last_offset_delta=2),
        TOO_LARGE,
    ),
    row("only declared", lying(SIZE + 1), TOO_LARGE),
    row(
        "above the default",
        lying(2**31 - 1),
        invalid_record("Invalid record size: 2147483647 exceeds the configured maximum"),
        BOTH,
    ),
    *(
        row(
            f"negative, to {Codec(target).name}",
            lying(-5),
            invalid_record("Invalid record size: -5 is negative."),
            BOTH | compressed_as(target),
        )
        for target in (Codec.GZIP, Codec.ZSTD)
    ),
    row("larger than declared", lying(3), invalid_timestamp(0), {**BOTH, **OF_A_RECORD}),
)
