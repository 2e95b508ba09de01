"""Records are read whole for copies of them: to the byte, in any codec, and never more than is there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.batches import CODECS, batch, record
from tsproxy.model.view import SessionLimits
from tsproxy.wire.contents import read_contents

LIMITS = SessionLimits()
NOW_MS = 1_767_225_600_000
TEXT = st.none() | st.binary(max_size=300)
HEADERS = st.lists(st.tuples(st.binary(max_size=20), TEXT), max_size=3)


def contents(data, positions):
    return list(read_contents(data, positions, LIMITS))


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_key_value_headers_and_time_are_those_that_were_sent(codec):
    headers = ((b"trace", b"\x00\xff"), (b"empty", b""), (b"null", None), (b"\xff", b"x"))
    records = [
        record(5, 0, key=b"a", value=b"b"),
        record(-7, 1, key=None, value=b"c" * 300, headers=headers),
        record(9, 2, key=b"", value=None),
    ]
    data = batch(codec=codec, records=records, base_timestamp=NOW_MS)

    first, second = contents(data, [1, 2])

    assert (first.position, first.timestamp_ms) == (1, NOW_MS - 7)
    assert (first.key, first.value, first.headers) == (None, b"c" * 300, headers)
    assert (second.position, second.timestamp_ms) == (2, NOW_MS + 9)
    assert (second.key, second.value, second.headers) == (b"", None, ())


@given(st.lists(st.tuples(TEXT, TEXT, HEADERS), min_size=1, max_size=8), st.data())
def test_any_records_at_any_positions_come_back_as_they_were(written, data):
    positions = data.draw(st.lists(st.integers(0, len(written) - 1), unique=True).map(sorted))
    records = [record(0, i, key, value, headers) for i, (key, value, headers) in enumerate(written)]
    found = contents(batch(records=records), positions)

    assert [each.position for each in found] == positions
    expected = [(key, value, tuple(headers)) for key, value, headers in map(written.__getitem__, positions)]
    assert [(each.key, each.value, each.headers) for each in found] == expected


@given(st.binary(max_size=200), st.integers(0, 400))
def test_whatever_is_damaged_ends_the_reading_and_raises_nothing(garbage, at):
    data = bytearray(batch([NOW_MS] * 3))
    data[at : at + len(garbage)] = garbage

    assert len(contents(bytes(data), [0, 1, 2])) <= 3


def test_of_what_is_not_one_batch_of_magic_2_nothing_is_read():
    one = batch([NOW_MS])
    for data in (b"", one + one, one[:-1], one[:16] + b"\x01" + one[17:]):
        assert contents(data, [0]) == []


def test_a_batch_that_unfolds_to_more_than_is_allowed_is_not_read():
    data = batch([NOW_MS], codec=CODECS["gzip"], value=bytes(1 << 20))

    assert list(read_contents(data, [0], SessionLimits(decompressed_batch=1 << 10))) == []
