"""A batch becomes records.

Independent encoders: `tests.wire.batches`, aiokafka and kafka-python.
"""

import random
from unittest.mock import ANY

import aiokafka.record.default_records as aiokafka_records
import kafka.record.default_records as kafka_python_records
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.batches import CODECS, SNAPPY, batch, raw_snappy, record, varint, wrap, xerial
from tests.wire.one_batch import NOW_MS, each_codec, only_batch, records_of
from tests.wire.strategies import a_few, integers
from tsproxy.model.kafka import LONG_MIN
from tsproxy.model.records import RecordFacts
from tsproxy.model.view import SessionLimits
from tsproxy.wire.record_batch import SHELLS, crc_is_valid, find_outside, read_records, read_small

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
    "delta", [-64, 63, 64, -8192, 8128, 8191, -(2**20), 2**20 - 1, -(2**34), 2**34 - 1, 2**41 - 1]
)
def test_a_group_whose_bits_are_all_set_may_be_the_last(delta):
    """0x7f is the largest byte that ends a varint: of a timestamp, of an offset, of a size."""
    offset_delta, value_size = max(-8192, min(delta, 8191)), max(0, min(delta, 2**20 - 1))
    written = record(delta, offset_delta, key=None, value=bytes(value_size))
    found = records_of(batch(records=[written], base_timestamp=0))
    columns = found.timestamps_ms, found.offset_deltas, found.value_sizes
    assert (found.fault, [*map(list, columns)]) == (None, [[delta], [offset_delta], [value_size]])


def test_bit_3_changes_nothing_about_the_times_that_are_read():
    """Kafka's readers would show max_timestamp for each: that is how bad times pass a broker (KIP-32)."""
    data = batch([5, NOW_MS * 1000], attributes=0x08, max_timestamp=NOW_MS)
    assert list(records_of(data).timestamps_ms) == [5, NOW_MS * 1000]


@each_codec
def test_varints_need_not_be_minimal(codec):
    body = b"".join(
        [
            b"\x00",
            varint(-77, 10),
            varint(0, 5),
            varint(1, 5),
            b"k",
            varint(-1, 5),
            varint(0, 4),
        ]
    )
    found = records_of(batch(codec=codec, records=[varint(len(body), 5) + body], base_timestamp=100))
    assert (found.fault, list(found.timestamps_ms)) == (None, [23])
    assert (list(found.key_sizes), list(found.value_sizes)) == ([1], [-1])


def test_bits_that_a_varint_has_no_room_for_are_dropped():
    """The fifth byte's above bit 31, the tenth's above bit 63 (`ByteUtils.java`)."""
    delta = b"\xff" * 9 + b"\x7f"
    offset = b"\x80\x80\x80\x80\x70"
    body = b"\x00" + delta + offset + varint(-1) + varint(-1) + varint(0)
    found = records_of(batch(records=[varint(len(body)) + body], base_timestamp=0))
    assert (list(found.timestamps_ms), list(found.offset_deltas)) == ([LONG_MIN], [0])


# -- A part of the facts ----------------------------------------------------------------------------


def raw_snappy_of(size):
    """One record whose value does not compress, in exactly `size` bytes, and how many bytes came of it."""
    noise = random.Random(1).randbytes(size)
    for value_size in range(size - 120, size):
        plain = record(value=noise[:value_size])
        if len(body := raw_snappy(plain)) == size:
            return body, len(plain)
    raise AssertionError("no such size")


@pytest.mark.parametrize(("size", "is_small"), [(1 << 20, True), ((1 << 20) + 1, False)])
def test_up_to_a_mib_the_short_way_is_tried(size, is_small):
    """Both ways say the same of a batch: this is about time alone."""
    body, unfolded = raw_snappy_of(size)
    spent = []
    facts = read_small(SNAPPY, body, NOW_MS, 1, SessionLimits(), False, lambda size, _=1: spent.append(size))
    assert (facts, spent) == (
        (RecordFacts(1, NOW_MS, NOW_MS, 0, largest_record=ANY), [size, unfolded])
        if is_small
        else (None, [SHELLS])
    )


def record_of(size):
    """One record in exactly `size` bytes."""
    return next(
        whole for value in range(size - 12, size) if len(whole := record(value=bytes(max(0, value)))) == size
    )


def spent_on_blocks_of(size, count):
    plain = record_of(size * count)
    body = xerial(*(plain[size * n : size * (n + 1)] for n in range(count)))
    data, spent = batch(codec=SNAPPY, body=body, records_count=1), []
    assert read_records(only_batch(data), SessionLimits(), charge=spent.append).fault is None
    return spent


def test_pieces_after_too_many_that_are_nearly_empty_cost_more_than_the_event_loop_may_spend():
    """Sixteen are no matter, in so few compressed bytes."""
    assert spent_on_blocks_of(1, 20) == [1] * 16 + [SHELLS] * 4


@pytest.mark.parametrize(("size", "is_nearly_empty"), [(1023, True), (1024, False)])
def test_a_piece_of_less_than_1_kib_is_nearly_empty(size, is_nearly_empty):
    assert (SHELLS in spent_on_blocks_of(size, 40)) is is_nearly_empty


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
    assert named(NOW_MS, NOW_MS, 0) == (3, [])
    assert named(NOW_MS - 1, NOW_MS + 2, 9) == (0, [])
