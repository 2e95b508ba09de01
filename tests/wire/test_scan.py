"""A `records` field becomes batches, and each field of a header is read in its place."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.batches import (
    batch,
)
from tests.wire.one_batch import NOW_MS, only_batch
from tests.wire.strategies import integers
from tsproxy.model.records import Fault
from tsproxy.model.view import SessionLimits
from tsproxy.wire.record_batch import crc_is_valid, read_records
from tsproxy.wire.record_set import scan

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
    found = only_batch(batch(body=b"", **fields))
    assert {name: getattr(found, name) for name in fields} == fields
    assert found.size_in_bytes == 61
    assert found.codec_id == fields["attributes"] & 7
    assert found.timestamp_type == (fields["attributes"] >> 3) & 1
    assert found.is_transactional == bool(fields["attributes"] & 0x10)
    assert found.is_control == bool(fields["attributes"] & 0x20)
    assert found.has_delete_horizon == bool(fields["attributes"] & 0x40)


def test_a_checksum_covers_the_attributes_and_all_behind_them():
    """Base offset, length, leader epoch and magic may change without it (`DefaultRecordBatch.java`)."""
    assert crc_is_valid(only_batch(batch([NOW_MS], base_offset=9, partition_leader_epoch=7)))
    assert not crc_is_valid(only_batch(batch([NOW_MS], crc=1)))


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
    for each in found.batches:
        if each.magic == 2:
            read_records(each, SessionLimits())
            crc_is_valid(each)
