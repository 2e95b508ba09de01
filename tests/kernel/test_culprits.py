"""Culprits as columns and their errors as bytes: the same natively, in Python, and read one by one."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernel.byte_strings import longs, plain_records, record
from tests.kernel.variants import VARIANTS, name_of
from tsproxy.model.kafka import LONG_MAX, LONG_MIN, NO_TIMESTAMP, wrap64
from tsproxy.wire import primitives, records

NOW_MS = 1_790_000_000_000

pytestmark = pytest.mark.parametrize("kernel", VARIANTS, ids=name_of)

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
    kernel, data, base_timestamp, count, bounds, most
):
    lowest_ms, highest_ms = bounds
    columns: records.Columns = ([], [], [], [])
    records.walk(columns, data, base_timestamp, count, lengths_must_fit=False)
    outside = [
        (index, time, offset_delta)
        for index, (time, offset_delta) in enumerate(zip(*columns[:2], strict=True))
        if time != NO_TIMESTAMP and (time < lowest_ms or time > highest_ms)
    ]
    found = kernel.find_outside(memoryview(data), base_timestamp, count, lowest_ms, highest_ms, most)
    assert found.count == len(outside)
    listed = zip(found.positions, found.timestamps_ms, found.offset_deltas, strict=True)
    assert list(listed) == outside[: max(0, most)]


def test_both_bounds_are_inside(kernel):
    data = b"".join(record(delta, n) for n, delta in enumerate([-1, 0, 10, 11]))
    found = kernel.find_outside(data, NOW_MS, 4, NOW_MS, NOW_MS + 10, 9)
    assert (found.count, *found.positions) == (2, 0, 3)
    assert (*found.timestamps_ms, *found.offset_deltas) == (NOW_MS - 1, NOW_MS + 11, 0, 3)


@given(
    rows=st.lists(st.tuples(ints, longs, longs), max_size=4),
    base_offset=longs,
    pieces=st.tuples(texts, texts, texts),
    is_flexible=st.booleans(),
)
def test_errors_are_written_as_the_types_of_the_protocol_say(kernel, rows, base_offset, pieces, is_flexible):
    indices, times, offset_deltas = ([row[column] for row in rows] for column in range(3))
    written = kernel.record_errors(
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
def test_numbers_are_written_in_full(kernel, number):
    columns = array("i", [0]), array("q", [number]), array("q", [0])
    assert kernel.record_errors(*columns, 0, (b"", b" ", b""), False)[6:] == b"%d 0" % number
