"""The walk over an answer of Fetch or ShareFetch: it finds the tail, whatever comes before it.

The oracle is kio, generated from Kafka's schemas: an answer with nodes is the one without, but for its end.
"""

import itertools
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kio.index import load_response_schema

from tests.session.messages import FETCH, SHARE_FETCH, answer
from tests.wire.entities import entities, written
from tests.wire.fetched import (
    any_body,
    current_leader,
    each_tail,
    fetched,
    partition,
    share_fetched,
    share_partition,
    tags_of,
)
from tests.wire.readers import reference
from tests.wire.strategies import a_few
from tsproxy.wire.k01_k78_fetch import layout_of
from tsproxy.wire.readers import FetchWalk
from tsproxy.wire.readers.streamed import NO_TAIL, Layout

VERSIONS = [(FETCH, 16), (FETCH, 17), (FETCH, 18), (SHARE_FETCH, 1), (SHARE_FETCH, 2)]
LAYOUTS = [*Layout]

ENTITIES = {each: load_response_schema(*each) for each in VERSIONS}
BODY = fetched(
    [partition(b"r" * 300), partition(None, 6, 1, 2, tags_of(current_leader(2, 5), (9, b"unknown")))],
    [],
    [partition(b"", transactions=0)],
)
"""With each field there is, and each null; without its last byte, tagged fields may follow."""
SHARE_TOPICS = (
    [share_partition(b"r" * 300), share_partition(None, 6, 1, 2, tags_of((9, b"unknown")))],
    [],
    [share_partition(b"", acquired=0)],
)
BODIES = {
    Layout.FETCH: BODY,
    Layout.SHARE_FETCH_0: share_fetched(*SHARE_TOPICS, version=0),
    Layout.SHARE_FETCH: share_fetched(*SHARE_TOPICS),
}
each_layout = pytest.mark.parametrize("layout", LAYOUTS)


def walked(whole, pieces, layout=Layout.FETCH):
    """(how many bytes come before the tail, the walk), where nothing is shown again that was walked over."""
    walk = FetchWalk()
    walk.begin(len(whole), layout)
    size = 0
    for piece in pieces:
        done = walk.advance(piece)
        size += done
        if done < len(piece):
            break
    return size, walk


def is_walked_to_its_end(whole, pieces, layout):
    """The end is the one that is found where numbers are read one by one."""
    end = reference.fetch_end(whole, layout)
    size, walk = walked(whole, pieces, layout)
    assert walk.is_bad == (end is None)
    if end is not None:
        left = len(whole) - end
        assert (size, *state(walk)) == (end, left, left > 0, False, left == 0)


def cut(whole, cuts):
    at = [0, *sorted(each for each in cuts if each < len(whole)), len(whole)]
    return [whole[start:end] for start, end in itertools.pairwise(at)]


def state(walk):
    return walk.left, walk.is_at_tail, walk.is_bad, walk.is_over


@pytest.mark.parametrize(("api_key", "version"), VERSIONS)
@a_few
@given(data=st.data())
def test_the_tail_begins_where_the_answer_without_nodes_ends(api_key, version, data):
    layout = layout_of(api_key, version)
    end = len(NO_TAIL[layout])
    entity = data.draw(entities(ENTITIES[api_key, version]))
    without = answer(api_key, version, written(replace(entity, node_endpoints=())))
    whole = answer(api_key, version, written(entity))
    assert whole[8:-end].startswith(without[8:-end])
    pieces = cut(whole, data.draw(st.lists(st.integers(1, 2_000), max_size=5)))
    size, walk = walked(whole, pieces, layout)
    if entity.node_endpoints:
        assert (size, walk.left) == (len(without) - end, len(whole) - len(without) + end)
        assert walk.is_at_tail
    else:
        assert size == len(whole)
        assert walk.is_over


@each_tail
def test_wherever_an_answer_is_cut_its_tail_is_found(layout, tail):
    whole = answer(FETCH, 18, BODIES[layout].removesuffix(NO_TAIL[layout]) + tail)
    for at in range(len(whole) - len(tail) + 1):
        size, walk = walked(whole, [whole[:at], memoryview(whole)[at:]], layout)
        assert (size, walk.left, walk.is_at_tail) == (len(whole) - len(tail), len(tail), True)
        assert walk.advance(whole[size:]) == 0


@each_layout
def test_wherever_an_answer_without_a_tail_is_cut_all_of_it_is_walked_over(layout):
    whole = answer(FETCH, 18, BODIES[layout])
    for at in range(len(whole) + 1):
        size, walk = walked(whole, [whole[:at], whole[at:]], layout)
        assert (size, *state(walk)) == (len(whole), 0, False, False, True)
    size, walk = walked(whole, [whole[at : at + 1] for at in range(len(whole))], layout)
    assert (size, *state(walk)) == (len(whole), 0, False, False, True)


@each_layout
@given(body=st.binary(max_size=300), cuts=st.lists(st.integers(0, 310), max_size=4))
@example(body=b"", cuts=[])
def test_any_bytes_are_walked_alike_by_both_and_in_any_pieces(layout, body, cuts):
    whole = answer(FETCH, 16, body)
    is_walked_to_its_end(whole, cut(whole, cuts), layout)


@each_layout
@given(random=st.randoms(use_true_random=False), data=st.data())
def test_a_damaged_answer_is_walked_alike_by_both(layout, random, data):
    whole = bytearray(answer(FETCH, 16, any_body(random, layout)))
    whole[data.draw(st.integers(8, len(whole) - 1))] = data.draw(st.integers(0, 255))
    is_walked_to_its_end(whole, cut(whole, data.draw(st.lists(st.integers(0, 900), max_size=4))), layout)


SHARE = share_fetched([share_partition(b"r")])
BAD_SHARE = {
    "it ends before its tail": SHARE[:-2],
    "it ends within its tail": SHARE[:-1],
    "no nodes but null": SHARE[:-2] + b"\x00\x00",
    "null for topics": SHARE[:11] + bytes(2),
    "null for acquired records": share_fetched([share_partition(acquired=0)])[:-5] + bytes(20),
}


@pytest.mark.parametrize("body", BAD_SHARE.values(), ids=BAD_SHARE)
def test_a_share_fetch_that_does_not_fit_is_bad(body):
    whole = answer(SHARE_FETCH, 2, body)
    _, walk = walked(whole, [whole], Layout.SHARE_FETCH)
    assert walk.is_bad


BAD = {
    "it ends before its tail": BODY[:-1],
    "it ends in a number": BODY[:11],
    "a tail of one byte that announces a field": BODY[:-1] + b"\x01",
    "no topics but null": bytes(10) + b"\x00" + b"\x00",
    "a topic with null for partitions": bytes(10) + b"\x02" + bytes(16) + b"\x00\x00\x00",
    "a number of six bytes": bytes(10) + b"\x80\x80\x80\x80\x80\x01" + bytes(99),
    "a number above 32 bits": bytes(10) + b"\x80\x80\x80\x80\x10" + bytes(99),
    "a padded number": bytes(10) + b"\x82\x00" + BODY[11:],
    "more records than bytes": bytes(10)
    + b"\x02"
    + bytes(16)
    + b"\x02"
    + bytes(30)
    + b"\x00"
    + bytes(4)
    + b"\x7f\x00",
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_an_answer_that_does_not_fit_is_bad_and_stays_so(body):
    whole = answer(FETCH, 18, body)
    _, walk = walked(whole, [whole])
    assert walk.is_bad
    assert walk.advance(bytes(50)) == 0
    assert not walk.is_at_tail
    assert not walk.is_over


def test_a_walk_begins_again_and_ends_when_it_is_told():
    walk, whole = FetchWalk(), answer(FETCH, 18, BODY)
    assert walk.is_over
    for size in (5, len(whole)):
        walk.begin(len(whole))
        assert not walk.is_over
        assert walk.advance(whole[:size]) == size
    walk.begin(len(whole))
    walk.end()
    assert state(walk) == (0, False, False, True)
    assert walk.advance(whole) == 0
