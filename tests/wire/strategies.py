"""Hypothesis strategies for the properties of `wire`."""

from hypothesis import settings
from hypothesis import strategies as st

a_few = settings(max_examples=max(10, settings.default.max_examples // 10))
"""For a property that is tried for every message at every version: a few of each are many."""

odd_texts = st.one_of(
    st.text(max_size=40),
    st.binary(max_size=40).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
    st.sampled_from(["", "é" * 127, "x" * 126, "x" * 127, "x" * 16_383, "x" * 32_767, "\x00"]),
)
"""Names and texts as they may come: not UTF-8, or of a length whose length takes another byte."""


def integers(bits):
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


def tuples_of(strategy):
    return st.lists(strategy, max_size=3).map(tuple)
