"""The end of an answer that streams becomes one field of zeros, as long as it was."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.fetched import GARBAGE_SHARE_TAILS, GARBAGE_TAILS, SHARE_TAILS, tags_of
from tsproxy.wire.k01_k78_fetch import blank_tail, layout_of
from tsproxy.wire.primitives import DecodeError, Reader
from tsproxy.wire.readers import Layout


def fields_in(section):
    reader = Reader(section)
    fields = {
        reader.unsigned_varint(): bytes(reader.take(reader.unsigned_varint()))
        for _ in range(reader.tag_count())
    }
    assert reader.remaining == 0
    return fields


def test_fields_of_any_size_become_one_of_zeros():
    for size in (*range(300), *range(16_370, 16_400), 70_000):
        section = tags_of((0, b"\xff" * size))
        blanked = blank_tail(section, Layout.FETCH)
        assert len(blanked) == len(section), size
        [(tag, data)] = fields_in(blanked).items()
        assert tag in (127, 128)
        assert not any(data)


@given(tagged=st.lists(st.tuples(st.integers(0, 300), st.binary(max_size=200)), min_size=1, max_size=9))
def test_nothing_of_any_fields_is_left(tagged):
    section = tags_of(*tagged)
    [(_, data)] = fields_in(blank_tail(section, Layout.FETCH)).items()
    assert not any(data)
    assert len(blank_tail(section, Layout.FETCH)) == len(section)


LAYOUTS = [*Layout]
each_garbage = pytest.mark.parametrize(
    ("layout", "tail"),
    [
        (layout, tail)
        for layout in LAYOUTS
        for tail in (GARBAGE_SHARE_TAILS if layout else GARBAGE_TAILS).values()
    ],
)


@pytest.mark.parametrize("layout", LAYOUTS[1:])
@pytest.mark.parametrize("tail", SHARE_TAILS.values(), ids=SHARE_TAILS)
def test_a_share_fetch_has_no_nodes_and_one_field_of_zeros_afterwards(layout, tail):
    blanked = blank_tail(tail, layout)
    assert blanked[:1] == b"\x01", "an empty array"
    [(tag, data)] = fields_in(blanked[1:]).items()
    assert tag in (127, 128)
    assert not any(data)


@each_garbage
def test_what_is_no_tail_is_a_decode_error(layout, tail):
    with pytest.raises(DecodeError):
        blank_tail(tail, layout)


@pytest.mark.parametrize("layout", LAYOUTS)
@given(tail=st.binary(max_size=60))
def test_whatever_comes_is_blanked_or_a_decode_error(layout, tail):
    with suppress(DecodeError):
        assert len(blank_tail(tail, layout)) == len(tail)


def test_fetch_from_16_on_and_share_fetch_may_name_nodes():
    assert [v for v in range(19) if layout_of(1, v) is Layout.FETCH] == [16, 17, 18]
    assert [layout_of(78, v) for v in range(3)] == [Layout.SHARE_FETCH_0, *[Layout.SHARE_FETCH] * 2]
    assert layout_of(0, 16) is None
