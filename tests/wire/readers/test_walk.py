"""The walk: the same facts natively, in Python, and from the records read as columns."""

import itertools
from contextlib import suppress
from random import Random
from unittest.mock import ANY

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.wire.readers.byte_strings import longs, plain_records, record, varint
from tests.wire.readers.variants import VARIANTS, name_of
from tsproxy.model.kafka import LONG_MAX, LONG_MIN, NO_TIMESTAMP
from tsproxy.model.records import Fault, RecordFacts
from tsproxy.wire import records

NOW_MS = 1_790_000_000_000

pytestmark = pytest.mark.parametrize("variant", VARIANTS, ids=name_of)


def from_columns(data: bytes, base_timestamp: int, count: int, lengths_must_fit: bool) -> RecordFacts:
    """The facts as whoever decides guilt would find them."""
    columns: records.Columns = ([], [], [], [])
    fault = records.walk(columns, data, base_timestamp, count, lengths_must_fit)
    times = [timestamp for timestamp in columns[0] if timestamp != NO_TIMESTAMP]
    missing = len(columns[0]) - len(times)
    span = min(times, default=None), max(times, default=None)
    largest = largest_size(data, min(count, len(columns[0]) + 1))
    return RecordFacts(len(columns[0]), *span, missing, fault, largest)


def largest_size(data: bytes, count: int) -> int:
    """The largest size that one of the first `count` records declares, without its sign."""
    sizes, at = [0], 0
    with suppress(IndexError, ValueError):  # the record at fault is the last one
        for _ in range(count):
            size, at = records.read_varint(data, at)
            sizes.append(size % 2**32)
            _, at = records.read_varlong(data, at + 1)
            _, at = records.read_varint(data, at)
            for _ in ("key", "value"):
                size, at = records.read_varint(data, at)
                at += max(size, 0)
            headers, at = records.read_varint(data, at)
            at = records.skip_headers(data, at, headers)
    return max(sizes)


@given(
    data=plain_records,
    base_timestamp=longs,
    count=st.integers(-1, 40) | st.sampled_from([-(2**31), 2**31 - 1]),
    lengths_must_fit=st.booleans(),
)
@example(data=b"", base_timestamp=0, count=0, lengths_must_fit=True)
@example(data=varint(2**31 - 1) + bytes(30), base_timestamp=0, count=1, lengths_must_fit=True)
def test_the_facts_are_those_of_the_columns_whatever_the_bytes(
    variant, data, base_timestamp, count, lengths_must_fit
):
    expected = from_columns(data, base_timestamp, count, lengths_must_fit)
    assert variant.walk(data, base_timestamp, count, lengths_must_fit) == expected
    assert variant.walk(memoryview(data), base_timestamp, count, lengths_must_fit) == expected


def test_a_batch_cut_anywhere_is_a_fault(variant):
    whole = b"".join(record(i, i, b"key", b"value" * i, ((b"name", None),)) for i in range(30))
    assert variant.walk(whole, NOW_MS, 30, True).fault is None
    for end in range(len(whole)):
        facts = variant.walk(whole[:end], NOW_MS, 30, True)
        assert facts == from_columns(whole[:end], NOW_MS, 30, True)
        assert facts.fault in (Fault.PREMATURE_END, Fault.MALFORMED_RECORD)


@pytest.mark.parametrize("key", [None, b"", b"key"], ids=["null", "empty", "short"])
@pytest.mark.parametrize("value", [None, b"value", bytes(60)], ids=["null", "short", "long"])
@pytest.mark.parametrize("step", [3, 100, 1_000], ids=["narrow times", "wide times", "wider times"])
def test_a_bit_turned_among_records_that_are_alike_is_noticed(variant, key, value, step):
    """A reader may take the tenth record for one like the ninth only if it is."""
    alike = [record(step * (9 + number), number, key, value) for number in range(10)]
    data, last = bytearray(b"".join(alike)), sum(map(len, alike[:-1]))
    for place, bit in itertools.product(range(last, len(data)), range(8)):
        data[place] ^= 1 << bit
        for lengths_must_fit in (True, False):
            facts = variant.walk(data, NOW_MS, 10, lengths_must_fit)
            assert facts == from_columns(bytes(data), NOW_MS, 10, lengths_must_fit)
        data[place] ^= 1 << bit


@pytest.mark.parametrize("longest_run", [1, 3, 8, 100])
def test_runs_of_records_that_are_alike_may_be_of_any_length(variant, longest_run):
    chance, alike = Random(longest_run), []
    for _ in range(600 // longest_run):
        value, headers = (
            bytes(chance.choice([0, 5, 90, 9_000])),
            ((b"name", None),) * chance.choice([0, 0, 1]),
        )
        alike += [(value, headers)] * chance.randint(1, longest_run)
    times = [chance.randint(-20_000, 20_000) // chance.choice([1, 300]) for _ in alike]
    data = b"".join(
        record(time, number, None, value, headers)
        for number, (time, (value, headers)) in enumerate(zip(times, alike, strict=True))
    )
    expected = RecordFacts(len(times), NOW_MS + min(times), NOW_MS + max(times), 0, largest_record=ANY)
    for lengths_must_fit in (True, False):
        assert variant.walk(data, NOW_MS, len(times), lengths_must_fit) == expected


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5])
def test_a_varint_may_be_padded_to_five_bytes(variant, width):
    data = record(7, width=width) * 3
    assert variant.walk(data, NOW_MS, 3, True) == RecordFacts(
        3, NOW_MS + 7, NOW_MS + 7, 0, largest_record=ANY
    )


def test_a_length_of_six_bytes_is_too_long(variant):
    assert variant.walk(record(7, width=6), NOW_MS, 1, True).fault is Fault.VARINT_TOO_LONG


def test_no_timestamp_is_counted_apart(variant):
    data = record(0) + record(NO_TIMESTAMP - NOW_MS) + record(5)
    assert variant.walk(data, NOW_MS, 3, True) == RecordFacts(3, NOW_MS, NOW_MS + 5, 1, largest_record=ANY)


def test_records_that_all_lack_a_time_have_no_span(variant):
    assert variant.walk(record() * 2, NO_TIMESTAMP, 2, True) == RecordFacts(
        2, None, None, 2, largest_record=ANY
    )


def test_times_wrap_at_64_bits_as_a_brokers_longs_do(variant):
    assert variant.walk(record(1), LONG_MAX, 1, True) == RecordFacts(
        1, LONG_MIN, LONG_MIN, 0, largest_record=ANY
    )


def test_the_edges_of_a_long_are_times_like_others(variant):
    data = record(LONG_MIN) + record(LONG_MAX)
    assert variant.walk(data, 0, 2, True) == RecordFacts(2, LONG_MIN, LONG_MAX, 0, largest_record=ANY)


def test_bytes_after_the_last_record_are_a_fault(variant):
    assert variant.walk(record() + b"\x00", NOW_MS, 1, True).fault is Fault.RECORDS_REMAINING


def test_a_declared_length_counts_only_where_it_must_fit(variant):
    """Brokers read compressed records in place and never compare their lengths."""
    data = b"\x7e" + record()[1:]
    assert variant.walk(data, NOW_MS, 1, lengths_must_fit=True).fault is Fault.MALFORMED_RECORD
    assert variant.walk(data, NOW_MS, 1, lengths_must_fit=False).fault is None
