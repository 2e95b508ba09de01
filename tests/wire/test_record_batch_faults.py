"""A batch that cannot be read, or that exceeds a limit, has a Fault: never an exception."""

from unittest.mock import ANY

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.batches import GZIP, LZ4, SNAPPY, ZSTD, batch, record, varint
from tests.wire.one_batch import NOW_MS, each_codec, only_batch, records_of
from tests.wire.strategies import integers
from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.records import Fault, RecordFacts
from tsproxy.model.view import SessionLimits
from tsproxy.wire.record_batch import crc_is_valid, read_facts, read_records

REST = varint(-1) + varint(-1) + varint(0)


def bare(*parts):
    """A record of these bytes behind its attributes, its length right."""
    body = b"\x00" + b"".join(parts)
    return varint(len(body)) + body


FAULTY = {
    "no records where one is declared": ([], Fault.PREMATURE_END),
    "fewer records than declared": ([record()], Fault.PREMATURE_END),
    "more records than declared": ([record()] * 3, Fault.RECORDS_REMAINING),
    "a byte behind the last record": ([record(), record(), b"\x00"], Fault.RECORDS_REMAINING),
    "a length longer than five bytes": ([record(), b"\x80" * 5 + b"\x00"], Fault.VARINT_TOO_LONG),
    "a length cut short": ([record(), b"\x80"], Fault.PREMATURE_END),
    "a timestamp delta longer than ten bytes": ([record(), bare(b"\x80" * 10)], Fault.MALFORMED_RECORD),
    "an offset delta longer than five bytes": (
        [record(), bare(varint(0), b"\x80" * 5)],
        Fault.MALFORMED_RECORD,
    ),
    "a record that ends in its timestamp": ([record(), bare(b"\x80")], Fault.MALFORMED_RECORD),
    "a key longer than what is left": (
        [record(), bare(varint(0), varint(0), varint(99), b"k")],
        Fault.MALFORMED_RECORD,
    ),
    "a negative number of headers": (
        [record(), bare(varint(0), varint(0), varint(-1), varint(-1), varint(-1))],
        Fault.MALFORMED_RECORD,
    ),
    "more headers than bytes": (
        [record(), bare(varint(0), varint(0), varint(-1), varint(-1), varint(99))],
        Fault.MALFORMED_RECORD,
    ),
    "a header key that is null": (
        [record(), bare(varint(0), varint(0), varint(-1), varint(-1), varint(1), varint(-1), varint(-1))],
        Fault.MALFORMED_RECORD,
    ),
}


@each_codec
@pytest.mark.parametrize(("records", "fault"), FAULTY.values(), ids=FAULTY)
def test_records_that_cannot_be_read_are_a_fault(codec, records, fault):
    found = records_of(batch(codec=codec, records=records, records_count=2, base_timestamp=NOW_MS))
    assert found.fault is fault
    assert len(found.timestamps_ms) <= 2


@pytest.mark.parametrize("off_by", [-1, 1])
def test_a_plain_record_must_fill_its_length_exactly(off_by):
    whole = record(length=len(record()) - 1 + off_by)
    padding = b"\x00" if off_by > 0 else b""
    data = batch(records=[whole, padding], records_count=1, base_timestamp=NOW_MS)
    assert records_of(data).fault is Fault.MALFORMED_RECORD


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
@pytest.mark.parametrize("length", [0, 1, 1000, -1])
def test_the_length_of_a_compressed_record_is_not_compared(codec, length):
    """As brokers read it in place: keys and values are stepped over, wherever the record said it ends."""
    found = records_of(batch(codec=codec, records=[record(7, length=length)], base_timestamp=0))
    assert (found.fault, list(found.timestamps_ms)) == (None, [7])


@pytest.mark.parametrize("length", [0, 1000])
def test_facts_and_columns_step_over_lengths_alike(length):
    """Unless they are told that the broker writes the batch anew."""
    found = only_batch(batch(codec=GZIP, records=[record(7, length=length)], base_timestamp=0))
    for is_recompressed, fault in ((), None), ((False,), None), ((True,), Fault.MALFORMED_RECORD):
        assert read_facts(found, SessionLimits(), *is_recompressed).fault is fault
        assert read_records(found, SessionLimits(), *is_recompressed).fault is fault


def test_a_header_alone_has_a_checksum_and_less_has_none():
    data = batch(records=[], base_timestamp=NOW_MS)
    assert crc_is_valid(only_batch(data))
    cut = data[:8] + (len(data) - 13).to_bytes(4, "big") + data[12:-1]
    assert not crc_is_valid(only_batch(cut))


def test_what_does_not_decompress_has_no_records():
    found = only_batch(batch(codec=GZIP, body=b"no gzip", records_count=3))
    assert read_facts(found, SessionLimits()) == RecordFacts(0, None, None, 0, Fault.UNDECOMPRESSABLE)


@pytest.mark.parametrize("codec_id", [5, 6, 7])
def test_a_codec_of_no_name_is_a_fault(codec_id):
    data = batch([NOW_MS], attributes=codec_id)
    assert records_of(data).fault is Fault.UNKNOWN_CODEC
    assert only_batch(data).codec_name == f"unknown-{codec_id}"


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_more_output_than_the_limit_is_a_fault_of_our_own(codec):
    written = batch(codec=codec, records=[record(value=bytes(1000))], base_timestamp=NOW_MS)
    decompressed = len(record(value=bytes(1000)))
    assert records_of(written, decompressed_batch=decompressed).fault is None
    over = records_of(written, decompressed_batch=decompressed - 1)
    assert (over.fault, list(over.timestamps_ms)) == (Fault.DECOMPRESSED_TOO_LARGE, [])


@each_codec
def test_more_records_than_the_limit_are_a_fault_of_our_own(codec):
    data = batch([NOW_MS] * 3, codec)
    enough, too_few = SessionLimits(records_per_batch=3), SessionLimits(records_per_batch=2)
    assert records_of(data, records_per_batch=3).fault is None
    assert read_facts(only_batch(data), enough) == RecordFacts(3, NOW_MS, NOW_MS, 0, largest_record=ANY)
    over = records_of(data, records_per_batch=2)
    assert (over.fault, list(over.timestamps_ms)) == (Fault.TOO_MANY_RECORDS, [])
    assert read_facts(only_batch(data), too_few) == RecordFacts(0, None, None, 0, Fault.TOO_MANY_RECORDS)


def test_a_zstd_window_above_the_limit_is_a_fault_of_our_own():
    data = batch(codec=ZSTD, records=[record(value=bytes(2**20))], base_timestamp=0)
    assert records_of(data, zstd_window=2**21).fault is None
    assert records_of(data, zstd_window=2**19).fault is Fault.ZSTD_WINDOW_TOO_LARGE


def test_a_negative_number_of_records_reads_none():
    found = records_of(batch(records=[record()], records_count=-5))
    assert (found.fault, list(found.timestamps_ms)) == (Fault.RECORDS_REMAINING, [])


# -- Whatever comes ---------------------------------------------------------------------------------


@given(codec=st.integers(0, 7), body=st.binary(max_size=300), count=st.integers(-3, 50), base=integers(64))
def test_whatever_stands_in_a_batch_is_read_or_a_fault(codec, body, count, base):
    found = records_of(
        batch(codec=codec, body=body, records_count=count, base_timestamp=base, max_timestamp=base)
    )
    columns = (found.timestamps_ms, found.offset_deltas, found.key_sizes, found.value_sizes)
    assert len({len(column) for column in columns}) == 1
    assert (found.fault is None) <= (len(found.timestamps_ms) == max(count, 0))
    assert all(LONG_MIN <= t <= LONG_MAX for t in found.timestamps_ms)
