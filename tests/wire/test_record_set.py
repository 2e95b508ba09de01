"""The bounds of batches and the fields of their headers, at each edge.

`test_scan` tests what else may stand in a `records` field, `test_record_batch` and `test_record_batch_faults`
the records inside a batch of magic 2, and `test_message_set` those inside a message.
"""

import struct

import pytest

from rigs.differential.batches import Batch, Record, write_batch
from rigs.differential.message_sets import Message, write_message
from tsproxy.model.kafka import NO_TIMESTAMP, TimestampType
from tsproxy.model.records import Fault, RecordBatch
from tsproxy.wire.record_set import as_batch, batch_at, count_records, read_header, scan

NOW_MS = 1_767_225_600_000

BATCH = write_batch(Batch((Record(NOW_MS),), base_offset=3, producer_id=7, producer_epoch=5, base_sequence=9))
MESSAGE = write_message(Message(1, NOW_MS, offset=4))
OLD_MESSAGE = write_message(Message(0, offset=4))
TIMESTAMP_END = 26
"""The end of the timestamp in a message of magic 1. No message is shorter, but a head may be."""


def only(data: bytes) -> RecordBatch:
    (found,) = scan(memoryview(data), 2).batches
    return found


def changed(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


BROKEN = {
    "too short": changed(MESSAGE, 8, (13).to_bytes(4)),
    "of an unknown magic": changed(BATCH, 16, b"\x03"),
    "cut off": BATCH[:-1],
    "only a beginning": BATCH[:16],
}


@pytest.mark.parametrize("broken", BROKEN)
def test_records_are_counted_up_to_the_first_batch_that_is_none(broken: str):
    """Two messages with one record each, and a batch with one."""
    whole = MESSAGE + OLD_MESSAGE + BATCH
    assert count_records(memoryview(whole), 0, 9) == (3, len(whole))
    assert count_records(memoryview(whole), 0, 2) == (2, len(whole) - len(BATCH))
    assert count_records(memoryview(whole + BROKEN[broken]), 0, 9) == (3, len(whole))


# -- Messages of magic 0 and 1 ----------------------------------------------------------------------


@pytest.mark.parametrize("data", [MESSAGE, OLD_MESSAGE])
def test_a_message_has_no_producer(data: bytes):
    found = only(data)
    assert (found.producer_id, found.producer_epoch, found.base_sequence) == (-1, -1, -1)


def test_a_message_is_one_record_at_its_own_offset():
    found = only(MESSAGE)
    assert (found.base_offset, found.last_offset_delta, found.records_count) == (4, 0, 1)
    assert (found.base_timestamp, found.max_timestamp) == (NOW_MS, NOW_MS)


def test_a_message_of_magic_0_has_no_time():
    assert (only(OLD_MESSAGE).base_timestamp, only(OLD_MESSAGE).max_timestamp) == (NO_TIMESTAMP,) * 2


def test_bit_3_means_append_time_from_magic_1_on():
    stamped = only(write_message(Message(1, NOW_MS, attributes=0x08)))
    assert stamped.timestamp_type is TimestampType.LOG_APPEND_TIME
    meant_nothing = only(write_message(Message(0, attributes=0x08)))
    assert meant_nothing.timestamp_type is TimestampType.CREATE_TIME


@pytest.mark.parametrize(
    ("size", "timestamp_ms"), [(TIMESTAMP_END, NOW_MS), (TIMESTAMP_END - 1, NO_TIMESTAMP)]
)
def test_a_message_that_ends_with_its_time_has_one(size: int, timestamp_ms: int):
    assert as_batch(memoryview(MESSAGE[:size])).base_timestamp == timestamp_ms


# -- The first header alone -------------------------------------------------------------------------


def test_a_head_of_magic_2_tells_what_the_whole_batch_does():
    found, whole = read_header(BATCH[:61]), only(BATCH)
    assert found is not None
    for name in ("base_offset", "producer_id", "producer_epoch", "base_sequence", "records_count", "magic"):
        assert getattr(found, name) == getattr(whole, name)
    assert (found.base_offset, found.producer_id, found.producer_epoch, found.base_sequence) == (3, 7, 5, 9)


@pytest.mark.parametrize("size", [22, TIMESTAMP_END, len(MESSAGE)])
def test_a_head_of_magic_1_is_read_as_a_message(size: int):
    found = read_header(MESSAGE[:size])
    assert found is not None
    assert (found.base_offset, found.magic, found.producer_id) == (4, 1, -1)
    assert found.base_timestamp == (NOW_MS if size >= TIMESTAMP_END else NO_TIMESTAMP)


@pytest.mark.parametrize(
    "head", [b"", BATCH[:21], BATCH[:16] + b"\x03" + BATCH[17:], BATCH[:16] + b"\xff" * 40]
)
def test_a_head_that_is_no_batchs_tells_nothing(head: bytes):
    assert read_header(head) is None


# -- The scan ---------------------------------------------------------------------------------------


def test_batches_that_are_not_asked_for_are_not_listed_even_where_faults_are():
    found = scan(memoryview(BATCH * 3 + bytes(20)), 2, to_the_end=True)
    assert (len(found.batches), found.fault) == (2, Fault.RECORD_SIZE_TOO_SMALL)


BEHIND = {
    "zeros": bytes(30),
    "a size below the smallest": struct.pack(">qiib", 0, 13, -1, 2),
    "the smallest size": struct.pack(">qiib", 0, 14, -1, 2) + bytes(40),
    "a magic of nobody's": struct.pack(">qiib", 0, 60, -1, 3),
    "a message and a magic of nobody's": MESSAGE + struct.pack(">qiib", 0, 60, -1, 3),
    "a batch and zeros": BATCH + bytes(20),
}


@pytest.mark.parametrize("tail", BEHIND.values(), ids=BEHIND)
def test_a_fault_behind_the_batches_that_are_listed_is_the_one_that_is_found_among_them(tail: bytes):
    for size in range(len(tail) + 1):
        data = memoryview(BATCH * 2 + tail[:size])
        some, every = scan(data, 2, to_the_end=True), scan(data, 99)
        assert (some.fault, some.fault_value) == (every.fault, every.fault_value), size


def test_a_scan_that_found_enough_asks_no_further():
    found = scan(memoryview(BATCH + bytes(20)), 1)
    assert (len(found.batches), found.fault) == (1, None)


@pytest.mark.parametrize(("byte", "magic"), [(3, 3), (127, 127), (128, -128), (255, -1)])
def test_a_magic_that_nobody_knows_is_told_as_javas_byte(byte: int, magic: int):
    found = scan(memoryview(BATCH[:16] + bytes([byte]) + BATCH[17:]), 2)
    assert (found.fault, found.fault_value) == (Fault.INVALID_MAGIC, magic)


def test_any_batch_is_found_by_its_place_and_none_where_the_scan_ends():
    data = memoryview(BATCH * 3 + bytes(20))
    found = [batch_at(data, n * len(BATCH)) for n in range(4)]
    assert [None if each is None else bytes(each.data) for each in found] == [BATCH] * 3 + [None]
