"""Culprits as columns and their errors as bytes: the same natively, in Python, and read one by one."""

import re
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.readers.byte_strings import longs, plain_records, record
from tests.wire.readers.variants import VARIANTS, name_of
from tsproxy.model.kafka import LONG_MAX, LONG_MIN, NO_TIMESTAMP, wrap64
from tsproxy.wire import primitives, records

NOW_MS = 1_790_000_000_000

pytestmark = pytest.mark.parametrize("variant", VARIANTS, ids=name_of)

texts = st.text(max_size=400).map(str.encode)
ints = st.integers(-(2**31), 2**31 - 1)


@given(
    data=plain_records,
    base_timestamp=longs,
    count=st.integers(-1, 8) | st.sampled_from([-(2**31), 2**31 - 1]),
    bounds=st.tuples(longs, longs),
    most=st.integers(-1, 8),
)
def test_who_lies_outside_is_what_the_columns_say_whatever_the_bytes(
    variant, data, base_timestamp, count, bounds, most
):
    lowest_ms, highest_ms = bounds
    columns: records.Columns = ([], [], [], [])
    records.walk(columns, data, base_timestamp, count, lengths_must_fit=False)
    outside = [
        (index, time, offset_delta)
        for index, (time, offset_delta) in enumerate(zip(*columns[:2], strict=True))
        if time != NO_TIMESTAMP and (time < lowest_ms or time > highest_ms)
    ]
    found = variant.find_outside(memoryview(data), base_timestamp, count, lowest_ms, highest_ms, most)
    assert found.count == len(outside)
    listed = zip(found.positions, found.timestamps_ms, found.offset_deltas, strict=True)
    assert list(listed) == outside[: max(0, most)]


def test_both_bounds_are_inside(variant):
    data = b"".join(record(delta, n) for n, delta in enumerate([-1, 0, 10, 11]))
    found = variant.find_outside(data, NOW_MS, 4, NOW_MS, NOW_MS + 10, 9)
    assert (found.count, *found.positions) == (2, 0, 3)
    assert (*found.timestamps_ms, *found.offset_deltas) == (NOW_MS - 1, NOW_MS + 11, 0, 3)


@given(st.lists(longs, min_size=1))
def test_the_span_of_a_column_is_its_least_and_its_greatest(variant, times):
    assert variant.span(array("q", times)) == (min(times), max(times))


@given(
    rows=st.lists(st.tuples(ints, longs, longs), max_size=4),
    base_offset=longs,
    pieces=st.tuples(texts, texts, texts),
    is_flexible=st.booleans(),
)
def test_errors_are_written_as_the_types_of_the_protocol_say(variant, rows, base_offset, pieces, is_flexible):
    indices, times, offset_deltas = ([row[column] for row in rows] for column in range(3))
    written = variant.record_errors(
        array("i", indices), array("q", times), array("q", offset_deltas), base_offset, pieces, is_flexible
    )
    reader = primitives.Reader(written)
    for index, time, offset_delta in rows:
        before, between, after = (piece.decode() for piece in pieces)
        assert reader.int32() == index
        assert reader.string(is_flexible) == (
            f"{before}{time}{between}{wrap64(base_offset + offset_delta)}{after}"
        )
        reader.tags(is_flexible)
    assert reader.remaining == 0


@pytest.mark.parametrize("number", [0, 9, 10, -1, -10, LONG_MIN, LONG_MAX, 10**18, -(10**18)])
def test_numbers_are_written_in_full(variant, number):
    columns = array("i", [0]), array("q", [number]), array("q", [0])
    assert variant.record_errors(*columns, 0, (b"", b" ", b""), False)[6:] == b"%d 0" % number


error_texts = st.one_of(
    st.none(),
    st.text(max_size=40),
    st.builds("Timestamp {} of message with offset 7 is out of range.".format, longs),
    st.sampled_from(
        ["Timestamp ", "Timestamp -", "Timestamp 1 of messag", f"Timestamp {10**19} of message "]
    ),
)


@given(
    errors=st.lists(
        st.tuples(ints, error_texts, st.sampled_from([b"\x00", b"\x00", b"\x01\x00\x00"])), max_size=6
    ),
    count=st.integers(0, 8),
    is_flexible=st.booleans(),
    cut=st.integers(0, 60),
    start=st.integers(0, 3),
)
def test_errors_are_skimmed_up_to_the_first_that_is_odd(variant, errors, count, is_flexible, cut, start):
    ends, data = [start], bytes(start)
    for index, text, tags in errors:
        data += (
            primitives.int32(index) + primitives.string(text, is_flexible) + (tags if is_flexible else b"")
        )
        ends.append(len(data))
    data = data[: max(start, len(data) - cut)]
    usual = next((n for n, (_, _, tags) in enumerate(errors) if is_flexible and tags != b"\x00"), len(errors))
    skimmed = min(count, usual, sum(end <= len(data) for end in ends[1:]))
    times = [
        int(told[1])
        for _, text, _ in errors[:skimmed]
        if (told := re.match(r"Timestamp (-?\d{1,19}) of message ", text or "", re.ASCII))
    ]
    times = [time for time in times if time != NO_TIMESTAMP and LONG_MIN <= time <= LONG_MAX]

    found = variant.skim_errors(memoryview(data), start, count, is_flexible)
    assert found == (skimmed, ends[skimmed], min(times, default=None), max(times, default=None))


@given(data=st.binary(max_size=60), count=st.integers(0, 9), is_flexible=st.booleans())
def test_of_any_bytes_both_versions_skim_the_same(variant, data, count, is_flexible):
    assert variant.skim_errors(data, 0, count, is_flexible) == VARIANTS[0].skim_errors(
        data, 0, count, is_flexible
    )
