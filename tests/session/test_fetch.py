"""Fetch from version 16 on, and ShareFetch: the answer streams, and what it says of brokers at its end is
blanked."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer import FetchResponse

from tests.session.conversation import NOW_MS, PEER, Conversation, Session, broker, closed, forwarded, view_of
from tests.session.messages import FETCH, HEARTBEAT, METADATA, SHARE_FETCH, answer, produce, produced, request
from tests.wire.batches import batch, unsigned
from tests.wire.fetched import (
    GARBAGE_SHARE_TAILS,
    GARBAGE_TAILS,
    NO_NODES,
    NO_TAGS,
    SHARE_TAILS,
    TAILS,
    any_body,
    current_leader,
    fetched,
    node_endpoints,
    partition,
    share_fetched,
    share_partition,
    tags_of,
)
from tsproxy.session.effects import CloseReason, CloseSession, SendToClient
from tsproxy.wire.k01_k78_fetch import MAX_TAIL_BYTES, blank_tail, layout_of

VERSIONS = (16, 17, 18)
MIB = 1 << 20

MOVED = partition(None, 6, 0, tags=tags_of(current_leader(2, 5)))
SHARED = [share_partition(None, 6, 0), share_partition(b"records", 0, 1, acquired=2)]
PARTITIONS = [MOVED, partition(b"records", 0, 1, transactions=2)]
NODES = TAILS["NodeEndpoints"]

each_version = pytest.mark.parametrize("version", VERSIONS)
each_way = pytest.mark.parametrize("fast", [False, True])


def blanked(tail, api_key=FETCH):
    return blank_tail(tail, layout_of(api_key, 18))


def told(tail, version=18, correlation_id=1, api_key=FETCH):
    if api_key == SHARE_FETCH:
        return answer(api_key, 2, share_fetched(SHARED, tail=tail), correlation_id)
    return answer(FETCH, version, fetched(PARTITIONS, tail=tail), correlation_id)


def asked_of(api_key):
    return request(api_key, 2 if api_key == SHARE_FETCH else 18)


def each_of(tails, of_share):
    pairs = [(FETCH, tail) for tail in tails.values()] + [(SHARE_FETCH, tail) for tail in of_share.values()]
    names = [*tails, *(f"share: {name}" for name in of_share)]
    return pytest.mark.parametrize(("api_key", "tail"), pairs, ids=names)


class Way:
    """A session, and before it its fast path, as a connection asks them."""

    def __init__(self, fast, **limits):
        self.session = Session(PEER, view_of(**limits), uses_fast_path=fast)
        self.session.client_bytes(request(HEARTBEAT), NOW_MS)
        self.sent = b""
        self.closed = None
        self.says(answer(HEARTBEAT))
        self.sent = b""

    def asks(self, *frames):
        data, quick = b"".join(frames), self.session.fast_path
        size = quick.requests.forward_read(data, NOW_MS) if quick else 0
        assert size == len(data) or not quick
        if size < len(data):
            self.session.client_bytes(data, NOW_MS)
        return self

    def says(self, *pieces):
        for piece in pieces:
            quick = self.session.fast_path
            size = quick.answers.forward_read(piece) if quick else 0
            self.sent += piece[:size]
            for effect in self.session.broker_bytes(piece[size:], NOW_MS) if size < len(piece) else ():
                if isinstance(effect, SendToClient):
                    self.sent += effect.data
                elif isinstance(effect, CloseSession):
                    self.closed = effect
        return self


@each_way
@each_version
def test_an_answer_without_fields_of_its_own_streams_byte_for_byte(fast, version):
    whole, way = told(NO_TAGS, version), Way(fast).asks(request(FETCH, version))
    for at in range(len(whole)):
        way.says(whole[at : at + 1])
        assert whole.startswith(way.sent)
        assert len(way.sent) >= at - 7, "the head is held, and nothing else"
    assert way.sent == whole
    assert way.session.in_flight_requests == 0


def cuts(size, edge=600, step=37):
    """Each place of a short answer. Nodes repeat in the middle of a long one: as `step` is a prime that their
    size is no multiple of, each place within a node comes there, too."""
    return sorted({*range(min(size, edge)), *range(edge, size, step), *range(max(0, size - edge), size)})


@each_way
@each_of(TAILS, SHARE_TAILS)
def test_fields_of_the_answer_are_blanked_wherever_it_is_cut(fast, api_key, tail):
    whole = told(tail, api_key=api_key)
    expected = told(blanked(tail, api_key), api_key=api_key)
    for at in cuts(len(whole)):
        way = Way(fast).asks(asked_of(api_key), request(HEARTBEAT, correlation_id=2))
        way.says(whole[:at], whole[at:], answer(HEARTBEAT, correlation_id=2))
        assert way.sent == expected + answer(HEARTBEAT, correlation_id=2)


@each_version
def test_a_client_reads_no_nodes_and_all_else(version):
    """kafka-python, which skips the field of zeros as all clients do (KIP-482)."""
    sent = Way(False).asks(request(FETCH, version)).says(told(NODES, version)).sent
    found = FetchResponse.decode(sent[9:], version=version)
    assert found == FetchResponse.decode(told(NO_TAGS, version)[9:], version=version)
    assert found.node_endpoints == []
    moved, stays = found.responses[0].partitions
    assert (moved.current_leader.leader_id, moved.current_leader.leader_epoch) == (2, 5)
    assert stays.records == b"records"


@each_way
@each_of(GARBAGE_TAILS, GARBAGE_SHARE_TAILS)
def test_an_end_that_is_no_fields_closes_the_connection(fast, api_key, tail):
    whole = told(tail, api_key=api_key)
    way = Way(fast).asks(asked_of(api_key), request(HEARTBEAT, correlation_id=2)).says(whole)
    assert way.closed.reason is CloseReason.BAD_ANSWER
    assert whole.startswith(way.sent)
    assert b"broker" not in way.sent


@each_way
@pytest.mark.parametrize("api_key", [FETCH, SHARE_FETCH])
@given(random=st.randoms(use_true_random=False), data=st.data())
def test_a_damaged_answer_shows_no_broker_or_is_cut_off(fast, api_key, random, data):
    """One byte is another one. The proxy and the client read the same then, wherever the answer's end is."""
    whole = bytearray(answer(api_key, 18, any_body(random, layout_of(api_key, 18))))
    at = data.draw(st.integers(8, len(whole) - 1))
    whole[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    way = Way(fast).asks(asked_of(api_key)).says(bytes(whole[:cut]), bytes(whole[cut:]))
    assert (way.closed is None) == (len(way.sent) == len(whole))
    assert way.closed is None or way.closed.reason is CloseReason.BAD_ANSWER


@each_way
@pytest.mark.parametrize("api_key", [FETCH, SHARE_FETCH])
@given(body=st.binary(max_size=200), cut=st.integers(0, 210))
def test_whatever_a_broker_answers_is_forwarded_whole_or_closes(fast, api_key, body, cut):
    whole = answer(api_key, 16, body)
    way = Way(fast).asks(asked_of(api_key)).says(whole[:cut], whole[cut:])
    assert (way.closed is None) == (len(way.sent) == len(whole))


def test_an_end_that_is_too_long_closes_the_connection_at_once():
    tail = tags_of((0, bytes(MAX_TAIL_BYTES)))
    asked, whole = request(FETCH, 18), told(tail)
    assert (
        Conversation()
        >> forwarded(asked)
        >> broker(whole[: len(whole) - len(tail) + 1])
        << closed(CloseReason.BAD_ANSWER)
    )


@each_way
@pytest.mark.parametrize(
    ("api_key", "body", "end"),
    [
        (FETCH, fetched([partition(b"")]), bytes(3)),
        (SHARE_FETCH, share_fetched([share_partition(b"", acquired=0)]), b"\x01" + bytes(2) + NO_NODES),
    ],
)
def test_a_large_answer_is_not_held(fast, api_key, body, end):
    """Its records pass by, one piece at a time."""
    records = 64 * MIB
    empty = answer(api_key, 18, body)
    begun = empty[4 : -1 - len(end)] + unsigned(records + 1)
    begun = (len(begun) + records + len(end)).to_bytes(4, "big") + begun
    way, piece = Way(fast).asks(asked_of(api_key)), bytes(MIB)
    way.says(begun)
    tracemalloc.start()
    for _ in range(records // MIB):
        way.sent = b""
        assert way.says(piece).sent == piece
    most_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    way.says(end)
    assert way.closed is None
    assert way.session.in_flight_requests == 0
    assert most_bytes < 4 * MIB


@each_way
def test_answers_before_and_after_are_forwarded_in_turn(fast):
    asked = [
        request(FETCH, 17, correlation_id=1),
        request(FETCH, 12, correlation_id=2),
        request(FETCH, 16, correlation_id=3),
        request(FETCH, 18, correlation_id=4),
    ]
    answers = [told(NODES, 17, 1), answer(FETCH, 12, b"any", 2), told(NO_TAGS, 16, 3), told(NODES, 18, 4)]
    expected = [told(blanked(NODES), 17, 1), *answers[1:3], told(blanked(NODES), 18, 4)]
    said = b"".join(answers)
    for size in (1, 7, 100, len(said)):
        way = Way(fast).asks(*asked).says(*(said[at : at + size] for at in range(0, len(said), size)))
        assert way.sent == b"".join(expected)


def test_an_answer_of_ours_waits_for_the_blanked_end():
    bad = produce({"t": {0: batch([0])}}, correlation_id=2)
    asked, whole, expected = request(FETCH, 18), told(NODES), told(blanked(NODES))
    session = Session(PEER, view_of())
    session.client_bytes(asked + bad, NOW_MS)
    size = len(whole) - len(NODES)
    (sent,) = session.broker_bytes(whole[:-1], NOW_MS)
    assert sent.data == expected[:size]
    (sent,) = session.broker_bytes(whole[-1:], NOW_MS)
    assert sent.data.startswith(expected[size:])
    assert len(sent.data) > len(expected[size:]) + len(produced({"t": {0: {}}}))


def test_what_is_held_of_the_end_counts():
    session = Session(PEER, view_of())
    session.client_bytes(request(FETCH, 18), NOW_MS)
    session.broker_bytes(told(NODES)[:-1], NOW_MS)
    assert session.held_bytes == len(NODES) - 1 + session._state.slots.held_bytes


def test_metadata_behind_it_is_read():
    """The place in a Fetch answer is forgotten with it."""
    node = tags_of(node_endpoints((1, "b1", 9092)))
    session = Session(PEER, view_of())
    session.client_bytes(request(FETCH, 16) + request(METADATA, correlation_id=2), NOW_MS)
    metadata = answer(
        METADATA, 0, b"\x00\x00\x00\x01" + b"\x00\x00\x00\x01" + b"\x00\x02b1\x00\x00\x23\x84" + bytes(4), 2
    )
    (sent,) = session.broker_bytes(told(node, 16) + metadata, NOW_MS)
    assert sent.data.startswith(told(blanked(node), 16))
    assert b"b1" not in sent.data
    assert b"proxy.example" in sent.data
