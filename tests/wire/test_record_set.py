"""A `records` field becomes batches, and each field of a header is read in its place, at each edge.

`test_record_batch` and `test_record_batch_faults` test the records inside a batch of magic 2, and
`test_message_set` those inside a message.
"""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigs.differential.batches import Batch, Record, write_batch
from rigs.differential.message_sets import Message, write_message
from tests.wire.batches import GZIP, batch, record
from tests.wire.strategies import integers
from tsproxy.model.kafka import NO_TIMESTAMP, TimestampType
from tsproxy.model.records import Fault, RecordBatch
from tsproxy.model.view import SessionLimits
from tsproxy.wire.record_batch import crc_is_valid, read_records
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


@pytest.mark.parametrize("stated", [-1, 0, 1, 2, 3, 2**31 - 1])
def test_no_more_records_are_counted_than_a_batch_has_room_for(stated: int):
    """The smallest record has 7 bytes. A compressed batch counts as one message does."""
    smallest = record(key=None, value=None)
    assert len(smallest) == 7
    two = batch([NOW_MS], records=[smallest, smallest], records_count=stated)
    packed = batch([NOW_MS], GZIP, records=[smallest, smallest], records_count=stated)
    none = batch([NOW_MS], records=[], records_count=stated)
    for data, most in ((two, 2), (packed, 1), (none, 0)):
        assert count_records(memoryview(data), 0, 9) == (max(0, min(stated, most)), len(data))


# -- Messages of magic 0 and 1 ----------------------------------------------------------------------


@pytest.mark.parametrize(("data", "time_ms"), [(MESSAGE, NOW_MS), (OLD_MESSAGE, NO_TIMESTAMP)])
def test_a_message_is_one_record_at_its_own_offset_and_has_no_producer(data: bytes, time_ms: int):
    """At magic 0 it has no time either."""
    found = only(data)
    assert (found.producer_id, found.producer_epoch, found.base_sequence) == (-1, -1, -1)
    assert (found.base_offset, found.last_offset_delta, found.records_count) == (4, 0, 1)
    assert (found.base_timestamp, found.max_timestamp) == (time_ms, time_ms)


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


GOOD = batch([NOW_MS])


def test_null_is_not_empty():
    assert scan(None, 2).is_null
    assert not scan(memoryview(b""), 2).is_null


@pytest.mark.parametrize("tail", range(12))
def test_a_tail_too_short_for_a_batch_is_no_fault(tail):
    """Brokers trim it."""
    found = scan(memoryview(GOOD + b"\x00" * tail), 2)
    assert (len(found.batches), found.fault) == (1, None)


def test_as_many_batches_as_wanted_are_found():
    data = memoryview(GOOD * 3)
    assert [len(scan(data, most).batches) for most in (1, 2, 3, 4)] == [1, 2, 3, 3]


def header(length, magic=2):
    return struct.pack(">qiib", 0, length, -1, magic)


SCANNED = {
    "length 13": (header(13), 0, Fault.RECORD_SIZE_TOO_SMALL),
    "length 0": (header(0), 0, Fault.RECORD_SIZE_TOO_SMALL),
    "length -1": (header(-1), 0, Fault.RECORD_SIZE_TOO_SMALL),
    "length 14 and no more": (header(14), 0, None),
    "a length beyond the end": (header(2**31 - 1), 0, None),
    "12 bytes": (header(60)[:12], 0, None),
    "12 zeros": (bytes(12), 0, Fault.RECORD_SIZE_TOO_SMALL),
    "16 bytes": (header(60)[:16], 0, None),
    "magic 3": (header(60, 3), 0, Fault.INVALID_MAGIC),
    "magic -1": (header(60, -1), 0, Fault.INVALID_MAGIC),
    "zeros behind a batch": (GOOD + bytes(20), 1, Fault.RECORD_SIZE_TOO_SMALL),
    "a bad magic behind a batch": (GOOD + header(60, 9), 1, Fault.INVALID_MAGIC),
    "a batch cut behind a batch": (GOOD + GOOD[:-1], 1, None),
}


@pytest.mark.parametrize(("data", "batches", "fault"), SCANNED.values(), ids=SCANNED)
def test_a_scan_ends_where_a_brokers_does(data, batches, fault):
    """`ByteBufferLogInputStream.java`: length before magic, magic before the end."""
    found = scan(memoryview(data), 2)
    assert (len(found.batches), found.fault) == (batches, fault)


@given(
    fields=st.fixed_dictionaries(
        {
            "base_offset": integers(64),
            "attributes": st.integers(0, 0x7FFF),
            "last_offset_delta": integers(32),
            "base_timestamp": integers(64),
            "max_timestamp": integers(64),
            "producer_id": integers(64),
            "producer_epoch": integers(16),
            "base_sequence": integers(32),
            "records_count": integers(32),
        }
    )
)
def test_each_header_field_is_read_in_its_place(fields):
    found = only(batch(body=b"", **fields))
    assert {name: getattr(found, name) for name in fields} == fields
    assert found.size_in_bytes == 61
    assert found.codec_id == fields["attributes"] & 7
    assert found.timestamp_type == (fields["attributes"] >> 3) & 1
    assert found.is_transactional == bool(fields["attributes"] & 0x10)
    assert found.is_control == bool(fields["attributes"] & 0x20)
    assert found.has_delete_horizon == bool(fields["attributes"] & 0x40)


def test_a_checksum_covers_the_attributes_and_all_behind_them():
    """Base offset, length, leader epoch and magic may change without it (`DefaultRecordBatch.java`)."""
    assert crc_is_valid(only(batch([NOW_MS], base_offset=9, partition_leader_epoch=7)))
    assert not crc_is_valid(only(batch([NOW_MS], crc=1)))


pieces = st.one_of(
    st.binary(max_size=80),
    st.builds(lambda data, size: data[:size], st.just(batch([NOW_MS])), st.integers(0, 69)),
    st.builds(lambda length, magic: header(length, magic), st.integers(-20, 200), st.integers(-1, 3)),
)


@given(st.lists(pieces, max_size=4).map(b"".join), st.integers(1, 3))
def test_whatever_stands_in_a_records_field_is_scanned(data, most):
    found = scan(memoryview(data), most)
    assert len(found.batches) <= most
    assert sum(b.size_in_bytes for b in found.batches) <= len(data)
    for found_batch in found.batches:
        if found_batch.magic == 2:
            read_records(found_batch, SessionLimits())
            crc_is_valid(found_batch)


def test_batches_that_are_not_asked_for_are_not_listed_even_where_faults_are():
    found = scan(memoryview(BATCH * 3 + bytes(20)), 2, to_the_end=True)
    assert (len(found.batches), found.fault) == (2, Fault.RECORD_SIZE_TOO_SMALL)


BEHIND = {
    "zeros": bytes(30),
    "a size below the smallest": header(13),
    "the smallest size": header(14) + bytes(40),
    "a magic of nobody's": header(60, 3),
    "a message and a magic of nobody's": MESSAGE + header(60, 3),
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
