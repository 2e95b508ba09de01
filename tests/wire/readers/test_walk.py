"""The walk: the same facts, columns and positions natively and in Python."""

import itertools
from array import array
from random import Random
from unittest.mock import ANY

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.wire.batches import record, varint
from tests.wire.readers import reference
from tests.wire.readers.byte_strings import longs, plain_records
from tsproxy.model.kafka import NO_TIMESTAMP
from tsproxy.model.records import RecordFacts
from tsproxy.wire import readers

NOW_MS = 1_790_000_000_000


@given(
    data=plain_records,
    base_timestamp=longs,
    count=st.integers(-1, 40) | st.sampled_from([-(2**31), 2**31 - 1]),
    lengths_must_fit=st.booleans(),
)
@example(data=b"", base_timestamp=0, count=0, lengths_must_fit=True)
@example(data=varint(2**31 - 1) + bytes(30), base_timestamp=0, count=1, lengths_must_fit=True)
def test_the_facts_are_those_of_the_columns_whatever_the_bytes(data, base_timestamp, count, lengths_must_fit):
    expected = reference.walk(data, base_timestamp, count, lengths_must_fit)
    assert readers.walk(data, base_timestamp, count, lengths_must_fit) == expected
    assert readers.walk(memoryview(data), base_timestamp, count, lengths_must_fit) == expected


@given(
    data=plain_records,
    base_timestamp=longs,
    count=st.integers(-1, 40) | st.sampled_from([-(2**31), 2**31 - 1]),
    lengths_must_fit=st.booleans(),
    start=st.integers(-1, 70),
)
def test_columns_and_positions_are_those_of_whole_records_whatever_the_bytes(
    data, base_timestamp, count, lengths_must_fit, start
):
    expected = reference.columns(data, base_timestamp, count, lengths_must_fit)
    assert readers.columns(memoryview(data), base_timestamp, count, lengths_must_fit) == expected
    positions = reference.spans(data, start, count, lengths_must_fit) if start >= 0 else array("q")
    assert readers.spans(data, start, count, lengths_must_fit) == positions


@pytest.mark.parametrize("key", [None, b"", b"key"], ids=["null", "empty", "short"])
@pytest.mark.parametrize("value", [None, b"value", bytes(60)], ids=["null", "short", "long"])
@pytest.mark.parametrize("step", [3, 100, 1_000], ids=["narrow times", "wide times", "wider times"])
def test_a_bit_turned_among_records_that_are_alike_is_noticed(key, value, step):
    """A reader may take the tenth record for one like the ninth only if it is."""
    alike = [record(step * (9 + number), number, key, value) for number in range(10)]
    data, last = bytearray(b"".join(alike)), sum(map(len, alike[:-1]))
    for place, bit in itertools.product(range(last, len(data)), range(8)):
        data[place] ^= 1 << bit
        for lengths_must_fit in (True, False):
            facts = readers.walk(data, NOW_MS, 10, lengths_must_fit)
            assert facts == reference.walk(bytes(data), NOW_MS, 10, lengths_must_fit)
        data[place] ^= 1 << bit


@pytest.mark.parametrize("longest_run", [1, 3, 8, 100])
def test_runs_of_records_that_are_alike_may_be_of_any_length(longest_run):
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
        assert readers.walk(data, NOW_MS, len(times), lengths_must_fit) == expected


def test_no_timestamp_is_counted_apart():
    data = record(0) + record(NO_TIMESTAMP - NOW_MS) + record(5)
    assert readers.walk(data, NOW_MS, 3, True) == RecordFacts(3, NOW_MS, NOW_MS + 5, 1, largest_record=ANY)


def test_records_that_all_lack_a_time_have_no_span():
    assert readers.walk(record() * 2, NO_TIMESTAMP, 2, True) == RecordFacts(
        2, None, None, 2, largest_record=ANY
    )
