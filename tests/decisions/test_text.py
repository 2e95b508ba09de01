"""Text of a client is printable and bounded in the log, whatever the client sent."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsproxy.decisions.text import bounded, instant
from tsproxy.model.names import NAME_CHARS, kept_name

anything = st.one_of(
    st.text(st.characters(codec=None, categories=None), max_size=400),
    st.binary(max_size=400).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
)


@given(anything)
def test_any_text_becomes_printable_utf8_of_bounded_length(text):
    result = bounded(text)
    assert result.isprintable()
    assert len(result) <= NAME_CHARS + 13
    assert json.loads(json.dumps(result).encode("utf-8")) == result
    result.encode("utf-8")


quoted = st.one_of(st.sampled_from("\\'\"\0x"), st.characters(codec=None, categories=None))


@given(st.text(quoted, max_size=60))
def test_each_unprintable_character_is_escaped_and_no_other(text):
    one_by_one = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    assert bounded(text, 1_000) == one_by_one


@given(st.text(st.characters(categories=["L", "N", "P"]), max_size=NAME_CHARS))
def test_an_ordinary_name_is_left_alone(text):
    assert bounded(text) == text


def test_two_long_names_that_differ_at_their_end_stay_two_names():
    assert bounded("x" * 32_000 + "a") != bounded("x" * 32_000 + "b")


@pytest.mark.parametrize(
    ("time_ms", "text"),
    [
        (1_795_176_000_086, "2026-11-20T12:00:00.086Z"),
        (0, "1970-01-01T00:00:00.000Z"),
        (-5, "1970-01-01T00:00:00.000Z"),
        (2**63 - 1, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_an_instant_has_one_width_and_sorts_as_text(time_ms, text):
    assert instant(time_ms) == text


def test_a_name_that_was_cut_before_is_written_as_if_it_were_whole():
    for name in ("n" * 32_000, "\x1b" * 300, "\U0001f600" * 250):
        assert bounded(kept_name(name)) == bounded(name)
        assert bounded(kept_name(name), 80) == bounded(name, 80)
