"""A `records` field becomes batches, a batch becomes records or a Fault: never an exception.

Independent encoders: `tests.wire.batches`, aiokafka and kafka-python.
"""

import random
import struct

import aiokafka.record.default_records as aiokafka_records
import kafka.record.default_records as kafka_python_records
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.batches import (
    CODECS,
    COMPRESS,
    GZIP,
    LZ4,
    SNAPPY,
    ZSTD,
    batch,
    raw_snappy,
    record,
    varint,
    wrap,
)
from tests.wire.strategies import a_few, integers
from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.records import Fault, RecordFacts
from tsproxy.model.view import SessionLimits
from tsproxy.wire.record_batch import crc_is_valid, find_outside, read_facts, read_records, read_small
from tsproxy.wire.record_set import scan

NOW_MS = 1_767_225_600_000

each_codec = pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)


def only_batch(data):
    (found,) = scan(memoryview(data), most=2).batches
    return found


def records_of(data, **limits):
    return read_records(only_batch(data), SessionLimits(**limits))


times = st.one_of(integers(64), st.integers(NOW_MS - 10**6, NOW_MS + 10**6), st.sampled_from([-1, 0]))
payloads = st.one_of(st.none(), st.binary(max_size=20), st.just(b"x" * 200))
headers = st.lists(st.tuples(st.binary(max_size=9), payloads), max_size=3)
rows = st.lists(st.tuples(times, payloads, payloads, headers), min_size=1, max_size=8)


def size(payload):
    return -1 if payload is None else len(payload)


# -- Against independent encoders -------------------------------------------------------------------


@each_codec
@given(rows=rows, base=integers(64))
def test_every_record_is_read_as_it_was_written(codec, rows, base):
    """Timestamps wrap at 64 bits, as Java's longs do: any time can stand beside any base."""
    written = [record(wrap(t - base), i, key, value, more) for i, (t, key, value, more) in enumerate(rows)]
    data = batch(codec=codec, records=written, base_timestamp=base)
    found = records_of(data)
    assert found.fault is None
    assert list(found.timestamps_ms) == [t for t, *_ in rows]
    assert list(found.offset_deltas) == list(range(len(rows)))
    assert list(found.key_sizes) == [size(key) for _, key, _, _ in rows]
    assert list(found.value_sizes) == [size(value) for _, _, value, _ in rows]
    assert crc_is_valid(only_batch(data))


BUILDERS = {
    f"{client} {codec}": (builder, number)
    for client, builder in (
        ("aiokafka", aiokafka_records.DefaultRecordBatchBuilder),
        ("aiokafka in Python", aiokafka_records._DefaultRecordBatchBuilderPy),
        ("kafka-python", kafka_python_records.DefaultRecordBatchBuilder),
    )
    for codec, number in CODECS.items()
    # kafka-python compresses with python-snappy alone, which is built from source.
    if (client, codec) != ("kafka-python", "snappy")
}

some_times = st.integers(0, 2**45)
some_headers = st.lists(
    st.tuples(st.text(max_size=9), st.one_of(st.none(), st.binary(max_size=9))), max_size=3
)


@pytest.mark.parametrize(("builder", "codec"), BUILDERS.values(), ids=BUILDERS)
@a_few
@given(rows=st.lists(st.tuples(some_times, payloads, payloads, some_headers), min_size=1, max_size=8))
def test_batches_of_other_clients_are_read(builder, codec, rows):
    build = builder(2, codec, 0, 7, 3, 11, 10**6)
    for offset, (time, key, value, more) in enumerate(rows):
        assert build.append(offset, time, key, value, more) is not None
    found = only_batch(bytes(build.build()))
    header = (found.producer_id, found.producer_epoch, found.base_sequence, found.records_count)
    assert header == (7, 3, 11, len(rows))
    assert (found.base_timestamp, found.last_offset_delta) == (rows[0][0], len(rows) - 1)
    assert found.max_timestamp == max(time for time, *_ in rows)
    assert crc_is_valid(found)
    records = read_records(found, SessionLimits())
    assert records.fault is None
    assert list(records.timestamps_ms) == [time for time, *_ in rows]
    assert list(records.key_sizes) == [size(key) for _, key, _, _ in rows]
    assert list(records.value_sizes) == [size(value) for _, _, value, _ in rows]


# -- Longs at their edges ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "delta", "timestamp_ms"),
    [
        (0, LONG_MAX, LONG_MAX),
        (0, LONG_MIN, LONG_MIN),
        (LONG_MAX, 1, LONG_MIN),
        (LONG_MIN, -1, LONG_MAX),
        (LONG_MAX, LONG_MAX, -2),
        (LONG_MIN, LONG_MIN, 0),
        (-1, 0, -1),
        (NOW_MS, -NOW_MS - 1, -1),
    ],
)
@each_codec
def test_a_timestamp_is_base_and_delta_in_java_longs(codec, base, delta, timestamp_ms):
    found = records_of(batch(codec=codec, records=[record(delta)], base_timestamp=base))
    assert list(found.timestamps_ms) == [timestamp_ms]


@pytest.mark.parametrize(
    "delta", [-64, 63, 64, -8192, 8128, 8191, -(2**20), 2**20 - 1, -(2**34), 2**34 - 1, 2**41 - 1]
)
def test_a_group_whose_bits_are_all_set_may_be_the_last(delta):
    """0x7f is the largest byte that ends a varint."""
    found = records_of(batch(records=[record(delta, key=None)], base_timestamp=0))
    assert list(found.timestamps_ms) == [delta]


@pytest.mark.parametrize("offset_delta", [-64, 63, 64, -8192, 8191])
def test_so_it_may_in_an_offset(offset_delta):
    found = records_of(batch(records=[record(0, offset_delta)], base_timestamp=0))
    assert (found.fault, list(found.offset_deltas)) == (None, [offset_delta])


@pytest.mark.parametrize("size", [8128, 8191, 2**20 - 1])
def test_so_it_may_in_a_size(size):
    found = records_of(batch(records=[record(value=bytes(size))], base_timestamp=0))
    assert (found.fault, list(found.value_sizes)) == (None, [size])


def test_bit_3_changes_nothing_about_the_times_that_are_read():
    """Kafka's readers would show max_timestamp for each: that is how bad times pass a broker (KIP-32)."""
    data = batch([5, NOW_MS * 1000], attributes=0x08, max_timestamp=NOW_MS)
    assert list(records_of(data).timestamps_ms) == [5, NOW_MS * 1000]


def long_varint(value, width):
    """`value` in exactly `width` bytes, more than it needs."""
    minimal = bytearray(varint(value))
    minimal[-1] |= 0x80
    padded = minimal + b"\x80" * (width - len(minimal) - 1) + b"\x00"
    assert len(padded) == width
    return bytes(padded)


@each_codec
def test_varints_need_not_be_minimal(codec):
    body = b"".join(
        [
            b"\x00",
            long_varint(-77, 10),
            long_varint(0, 5),
            long_varint(1, 5),
            b"k",
            long_varint(-1, 5),
            long_varint(0, 4),
        ]
    )
    found = records_of(batch(codec=codec, records=[long_varint(len(body), 5) + body], base_timestamp=100))
    assert (found.fault, list(found.timestamps_ms)) == (None, [23])
    assert (list(found.key_sizes), list(found.value_sizes)) == ([1], [-1])


def test_bits_that_a_varint_has_no_room_for_are_dropped():
    """The fifth byte's above bit 31, the tenth's above bit 63 (`ByteUtils.java`)."""
    delta = b"\xff" * 9 + b"\x7f"
    offset = b"\x80\x80\x80\x80\x70"
    body = b"\x00" + delta + offset + varint(-1) + varint(-1) + varint(0)
    found = records_of(batch(records=[varint(len(body)) + body], base_timestamp=0))
    assert (list(found.timestamps_ms), list(found.offset_deltas)) == ([LONG_MIN], [0])


# -- Faults -----------------------------------------------------------------------------------------

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
    for is_rebuilt, fault in ((), None), ((False,), None), ((True,), Fault.MALFORMED_RECORD):
        assert read_facts(found, SessionLimits(), *is_rebuilt).fault is fault
        assert read_records(found, SessionLimits(), *is_rebuilt).fault is fault


def test_a_header_alone_has_a_checksum_and_less_has_none():
    data = batch(records=[], base_timestamp=NOW_MS)
    assert crc_is_valid(only_batch(data))
    cut = data[:8] + (len(data) - 13).to_bytes(4, "big") + data[12:-1]
    assert not crc_is_valid(only_batch(cut))


def test_what_does_not_decompress_has_no_records():
    found = only_batch(batch(codec=GZIP, body=b"no gzip", records_count=3))
    assert read_facts(found, SessionLimits()) == RecordFacts(0, None, None, 0, Fault.UNDECOMPRESSABLE)


def raw_snappy_of(size):
    """One record whose value does not compress, in exactly `size` bytes, and how many bytes came of it."""
    noise = random.Random(1).randbytes(size)
    for value_size in range(size - 40, size):
        plain = record(value=noise[:value_size])
        if len(body := raw_snappy(plain)) == size:
            return body, len(plain)
    raise AssertionError("no such size")


@pytest.mark.parametrize(("size", "is_small"), [(256 * 1024 - 1, True), (256 * 1024, False)])
def test_below_256_kib_the_short_way_is_tried(size, is_small):
    """Both ways say the same of a batch: this is about time alone."""
    body, unfolded = raw_snappy_of(size)
    spent = []
    facts = read_small(SNAPPY, body, NOW_MS, 1, SessionLimits(), False, spent.append)
    assert (facts, spent) == (
        (RecordFacts(1, NOW_MS, NOW_MS, 0, None), [size, unfolded]) if is_small else (None, [])
    )


@each_codec
def test_records_outside_a_span_are_counted_and_the_first_are_named(codec):
    """-1 is no time, and outside nothing. Large enough to unfold in more than one piece."""
    times = [NOW_MS, NOW_MS + 1, -1, NOW_MS - 1, NOW_MS + 2]
    found = only_batch(batch(times, codec, value=random.Random(1).randbytes(100_000)))
    outside = [(1, NOW_MS + 1), (3, NOW_MS - 1), (4, NOW_MS + 2)]

    def named(lowest_ms, highest_ms, most):
        told = find_outside(found, SessionLimits(), lowest_ms, highest_ms, most)
        return told.count, list(zip(told.positions, told.timestamps_ms, strict=True))

    assert named(NOW_MS, NOW_MS, 9) == (3, outside)
    assert named(NOW_MS, NOW_MS, 1) == (3, outside[:1])
    assert named(NOW_MS - 1, NOW_MS + 2, 9) == (0, [])


@pytest.mark.parametrize("codec_id", [5, 6, 7])
def test_a_codec_of_no_name_is_a_fault(codec_id):
    data = batch([NOW_MS], attributes=codec_id)
    assert records_of(data).fault is Fault.UNKNOWN_CODEC
    assert only_batch(data).codec_name == f"unknown-{codec_id}"


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_what_its_codec_rejects_is_a_fault(codec):
    data = batch(codec=codec, body=b"\xff" * 40, records_count=1)
    assert records_of(data).fault is Fault.UNDECOMPRESSABLE


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
    assert read_facts(only_batch(data), enough) == RecordFacts(3, NOW_MS, NOW_MS, 0, None)
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


@each_codec
@given(data=st.data())
def test_damaged_records_are_read_or_a_fault(codec, data):
    """Damage under the compression: the codec is content, the records are not."""
    plain = bytearray(b"".join(record(i, i, b"key", b"value", [(b"h", b"v")]) for i in range(4)))
    for _ in range(data.draw(st.integers(1, 3))):
        plain[data.draw(st.integers(0, len(plain) - 1))] = data.draw(st.integers(0, 255))
    kept = data.draw(st.integers(0, len(plain)))
    body = COMPRESS[codec](bytes(plain[:kept]))
    found = records_of(batch(codec=codec, body=body, records_count=4))
    assert len(found.timestamps_ms) == 4 or found.fault is not None


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
