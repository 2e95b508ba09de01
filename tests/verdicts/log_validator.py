"""The 53 cases of Kafka's `LogValidatorTest.java`, by their names there, as far as producers can replay them.

The differential test compares to the byte what the originals assert about the log (offsets assigned, bytes
kept or written anew). These tests compare the verdict. If an original patches a header, the checksum is right
again: on the wire a wrong one would be told first. If one carries a producer id or the transactional bit for
another reason, it is left out: the producer's state would be told.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from tests.verdicts.log_validator_batches import (
    counted,
    foreign,
    foreign_and_too_old,
    gzip_level,
    inner_crc,
    legacy_zero_offsets,
    marker,
    sequence,
    three_keyless,
    twice,
    zero_offsets,
)
from tests.verdicts.rows import (
    A_SECOND,
    ACCEPTED,
    APPEND_TIME,
    CODECS,
    COMPACTED,
    DAY,
    FIVE_SECONDS,
    HOUR,
    MINUTE,
    TICK,
    Expected,
    Row,
    Wire,
    compressed_as,
    invalid_record,
    invalid_timestamp,
    legacy,
    limits,
    v2,
    v2_at,
)
from tsproxy.model.kafka import Codec, ErrorCode

PAST: Final = -1001 * TICK
AROUND: Final = (-TICK, TICK, 0)
OLD_CODECS: Final = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4)
CORRUPT: Final = replace(ACCEPTED, code=ErrorCode.CORRUPT_MESSAGE, text="Record is corrupt")
ONE_BATCH: Final = invalid_record("Produce requests with version 11 are only allowed to contain exactly one")
INCONSISTENT, UNMATCHED = "testInconsistentCountAndOffset", "testUnmatchedNumberOfRecords"
NO_KEY: Final = "One or more records have been rejected due to 3 record errors in total"


def case(
    original: str,
    records: Callable[[int], bytes],
    expected: Expected = ACCEPTED,
    config: Mapping[str, str] = A_SECOND,
    variant: str = "",
    wire: Wire = Wire.ANY,
) -> Row:
    return Row(original, records, expected, config, variant, wire)


old: Final = partial(case, wire=Wire.LEGACY)
"""A case in messages of magic 0 and 1."""

CASES: Final[tuple[Row, ...]] = (
    case(
        "testValidationOfBatchesWithNonSequentialInnerOffsets",
        zero_offsets,
        invalid_record("Inconsistent batch offset range [0, 0] and count of records 20"),
        variant="magic 2",
    ),
    *(
        old(
            "testValidationOfBatchesWithNonSequentialInnerOffsets",
            legacy_zero_offsets(magic),
            variant=f"magic {magic}",
        )
        for magic in (0, 1)
    ),
    *(
        old(
            "checkOnlyOneBatch",
            twice(legacy(magic, 10, codec=codec), legacy(magic, 11, 12, codec=codec)),
            invalid_record("Compressed outer record has more than one batch"),
            config=A_SECOND | compressed_as(target),
            variant=f"magic {magic}, {Codec(codec).name} to {Codec(target).name}",
        )
        for magic in (0, 1)
        for codec in OLD_CODECS
        for target in (Codec.NONE, Codec.GZIP)
    ),
    *(
        case(
            "checkOnlyOneBatch",
            twice(v2(10, codec=codec), v2(11, 12, codec=codec)),
            ONE_BATCH,
            config=A_SECOND | compressed_as(Codec.GZIP),
            variant=f"magic 2, {Codec(codec).name}",
        )
        for codec in CODECS
    ),
    *(
        case(
            "testBatchWithoutRecordsNotAllowed",
            v2(codec=codec, last_offset_delta=5, records_count=0),
            invalid_record("Invalid reported count for record batch: 0"),
            config=FIVE_SECONDS | compressed_as(target),
            variant=f"{Codec(codec).name} to {Codec(target).name}",
        )
        for codec in CODECS
        for target in CODECS
    ),
    *(
        old(
            "checkMismatchMagic",
            foreign(outer, inner),
            invalid_record("One or more records have been rejected due to 20 record errors", *range(20)),
            variant=f"wrapper {outer}, inner {inner}",
        )
        for outer, inner in ((0, 1), (1, 0))
    ),
    old("testCreateTimeUpConversionV1ToV2", legacy(1, 0, 0, 0, codec=1)),
    old("checkCreateTimeUpConversionFromV0", legacy(0, 0, 0, 0, codec=1)),
    case("checkRecompression", v2(*AROUND), config=A_SECOND | compressed_as(Codec.GZIP), variant="magic 2"),
    old(
        "checkRecompression",
        legacy(1, *AROUND),
        config=A_SECOND | compressed_as(Codec.GZIP),
        variant="magic 1",
    ),
    *(
        old(
            "checkAllowMultiBatch",
            twice(legacy(magic, 10), legacy(magic, 11, 12)),
            config=A_SECOND | compressed_as(target),
            variant=f"magic {magic} to {Codec(target).name}",
        )
        for magic in (0, 1)
        for target in (Codec.NONE, Codec.GZIP)
    ),
    case("checkCompressed", v2(*AROUND, codec=1), variant="magic 2"),
    old("checkCompressed", legacy(1, *AROUND, codec=1), variant="magic 1"),
    case("testRecordBatchWithCountOverrides", counted(2, 3), config=APPEND_TIME),
    *(
        case(
            original,
            counted(last_offset_delta, count),
            invalid_record(text),
            config=APPEND_TIME,
            variant=f"{last_offset_delta}, {count}",
        )
        for original, last_offset_delta, count, text in (
            (INCONSISTENT, 0, 3, "Inconsistent batch offset range [0, 0] and count of records 3"),
            (INCONSISTENT, 15, 3, "Inconsistent batch offset range [0, 15] and count of records 3"),
            (INCONSISTENT, -3, 3, "Batch has an invalid offset range: [0, -3]"),
            (UNMATCHED, 5, 6, "Incorrect declared batch size, premature EOF reached"),
            (UNMATCHED, 1, 2, "Incorrect declared batch size, records still remaining in file"),
        )
    ),
    old("testInvalidCreateTimeNonCompressedV1", legacy(1, PAST, PAST, PAST), invalid_timestamp(0)),
    old(
        "testInvalidCreateTimeCompressedV1", legacy(1, PAST, PAST, PAST, codec=1), invalid_timestamp(0, 1, 2)
    ),
    case("testInvalidCreateTimeNonCompressedV2", v2(PAST, PAST, PAST), invalid_timestamp(0, 1, 2)),
    case("testInvalidCreateTimeCompressedV2", v2(PAST, PAST, PAST, codec=1), invalid_timestamp(0, 1, 2)),
    *(
        old(
            "checkInvalidChecksum",
            inner_crc(magic, codec),
            CORRUPT,
            variant=f"magic {magic}, {Codec(codec).name}",
        )
        for magic in (0, 1)
        for codec in OLD_CODECS
    ),
    *(
        case(
            "checkInvalidSequence",
            sequence(codec),
            invalid_record("Invalid sequence number -2 in record batch with producerId 1234"),
            config=FIVE_SECONDS | compressed_as(target),
            variant=f"{Codec(codec).name} to {Codec(target).name}",
        )
        for codec in CODECS
        for target in CODECS
    ),
    *(
        case(
            "checkNoKeyCompactedTopic",
            three_keyless(magic, codec),
            invalid_record(NO_KEY, 0, 1, 2),
            config=A_SECOND | COMPACTED,
            variant=f"magic {magic}, {Codec(codec).name}",
            wire=Wire.ANY if magic == 2 else Wire.LEGACY,
        )
        for magic in (0, 1, 2)
        for codec in (OLD_CODECS if magic < 2 else (*OLD_CODECS, Codec.ZSTD))
    ),
    old("testAbsoluteOffsetAssignmentNonCompressed", legacy(0, 0, 0, 0)),
    old("testAbsoluteOffsetAssignmentCompressed", legacy(0, 0, 0, 0, codec=1), config={}),
    old("testRelativeOffsetAssignmentNonCompressedV1", legacy(1, 0, 0, 0), config={}),
    case("testRelativeOffsetAssignmentNonCompressedV2", v2(0, 0, 0), config=FIVE_SECONDS),
    old("testRelativeOffsetAssignmentCompressedV1", legacy(1, 0, 0, 0, codec=1), config={}),
    case("testRelativeOffsetAssignmentCompressedV2", v2(0, 0, 0, codec=1), config={}),
    *(
        old(
            f"testOffsetAssignmentAfterUpConversion{versions}{kind}",
            legacy(magic, 0, 0, 0, codec=codec),
            config=APPEND_TIME,
        )
        for versions, magic in (("V0ToV1", 0), ("V0ToV2", 0), ("V1ToV2", 1))
        for kind, codec in (("NonCompressed", 0), ("Compressed", 1))
    ),
    case(
        "testControlRecordsNotAllowedFromClients",
        marker,
        invalid_record("Clients are not allowed to write control records"),
        config=FIVE_SECONDS,
    ),
    case(
        "testNonIncreasingOffsetRecordBatchHasMetricsLogged",
        v2_at(-1, -1, -1, last_offset_delta=3),
        invalid_record("Inconsistent batch offset range [0, 3] and count of records 3"),
        config=FIVE_SECONDS,
    ),
    case(
        "testInvalidTimestampExceptionHasBatchIndex",
        v2(PAST, PAST, PAST, codec=1),
        invalid_timestamp(0, 1, 2),
    ),
    old(
        "testInvalidRecordExceptionHasBatchIndex",
        foreign(0, 1),
        invalid_record("One or more records have been rejected due to 20 record errors", *range(20)),
    ),
    old("testBatchWithInvalidRecordsAndInvalidTimestamp", foreign_and_too_old, invalid_timestamp(*range(6))),
    *(
        case(name, v2(*[offset] * 3, codec=1), invalid_timestamp(0, 1, 2), config=limits(DAY, HOUR))
        for name, offset in (
            ("testRecordWithPastTimestampIsRejected", -DAY - 5 * MINUTE),
            ("testRecordWithFutureTimestampIsRejected", HOUR + 5 * MINUTE),
        )
    ),
    case(
        "testDifferentLevelDoesNotCauseRecompression",
        gzip_level,
        config=FIVE_SECONDS | compressed_as(Codec.GZIP),
    ),
    case("testDifferentCodecCausesRecompression", gzip_level, config=FIVE_SECONDS | compressed_as(Codec.LZ4)),
    case("checkNonCompressed", v2(*AROUND), variant="magic 2"),
    old("checkNonCompressed", legacy(1, *AROUND), variant="magic 1"),
    case(
        "checkLogAppendTimeWithoutRecompression",
        v2_at(1234, 1234, codec=1),
        config=APPEND_TIME,
        variant="magic 2",
    ),
    old(
        "checkLogAppendTimeWithoutRecompression", legacy(1, 0, codec=1), config=APPEND_TIME, variant="magic 1"
    ),
    old("checkLogAppendTimeWithRecompression", legacy(0, 0, 0, codec=1), config=APPEND_TIME),
    case("checkLogAppendTimeNonCompressed", v2_at(1234, 1234, 1234), config=APPEND_TIME, variant="magic 2"),
    *(
        old(
            "checkLogAppendTimeNonCompressed",
            legacy(magic, 0, 0),
            config=APPEND_TIME,
            variant=f"magic {magic}",
        )
        for magic in (0, 1)
    ),
)

NOT_REPLAYED: Final = (
    "testOffsetAssignmentAfterDownConversionV1ToV0NonCompressed",
    "testOffsetAssignmentAfterDownConversionV1ToV0Compressed",
    "testOffsetAssignmentAfterDownConversionV2ToV1NonCompressed",
    "testOffsetAssignmentAfterDownConversionV2ToV1Compressed",
    "testOffsetAssignmentAfterDownConversionV2ToV0NonCompressed",
    "testOffsetAssignmentAfterDownConversionV2ToV0Compressed",
    "testControlRecordsNotCompressed",
    "testDownConversionOfTransactionalRecordsNotPermitted",
    "testDownConversionOfIdempotentRecordsNotPermitted",
)
"""They ask for a log of magic 0 or 1, which no broker from 3.0 on writes, or come from a coordinator."""
