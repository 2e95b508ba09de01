"""The tagged fields of a Fetch answer become one field of zeros, as long as they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.fetched import GARBAGE_TAILS, TAILS, tags_of
from tsproxy.wire.k01_fetch import blank_tags, names_nodes
from tsproxy.wire.primitives import DecodeError, Reader


def fields_in(section):
    reader = Reader(section)
    fields = {
        reader.unsigned_varint(): bytes(reader.take(reader.unsigned_varint()))
        for _ in range(reader.tag_count())
    }
    assert reader.remaining == 0
    return fields


@pytest.mark.parametrize("size", [*range(300), *range(16_370, 16_400), 70_000])
def test_fields_of_any_size_become_one_of_zeros(size):
    section = tags_of((0, b"\xff" * size))
    blanked = blank_tags(section)
    assert len(blanked) == len(section)
    [(tag, data)] = fields_in(blanked).items()
    assert tag in (127, 128)
    assert not any(data)


@given(tagged=st.lists(st.tuples(st.integers(0, 300), st.binary(max_size=200)), min_size=1, max_size=9))
def test_nothing_of_any_fields_is_left(tagged):
    section = tags_of(*tagged)
    [(_, data)] = fields_in(blank_tags(section)).items()
    assert not any(data)
    assert len(blank_tags(section)) == len(section)


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
def test_no_word_of_a_brokers_is_left(tail):
    assert b"broker" not in blank_tags(tail)


@pytest.mark.parametrize("tail", GARBAGE_TAILS.values(), ids=GARBAGE_TAILS)
def test_what_is_no_section_of_fields_is_a_decode_error(tail):
    with pytest.raises(DecodeError):
        blank_tags(tail)


@given(section=st.binary(max_size=60))
def test_whatever_comes_is_blanked_or_a_decode_error(section):
    try:
        blanked = blank_tags(section)
    except DecodeError:
        return
    assert len(blanked) == len(section)


def test_fetch_names_nodes_from_16_on():
    assert [v for v in range(19) if names_nodes(1, v)] == [16, 17, 18]
    assert not names_nodes(0, 16)
