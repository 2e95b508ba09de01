"""Culprits as columns and their errors as bytes: the same natively and in Python."""

import re
from array import array

from hypothesis import given
from hypothesis import strategies as st

from tests.wire.readers import reference
from tests.wire.readers.byte_strings import longs, plain_records
from tsproxy.model.kafka import LONG_MAX, LONG_MIN, NO_TIMESTAMP
from tsproxy.wire import primitives, readers

NOW_MS = 1_790_000_000_000

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
    data, base_timestamp, count, bounds, most
):
    search = base_timestamp, count, *bounds, most
    assert readers.find_outside(memoryview(data), *search) == reference.find_outside(data, *search)


@given(st.lists(longs, min_size=1))
def test_the_span_of_a_column_is_its_least_and_its_greatest(times):
    assert readers.span(array("q", times)) == (min(times), max(times))


@given(
    rows=st.lists(st.tuples(ints, longs, longs), max_size=4),
    base_offset=longs,
    pieces=st.tuples(texts, texts, texts),
    is_flexible=st.booleans(),
)
def test_errors_are_written_as_the_types_of_the_protocol_say(rows, base_offset, pieces, is_flexible):
    columns = (array(kind, [row[column] for row in rows]) for column, kind in enumerate("iqq"))
    errors = (*columns, base_offset, pieces, is_flexible)
    assert readers.record_errors(*errors) == reference.record_errors(*errors)


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
def test_errors_are_skimmed_up_to_the_first_that_is_odd(errors, count, is_flexible, cut, start):
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

    found = readers.skim_errors(memoryview(data), start, count, is_flexible)
    assert found == (skimmed, ends[skimmed], min(times, default=None), max(times, default=None))


@given(data=st.binary(max_size=60), count=st.integers(0, 9), is_flexible=st.booleans())
def test_of_any_bytes_both_skim_the_same(data, count, is_flexible):
    skimmed = reference.skim_errors(data, 0, count, is_flexible)
    assert readers.skim_errors(data, 0, count, is_flexible) == skimmed
