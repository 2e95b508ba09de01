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
NO_KEY: Final = "One or more records have been rejected due to 3 record errors in total"


LEGACY = Wire.LEGACY

CASES: Final[tuple[Row, ...]] = (
    Row(
        "testValidationOfBatchesWithNonSequentialInnerOffsets",
        zero_offsets,
        invalid_record("Inconsistent batch offset range [0, 0] and count of records 20"),
        A_SECOND,
        variant="magic 2",
    ),
    *(
        Row(
            "testValidationOfBatchesWithNonSequentialInnerOffsets",
            legacy_zero_offsets(magic),
            ACCEPTED,
            A_SECOND,
            variant=f"magic {magic}",
            wire=LEGACY,
        )
        for magic in (0, 1)
    ),
    *(
        Row(
            "checkOnlyOneBatch",
            twice(legacy(magic, 10, codec=codec), legacy(magic, 11, 12, codec=codec)),
            invalid_record("Compressed outer record has more than one batch"),
            A_SECOND | compressed_as(target),
            variant=f"magic {magic}, {Codec(codec).name} to {Codec(target).name}",
            wire=LEGACY,
        )
        for magic in (0, 1)
        for codec in OLD_CODECS
        for target in (Codec.NONE, Codec.GZIP)
    ),
    *(
        Row(
            "checkOnlyOneBatch",
            twice(v2(10, codec=codec), v2(11, 12, codec=codec)),
            ONE_BATCH,
            A_SECOND | compressed_as(Codec.GZIP),
            variant=f"magic 2, {Codec(codec).name}",
        )
        for codec in CODECS
    ),
    *(
        Row(
            "testBatchWithoutRecordsNotAllowed",
            v2(codec=codec, last_offset_delta=5, records_count=0),
            invalid_record("Invalid reported count for record batch: 0"),
            FIVE_SECONDS | compressed_as(target),
            variant=f"{Codec(codec).name} to {Codec(target).name}",
        )
        for codec in CODECS
        for target in CODECS
    ),
    *(
        Row(
            "checkMismatchMagic",
            foreign(outer, inner),
            invalid_record("One or more records have been rejected due to 20 record errors", *range(20)),
            A_SECOND,
            variant=f"wrapper {outer}, inner {inner}",
            wire=LEGACY,
        )
        for outer, inner in ((0, 1), (1, 0))
    ),
    Row("testCreateTimeUpConversionV1ToV2", legacy(1, 0, 0, 0, codec=1), ACCEPTED, A_SECOND, wire=LEGACY),
    Row("checkCreateTimeUpConversionFromV0", legacy(0, 0, 0, 0, codec=1), ACCEPTED, A_SECOND, wire=LEGACY),
    Row("checkRecompression", v2(*AROUND), ACCEPTED, A_SECOND | compressed_as(Codec.GZIP), variant="magic 2"),
    Row(
        "checkRecompression",
        legacy(1, *AROUND),
        ACCEPTED,
        A_SECOND | compressed_as(Codec.GZIP),
        variant="magic 1",
        wire=LEGACY,
    ),
    *(
        Row(
            "checkAllowMultiBatch",
            twice(legacy(magic, 10), legacy(magic, 11, 12)),
            ACCEPTED,
            A_SECOND | compressed_as(target),
            variant=f"magic {magic} to {Codec(target).name}",
            wire=LEGACY,
        )
        for magic in (0, 1)
        for target in (Codec.NONE, Codec.GZIP)
    ),
    Row("checkCompressed", v2(*AROUND, codec=1), ACCEPTED, A_SECOND, variant="magic 2"),
    Row("checkCompressed", legacy(1, *AROUND, codec=1), ACCEPTED, A_SECOND, variant="magic 1", wire=LEGACY),
    Row("testRecordBatchWithCountOverrides", counted(2, 3), ACCEPTED, APPEND_TIME),
    Row(
        "testInconsistentCountAndOffset",
        counted(0, 3),
        invalid_record("Inconsistent batch offset range [0, 0] and count of records 3"),
        APPEND_TIME,
        variant="0, 3",
    ),
    Row(
        "testInconsistentCountAndOffset",
        counted(15, 3),
        invalid_record("Inconsistent batch offset range [0, 15] and count of records 3"),
        APPEND_TIME,
        variant="15, 3",
    ),
    Row(
        "testInconsistentCountAndOffset",
        counted(-3, 3),
        invalid_record("Batch has an invalid offset range: [0, -3]"),
        APPEND_TIME,
        variant="-3, 3",
    ),
    Row(
        "testUnmatchedNumberOfRecords",
        counted(5, 6),
        invalid_record("Incorrect declared batch size, premature EOF reached"),
        APPEND_TIME,
        variant="5, 6",
    ),
    Row(
        "testUnmatchedNumberOfRecords",
        counted(1, 2),
        invalid_record("Incorrect declared batch size, records still remaining in file"),
        APPEND_TIME,
        variant="1, 2",
    ),
    Row(
        "testInvalidCreateTimeNonCompressedV1",
        legacy(1, PAST, PAST, PAST),
        invalid_timestamp(0),
        A_SECOND,
        wire=LEGACY,
    ),
    Row(
        "testInvalidCreateTimeCompressedV1",
        legacy(1, PAST, PAST, PAST, codec=1),
        invalid_timestamp(0, 1, 2),
        A_SECOND,
        wire=LEGACY,
    ),
    Row("testInvalidCreateTimeNonCompressedV2", v2(PAST, PAST, PAST), invalid_timestamp(0, 1, 2), A_SECOND),
    Row(
        "testInvalidCreateTimeCompressedV2",
        v2(PAST, PAST, PAST, codec=1),
        invalid_timestamp(0, 1, 2),
        A_SECOND,
    ),
    *(
        Row(
            "checkInvalidChecksum",
            inner_crc(magic, codec),
            CORRUPT,
            A_SECOND,
            variant=f"magic {magic}, {Codec(codec).name}",
            wire=LEGACY,
        )
        for magic in (0, 1)
        for codec in OLD_CODECS
    ),
    *(
        Row(
            "checkInvalidSequence",
            sequence(codec),
            invalid_record("Invalid sequence number -2 in record batch with producerId 1234"),
            FIVE_SECONDS | compressed_as(target),
            variant=f"{Codec(codec).name} to {Codec(target).name}",
        )
        for codec in CODECS
        for target in CODECS
    ),
    *(
        Row(
            "checkNoKeyCompactedTopic",
            three_keyless(magic, codec),
            invalid_record(NO_KEY, 0, 1, 2),
            A_SECOND | COMPACTED,
            variant=f"magic {magic}, {Codec(codec).name}",
            wire=Wire.ANY if magic == 2 else LEGACY,
        )
        for magic in (0, 1, 2)
        for codec in (OLD_CODECS if magic < 2 else (*OLD_CODECS, Codec.ZSTD))
    ),
    Row("testAbsoluteOffsetAssignmentNonCompressed", legacy(0, 0, 0, 0), ACCEPTED, A_SECOND, wire=LEGACY),
    Row("testAbsoluteOffsetAssignmentCompressed", legacy(0, 0, 0, 0, codec=1), ACCEPTED, wire=LEGACY),
    Row("testRelativeOffsetAssignmentNonCompressedV1", legacy(1, 0, 0, 0), ACCEPTED, wire=LEGACY),
    Row("testRelativeOffsetAssignmentNonCompressedV2", v2(0, 0, 0), ACCEPTED, FIVE_SECONDS),
    Row("testRelativeOffsetAssignmentCompressedV1", legacy(1, 0, 0, 0, codec=1), ACCEPTED, wire=LEGACY),
    Row("testRelativeOffsetAssignmentCompressedV2", v2(0, 0, 0, codec=1), ACCEPTED),
    *(
        Row(
            f"testOffsetAssignmentAfterUpConversion{versions}{kind}",
            legacy(magic, 0, 0, 0, codec=codec),
            ACCEPTED,
            APPEND_TIME,
            wire=LEGACY,
        )
        for versions, magic in (("V0ToV1", 0), ("V0ToV2", 0), ("V1ToV2", 1))
        for kind, codec in (("NonCompressed", 0), ("Compressed", 1))
    ),
    Row(
        "testControlRecordsNotAllowedFromClients",
        marker,
        invalid_record("Clients are not allowed to write control records"),
        FIVE_SECONDS,
    ),
    Row(
        "testNonIncreasingOffsetRecordBatchHasMetricsLogged",
        v2_at(-1, -1, -1, last_offset_delta=3),
        invalid_record("Inconsistent batch offset range [0, 3] and count of records 3"),
        FIVE_SECONDS,
    ),
    Row(
        "testInvalidTimestampExceptionHasBatchIndex",
        v2(PAST, PAST, PAST, codec=1),
        invalid_timestamp(0, 1, 2),
        A_SECOND,
    ),
    Row(
        "testInvalidRecordExceptionHasBatchIndex",
        foreign(0, 1),
        invalid_record("One or more records have been rejected due to 20 record errors", *range(20)),
        A_SECOND,
        wire=LEGACY,
    ),
    Row(
        "testBatchWithInvalidRecordsAndInvalidTimestamp",
        foreign_and_too_old,
        invalid_timestamp(*range(6)),
        A_SECOND,
        wire=LEGACY,
    ),
    Row(
        "testRecordWithPastTimestampIsRejected",
        v2(*[-DAY - 5 * MINUTE] * 3, codec=1),
        invalid_timestamp(0, 1, 2),
        limits(DAY, HOUR),
    ),
    Row(
        "testRecordWithFutureTimestampIsRejected",
        v2(*[HOUR + 5 * MINUTE] * 3, codec=1),
        invalid_timestamp(0, 1, 2),
        limits(DAY, HOUR),
    ),
    Row(
        "testDifferentLevelDoesNotCauseRecompression",
        gzip_level,
        ACCEPTED,
        FIVE_SECONDS | compressed_as(Codec.GZIP),
    ),
    Row(
        "testDifferentCodecCausesRecompression", gzip_level, ACCEPTED, FIVE_SECONDS | compressed_as(Codec.LZ4)
    ),
    Row("checkNonCompressed", v2(*AROUND), ACCEPTED, A_SECOND, variant="magic 2"),
    Row("checkNonCompressed", legacy(1, *AROUND), ACCEPTED, A_SECOND, variant="magic 1", wire=LEGACY),
    Row(
        "checkLogAppendTimeWithoutRecompression",
        v2_at(1234, 1234, codec=1),
        ACCEPTED,
        APPEND_TIME,
        variant="magic 2",
    ),
    Row(
        "checkLogAppendTimeWithoutRecompression",
        legacy(1, 0, codec=1),
        ACCEPTED,
        APPEND_TIME,
        variant="magic 1",
        wire=LEGACY,
    ),
    Row("checkLogAppendTimeWithRecompression", legacy(0, 0, 0, codec=1), ACCEPTED, APPEND_TIME, wire=LEGACY),
    Row("checkLogAppendTimeNonCompressed", v2_at(1234, 1234, 1234), ACCEPTED, APPEND_TIME, variant="magic 2"),
    *(
        Row(
            "checkLogAppendTimeNonCompressed",
            legacy(magic, 0, 0),
            ACCEPTED,
            APPEND_TIME,
            variant=f"magic {magic}",
            wire=LEGACY,
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
