"""The 53 cases of Kafka's `LogValidatorTest.java`, by their names there, as far as producers can replay them.

The differential test compares to the byte what the originals assert about the log (offsets assigned, bytes
kept or written anew). These tests compare the verdict. If an original patches a header, the checksum is right
again: on the wire a wrong one would be told first. If one carries a producer id or the transactional bit for
another reason, it is left out: the producer's state would be told.
"""

from dataclasses import replace
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
    ACCEPTED,
    APPEND_TIME,
    CODECS,
    COMPACTED,
    DAY,
    FIVE_SECONDS_EACH_WAY,
    HOUR,
    MINUTE,
    SECOND_EACH_WAY,
    TICK,
    Row,
    Wire,
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
NO_KEY: Final = "One or more records have been rejected due to 3 record errors in total"


def _codec(codec: int) -> dict[str, str]:
    name = Codec(codec).name.lower()
    return {"compression.type": "uncompressed" if codec == Codec.NONE else name}


ANY, LEGACY = Wire.ANY, Wire.LEGACY

CASES: Final[tuple[Row, ...]] = (
    Row(
        "testValidationOfBatchesWithNonSequentialInnerOffsets",
        "magic 2",
        ANY,
        zero_offsets,
        invalid_record("Inconsistent batch offset range [0, 0] and count of records 20"),
        SECOND_EACH_WAY,
    ),
    *(
        Row(
            "testValidationOfBatchesWithNonSequentialInnerOffsets",
            f"magic {magic}",
            LEGACY,
            legacy_zero_offsets(magic),
            ACCEPTED,
            SECOND_EACH_WAY,
        )
        for magic in (0, 1)
    ),
    *(
        Row(
            "checkOnlyOneBatch",
            f"magic {magic}, {Codec(codec).name} to {Codec(target).name}",
            LEGACY,
            twice(legacy(magic, 10, codec=codec), legacy(magic, 11, 12, codec=codec)),
            invalid_record("Compressed outer record has more than one batch"),
            SECOND_EACH_WAY | _codec(target),
        )
        for magic in (0, 1)
        for codec in OLD_CODECS
        for target in (Codec.NONE, Codec.GZIP)
    ),
    *(
        Row(
            "checkOnlyOneBatch",
            f"magic 2, {Codec(codec).name}",
            ANY,
            twice(v2(10, codec=codec), v2(11, 12, codec=codec)),
            ONE_BATCH,
            SECOND_EACH_WAY | _codec(Codec.GZIP),
        )
        for codec in CODECS
    ),
    *(
        Row(
            "testBatchWithoutRecordsNotAllowed",
            f"{Codec(codec).name} to {Codec(target).name}",
            ANY,
            v2(codec=codec, last_offset_delta=5, records_count=0),
            invalid_record("Invalid reported count for record batch: 0"),
            FIVE_SECONDS_EACH_WAY | _codec(target),
        )
        for codec in CODECS
        for target in CODECS
    ),
    *(
        Row(
            "checkMismatchMagic",
            f"wrapper {outer}, inner {inner}",
            LEGACY,
            foreign(outer, inner),
            invalid_record("One or more records have been rejected due to 20 record errors", *range(20)),
            SECOND_EACH_WAY,
        )
        for outer, inner in ((0, 1), (1, 0))
    ),
    Row(
        "testCreateTimeUpConversionV1ToV2", "", LEGACY, legacy(1, 0, 0, 0, codec=1), ACCEPTED, SECOND_EACH_WAY
    ),
    Row(
        "checkCreateTimeUpConversionFromV0",
        "",
        LEGACY,
        legacy(0, 0, 0, 0, codec=1),
        ACCEPTED,
        SECOND_EACH_WAY,
    ),
    Row(
        "checkRecompression",
        "magic 2",
        ANY,
        v2(*AROUND),
        ACCEPTED,
        SECOND_EACH_WAY | _codec(Codec.GZIP),
    ),
    Row(
        "checkRecompression",
        "magic 1",
        LEGACY,
        legacy(1, *AROUND),
        ACCEPTED,
        SECOND_EACH_WAY | _codec(Codec.GZIP),
    ),
    *(
        Row(
            "checkAllowMultiBatch",
            f"magic {magic} to {Codec(target).name}",
            LEGACY,
            twice(legacy(magic, 10), legacy(magic, 11, 12)),
            ACCEPTED,
            SECOND_EACH_WAY | _codec(target),
        )
        for magic in (0, 1)
        for target in (Codec.NONE, Codec.GZIP)
    ),
    Row("checkCompressed", "magic 2", ANY, v2(*AROUND, codec=1), ACCEPTED, SECOND_EACH_WAY),
    Row("checkCompressed", "magic 1", LEGACY, legacy(1, *AROUND, codec=1), ACCEPTED, SECOND_EACH_WAY),
    Row("testRecordBatchWithCountOverrides", "", ANY, counted(2, 3), ACCEPTED, APPEND_TIME),
    Row(
        "testInconsistentCountAndOffset",
        "0, 3",
        ANY,
        counted(0, 3),
        invalid_record("Inconsistent batch offset range [0, 0] and count of records 3"),
        APPEND_TIME,
    ),
    Row(
        "testInconsistentCountAndOffset",
        "15, 3",
        ANY,
        counted(15, 3),
        invalid_record("Inconsistent batch offset range [0, 15] and count of records 3"),
        APPEND_TIME,
    ),
    Row(
        "testInconsistentCountAndOffset",
        "-3, 3",
        ANY,
        counted(-3, 3),
        invalid_record("Batch has an invalid offset range: [0, -3]"),
        APPEND_TIME,
    ),
    Row(
        "testUnmatchedNumberOfRecords",
        "5, 6",
        ANY,
        counted(5, 6),
        invalid_record("Incorrect declared batch size, premature EOF reached"),
        APPEND_TIME,
    ),
    Row(
        "testUnmatchedNumberOfRecords",
        "1, 2",
        ANY,
        counted(1, 2),
        invalid_record("Incorrect declared batch size, records still remaining in file"),
        APPEND_TIME,
    ),
    Row(
        "testInvalidCreateTimeNonCompressedV1",
        "",
        LEGACY,
        legacy(1, PAST, PAST, PAST),
        invalid_timestamp(0),
        SECOND_EACH_WAY,
    ),
    Row(
        "testInvalidCreateTimeCompressedV1",
        "",
        LEGACY,
        legacy(1, PAST, PAST, PAST, codec=1),
        invalid_timestamp(0, 1, 2),
        SECOND_EACH_WAY,
    ),
    Row(
        "testInvalidCreateTimeNonCompressedV2",
        "",
        ANY,
        v2(PAST, PAST, PAST),
        invalid_timestamp(0, 1, 2),
        SECOND_EACH_WAY,
    ),
    Row(
        "testInvalidCreateTimeCompressedV2",
        "",
        ANY,
        v2(PAST, PAST, PAST, codec=1),
        invalid_timestamp(0, 1, 2),
        SECOND_EACH_WAY,
    ),
    *(
        Row(
            "checkInvalidChecksum",
            f"magic {magic}, {Codec(codec).name}",
            LEGACY,
            inner_crc(magic, codec),
            CORRUPT,
            SECOND_EACH_WAY,
        )
        for magic in (0, 1)
        for codec in OLD_CODECS
    ),
    *(
        Row(
            "checkInvalidSequence",
            f"{Codec(codec).name} to {Codec(target).name}",
            ANY,
            sequence(codec),
            invalid_record("Invalid sequence number -2 in record batch with producerId 1234"),
            FIVE_SECONDS_EACH_WAY | _codec(target),
        )
        for codec in CODECS
        for target in CODECS
    ),
    *(
        Row(
            "checkNoKeyCompactedTopic",
            f"magic {magic}, {Codec(codec).name}",
            ANY if magic == 2 else LEGACY,
            three_keyless(magic, codec),
            invalid_record(NO_KEY, 0, 1, 2),
            SECOND_EACH_WAY | COMPACTED,
        )
        for magic in (0, 1, 2)
        for codec in (OLD_CODECS if magic < 2 else (*OLD_CODECS, Codec.ZSTD))
    ),
    Row(
        "testAbsoluteOffsetAssignmentNonCompressed", "", LEGACY, legacy(0, 0, 0, 0), ACCEPTED, SECOND_EACH_WAY
    ),
    Row("testAbsoluteOffsetAssignmentCompressed", "", LEGACY, legacy(0, 0, 0, 0, codec=1), ACCEPTED),
    Row("testRelativeOffsetAssignmentNonCompressedV1", "", LEGACY, legacy(1, 0, 0, 0), ACCEPTED),
    Row("testRelativeOffsetAssignmentNonCompressedV2", "", ANY, v2(0, 0, 0), ACCEPTED, FIVE_SECONDS_EACH_WAY),
    Row("testRelativeOffsetAssignmentCompressedV1", "", LEGACY, legacy(1, 0, 0, 0, codec=1), ACCEPTED),
    Row("testRelativeOffsetAssignmentCompressedV2", "", ANY, v2(0, 0, 0, codec=1), ACCEPTED),
    *(
        Row(
            f"testOffsetAssignmentAfterUpConversion{versions}{kind}",
            "",
            LEGACY,
            legacy(magic, 0, 0, 0, codec=codec),
            ACCEPTED,
            APPEND_TIME,
        )
        for versions, magic in (("V0ToV1", 0), ("V0ToV2", 0), ("V1ToV2", 1))
        for kind, codec in (("NonCompressed", 0), ("Compressed", 1))
    ),
    Row(
        "testControlRecordsNotAllowedFromClients",
        "",
        ANY,
        marker,
        invalid_record("Clients are not allowed to write control records"),
        FIVE_SECONDS_EACH_WAY,
    ),
    Row(
        "testNonIncreasingOffsetRecordBatchHasMetricsLogged",
        "",
        ANY,
        v2_at(-1, -1, -1, last_offset_delta=3),
        invalid_record("Inconsistent batch offset range [0, 3] and count of records 3"),
        FIVE_SECONDS_EACH_WAY,
    ),
    Row(
        "testInvalidTimestampExceptionHasBatchIndex",
        "",
        ANY,
        v2(PAST, PAST, PAST, codec=1),
        invalid_timestamp(0, 1, 2),
        SECOND_EACH_WAY,
    ),
    Row(
        "testInvalidRecordExceptionHasBatchIndex",
        "",
        LEGACY,
        foreign(0, 1),
        invalid_record("One or more records have been rejected due to 20 record errors", *range(20)),
        SECOND_EACH_WAY,
    ),
    Row(
        "testBatchWithInvalidRecordsAndInvalidTimestamp",
        "",
        LEGACY,
        foreign_and_too_old,
        invalid_timestamp(*range(6)),
        SECOND_EACH_WAY,
    ),
    Row(
        "testRecordWithPastTimestampIsRejected",
        "",
        ANY,
        v2(*[-DAY - 5 * MINUTE] * 3, codec=1),
        invalid_timestamp(0, 1, 2),
        limits(DAY, HOUR),
    ),
    Row(
        "testRecordWithFutureTimestampIsRejected",
        "",
        ANY,
        v2(*[HOUR + 5 * MINUTE] * 3, codec=1),
        invalid_timestamp(0, 1, 2),
        limits(DAY, HOUR),
    ),
    Row(
        "testDifferentLevelDoesNotCauseRecompression",
        "",
        ANY,
        gzip_level,
        ACCEPTED,
        FIVE_SECONDS_EACH_WAY | _codec(Codec.GZIP),
    ),
    Row(
        "testDifferentCodecCausesRecompression",
        "",
        ANY,
        gzip_level,
        ACCEPTED,
        FIVE_SECONDS_EACH_WAY | _codec(Codec.LZ4),
    ),
    Row("checkNonCompressed", "magic 2", ANY, v2(*AROUND), ACCEPTED, SECOND_EACH_WAY),
    Row("checkNonCompressed", "magic 1", LEGACY, legacy(1, *AROUND), ACCEPTED, SECOND_EACH_WAY),
    Row(
        "checkLogAppendTimeWithoutRecompression",
        "magic 2",
        ANY,
        v2_at(1234, 1234, codec=1),
        ACCEPTED,
        APPEND_TIME,
    ),
    Row(
        "checkLogAppendTimeWithoutRecompression",
        "magic 1",
        LEGACY,
        legacy(1, 0, codec=1),
        ACCEPTED,
        APPEND_TIME,
    ),
    Row("checkLogAppendTimeWithRecompression", "", LEGACY, legacy(0, 0, 0, codec=1), ACCEPTED, APPEND_TIME),
    Row("checkLogAppendTimeNonCompressed", "magic 2", ANY, v2_at(1234, 1234, 1234), ACCEPTED, APPEND_TIME),
    *(
        Row(
            "checkLogAppendTimeNonCompressed",
            f"magic {magic}",
            LEGACY,
            legacy(magic, 0, 0),
            ACCEPTED,
            APPEND_TIME,
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
