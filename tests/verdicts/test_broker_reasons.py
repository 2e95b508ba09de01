"""A broker's code and the batch it is about tell the kind of a rejection, as KIP-467 counts kinds."""

import pytest

from tests.verdicts.rows import cut_short, legacy, v2
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.records import RecordBatch
from tsproxy.model.verdict import Reason, RecordError, TopicLimits
from tsproxy.policy.broker_reasons import Header, reason_of_answer
from tsproxy.wire import record_set

COMPACTED, PLAIN = TopicLimits(is_compacted=True), TopicLimits()
KEYLESS = RecordError(0, "Compacted topic cannot accept message without key in topic partition t-0")
MAGIC = RecordError(0, "Record DefaultRecord(…)'s magic does not match outer magic 2")
UNTOLD = RecordError(0, None)
INVALID = ErrorCode.INVALID_RECORD


def batch(records: bytes) -> RecordBatch:
    return record_set.scan(memoryview(records), 1).batches[0]


GOOD = batch(v2(0)(0))
MISPLACED = batch(v2(0, base_offset=1)(0))
BEFORE_ZERO = batch(v2(0, base_offset=-1)(0))
MISCOUNTED = batch(v2(0, last_offset_delta=9)(0))
OLD = batch(legacy(1, 0)(0))
SHORT = batch(cut_short(0, 40)(0))

ROWS = {
    "a checksum": (ErrorCode.CORRUPT_MESSAGE, (), GOOD, None, 11, Reason.INVALID_CRC),
    "no batch to be found": (ErrorCode.CORRUPT_MESSAGE, (), None, None, 11, Reason.INVALID_MAGIC),
    "too many bytes": (ErrorCode.MESSAGE_TOO_LARGE, (), GOOD, None, 11, Reason.BAD_RECORD),
    "not about records": (ErrorCode.NOT_LEADER_OR_FOLLOWER, (), MISPLACED, COMPACTED, 7, Reason.OTHER),
    "a told key": (INVALID, (KEYLESS,), GOOD, None, 11, Reason.NO_KEY),
    "a told magic": (INVALID, (MAGIC,), OLD, None, 2, Reason.INVALID_MAGIC),
    "told by the second record": (INVALID, (UNTOLD, KEYLESS), GOOD, None, 11, Reason.NO_KEY),
    "told of another": (INVALID, (RecordError(0, "A key"),), GOOD, None, 11, Reason.BAD_RECORD),
    "no batch": (INVALID, (), None, None, 11, Reason.BAD_RECORD),
    "a magic that v3 forbids": (INVALID, (), OLD, None, 3, Reason.INVALID_MAGIC),
    "a magic that v2 allows": (INVALID, (), OLD, None, 2, Reason.BAD_RECORD),
    "a base offset": (INVALID, (), MISPLACED, None, 11, Reason.INVALID_OFFSET_OR_SEQUENCE),
    "a base offset below 0": (INVALID, (), BEFORE_ZERO, None, 11, Reason.INVALID_OFFSET_OR_SEQUENCE),
    "a count": (INVALID, (), MISCOUNTED, None, 11, Reason.INVALID_OFFSET_OR_SEQUENCE),
    "a header cut short": (INVALID, (), SHORT, None, 11, Reason.INVALID_OFFSET_OR_SEQUENCE),
    "untold, compacted": (INVALID, (), GOOD, COMPACTED, 7, Reason.NO_KEY),
    "compacted, and v8 would have told": (INVALID, (), GOOD, COMPACTED, 8, Reason.BAD_RECORD),
    "untold, not compacted": (INVALID, (), GOOD, PLAIN, 7, Reason.BAD_RECORD),
    "untold, limits not known": (INVALID, (), GOOD, None, 7, Reason.BAD_RECORD),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_kind_of_a_brokers_rejection(name: str):
    error_code, record_errors, first, limits, api_version, reason = ROWS[name]
    assert reason_of_answer(error_code, record_errors, Header.of(first), limits, api_version) is reason
