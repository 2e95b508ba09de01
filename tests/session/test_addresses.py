"""No client is ever told how to slip past the proxy: every address is mapped, or left out."""

import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.conversation import (
    NOW_MS,
    PEER,
    Conversation,
    Expected,
    Session,
    booked,
    broker,
    broker_held,
    broker_released,
    forwarded,
    later,
    node_wanted,
    relayed,
    returned,
    to_client,
    view_becomes,
    view_of,
)
from tests.session.messages import (
    FETCH,
    METADATA,
    PRODUCE,
    accepted,
    answer,
    out_of_range,
    produce,
    produced,
    rejected,
    request,
)
from tests.wire.batches import batch
from tests.wire.entities import addresses_in, entities, understood_responses, with_addresses, written
from tests.wire.strategies import a_few
from tsproxy.model.produce import NodeEndpoint
from tsproxy.model.view import Endpoint
from tsproxy.session.deadlines import NODE_WAIT_MS
from tsproxy.session.effects import (
    CloseSession,
    Count,
    Emit,
    NodeWanted,
    ReadAnswer,
    SendToClient,
    SessionCounter,
)
from tsproxy.wire.k33_k44_alter_configs import REPLACEMENT

GOOD, BAD = batch([NOW_MS]), batch([0])

HIDDEN_HOST, HIDDEN_PORT = "broker-7.internal.example", 0x51525354
HIDDEN = (HIDDEN_HOST.encode(), HIDDEN_PORT.to_bytes(4, "big"))


FIRST_VERSION = {0: 10, 1: 16, 3: 0, 10: 0, 60: 0, 78: 1, 79: 1}
"""API key -> the first version whose answers tell addresses, of the seven APIs that do."""
TELLING = {
    f"{cls.__name__} v{version}": (api_key, version, cls)
    for api_key, version, cls in understood_responses(FIRST_VERSION)
    if version >= FIRST_VERSION[api_key]
}


def read_whole(session, effects):
    """The effects, and those of the answers that a thread reads."""
    beside = [effect for effect in effects if isinstance(effect, ReadAnswer)]
    more = [read_whole(session, session.answer_read(each.job(), NOW_MS)) for each in beside]
    return [*effects, *(effect for each in more for effect in each)]


@pytest.mark.parametrize(("api_key", "version", "cls"), TELLING.values(), ids=TELLING)
@a_few
@given(data=st.data())
def test_no_byte_of_a_brokers_address_reaches_a_client(api_key, version, cls, data):
    """Any answer, any known nodes, cut at any byte."""
    entity = with_addresses(data.draw(entities(cls)), lambda *_: (HIDDEN_HOST, HIDDEN_PORT))
    nodes = sorted({node_id for node_id, _, _ in addresses_in(entity)})
    known = data.draw(st.one_of(st.just(nodes), st.lists(st.sampled_from(nodes)) if nodes else st.just([])))
    view = replace(view_of(), endpoints=dict.fromkeys(known, Endpoint("proxy.example", 9193)))
    session = Session(PEER, view)
    asked = produce({"t": {0: GOOD, 1: BAD}}, version) if api_key == PRODUCE else request(api_key, version)
    session.client_bytes(asked, NOW_MS)
    said = answer(api_key, version, written(entity))
    cut = data.draw(st.integers(0, len(said)))
    effects = read_whole(session, session.broker_bytes(said[:cut], NOW_MS))
    effects += read_whole(session, session.broker_bytes(said[cut:], NOW_MS))
    if (deadline_ms := session.next_deadline_ms) is not None:
        effects += read_whole(session, session.deadline_passed(deadline_ms))
    sent = b"".join(effect.data for effect in effects if isinstance(effect, SendToClient))
    assert not [part for part in HIDDEN if part in sent]
    is_mapped = api_key in (FETCH, 78) or -1 not in nodes
    assert bool(sent) == is_mapped
    assert any(isinstance(effect, CloseSession) for effect in effects) != is_mapped


# -- Among a broker's configuration -----------------------------------------------------------------

LISTENERS = b"\x00\x09listeners"
CONFIGS_ASKED = request(32, 0, struct.pack(">ibhi", 1, 4, 1, -1)[:7] + b"1" + b"\xff\xff\xff\xff")


def configs_told(value):
    """One resource with one configuration, as DescribeConfigs v0 has it."""
    resource = struct.pack(">ihhbh", 1, 0, -1, 4, 1) + b"1" + struct.pack(">i", 1)
    return answer(32, 0, bytes(4) + resource + LISTENERS + value + bytes(3))


def quorum_told(listeners):
    """One node of the quorum, as DescribeQuorum v2 has it."""
    return answer(55, 2, bytes.fromhex("0000 00 01 02 00000bb9") + listeners + b"\x00\x00")


def text_told(api_key, text):
    """The error of one broker's configuration."""
    head = struct.pack(">iihh", 0, 1, 42, len(text))
    return answer(api_key, 0, head + text + struct.pack(">bh", 4, 1) + b"1")


QUORUM_HOST = bytes([len(HIDDEN_HOST) + 1]) + HIDDEN[0]
MASKED = {
    "among configurations": (
        CONFIGS_ASKED,
        configs_told(struct.pack(">h", len(HIDDEN_HOST)) + HIDDEN[0]),
        configs_told(b"\xff\xff"),
    ),
    "of controllers": (
        request(55, 2, b"\x01\x00"),
        quorum_told(b"\x02" + b"\x04CTR" + QUORUM_HOST + b"\x51\x52" + b"\x00"),
        quorum_told(b"\x01"),
    ),
    **{
        f"in an error text of {api_key}": (
            request(api_key, 0, bytes(5)),
            text_told(api_key, b"listeners are A://" + HIDDEN[0]),
            text_told(api_key, REPLACEMENT.encode()),
        )
        for api_key in (33, 44)
    },
}


@pytest.mark.parametrize("masks", [True, False])
@pytest.mark.parametrize(("asked", "told", "masked"), MASKED.values(), ids=MASKED)
def test_addresses_are_left_out_or_told_as_the_listener_says(asked, told, masked, masks):
    conversation = Conversation(view=replace(view_of(), masks_addresses=masks)) >> forwarded(asked)
    assert conversation >> broker(told) << to_client(masked if masks else told)


def test_an_older_quorum_streams_through():
    asked, told = request(55, 1, b"\x01\x00"), answer(55, 1, b"whatever it says")
    assert Conversation() >> relayed(asked, told)


def test_the_configurations_of_topics_alone_stream_through():
    """Two thousand topics, as a user interface asks for them, once held the loop for 0.6 s."""
    asked = request(32, 0, struct.pack(">ibh", 1, 2, 1) + b"t" + b"\xff\xff\xff\xff")
    told = configs_told(b"\x00\x01v")
    assert Conversation() >> relayed(asked, told[:20]) >> returned(told[20:])


# -- An unmapped node -------------------------------------------------------------------------------


def node(node_id, host="b1", port=9092):
    return node_id.to_bytes(4, "big") + len(host).to_bytes(2, "big") + host.encode() + port.to_bytes(4, "big")


def metadata(node_id, host="b1", port=9092, correlation_id=1):
    return answer(METADATA, 0, b"\x00\x00\x00\x01" + node(node_id, host, port) + bytes(4), correlation_id)


NO_BROKERS = answer(METADATA, 0, bytes(8))
LEFT_OUT = Expected(Count, {"counter": SessionCounter.ADDRESS_UNMAPPED})


def test_an_answer_that_names_an_unknown_node_waits_for_it_and_then_leaves_it_out():
    asked = request(METADATA)
    assert (
        Conversation(view_of(nodes=[1]))
        >> forwarded(asked)
        >> broker(answer(METADATA, 0, b"\x00\x00\x00\x02" + node(1) + node(7) + bytes(4)))
        << broker_held
        << node_wanted(7)
        >> later(NODE_WAIT_MS - 1)
        >> later(1)
        << to_client(metadata(1, "proxy.example", 9193))
        << LEFT_OUT
        << broker_released
        >> view_becomes(view_of(nodes=[7]))
        >> later(NODE_WAIT_MS)
        >> forwarded(asked)
        >> broker(metadata(7))
        << to_client(metadata(7, "proxy.example", 9199))
    )


def test_a_node_that_cannot_be_served_is_left_out_at_once():
    """Every client would lose its connection otherwise, also those that do not need this broker."""
    asked = request(METADATA)
    assert (
        Conversation(replace(view_of(nodes=[1]), unserved=frozenset([7])))
        >> forwarded(asked)
        >> broker(metadata(7))
        << to_client(NO_BROKERS)
        << LEFT_OUT
        >> forwarded(asked)
        >> broker(metadata(1))
        << to_client(metadata(1, "proxy.example", 9193))
    )


def test_an_answer_waits_for_the_node_that_it_names_to_be_served():
    """The broker was added a moment ago: the client notices nothing but the moment."""
    asked = [request(METADATA), request(METADATA, correlation_id=2)]
    assert (
        Conversation(view_of(nodes=[1]))
        >> forwarded(*asked)
        >> broker(metadata(7))
        << broker_held
        << node_wanted(7)
        >> broker(metadata(1, correlation_id=2))
        >> view_becomes(view_of(nodes=[1, 2]))
        >> view_becomes(view_of(nodes=[1, 7]))
        << to_client(metadata(7, "proxy.example", 9199), metadata(1, "proxy.example", 9193, correlation_id=2))
        << broker_released
        >> later(NODE_WAIT_MS)
        >> forwarded(request(METADATA, correlation_id=3))
        >> broker(metadata(7, correlation_id=3))
        << to_client(metadata(7, "proxy.example", 9199, correlation_id=3))
    )


def test_an_answer_that_names_two_unknown_nodes_waits_for_both():
    asked, node = produce({"t": {0: GOOD}}, 10), "proxy.example"
    at_brokers = (NodeEndpoint(7, "b7", 9092, None), NodeEndpoint(8, "b8", 9092, None))
    at_proxy = (NodeEndpoint(7, node, 9199, None), NodeEndpoint(8, node, 9200, None))
    moved = {"t": {0: {"error_code": 6}}}
    assert (
        Conversation(view_of(nodes=[]))
        >> forwarded(asked)
        >> broker(produced(moved, 10, node_endpoints=at_brokers))
        << broker_held
        << node_wanted(7)
        >> view_becomes(view_of(nodes=[7]))
        << node_wanted(8)
        >> view_becomes(view_of(nodes=[7, 8]))
        << to_client(produced(moved, 10, node_endpoints=at_proxy))
        << booked("broker_rejected")
        << broker_released
    )


@pytest.mark.parametrize("end", [Session.broker_ended, Session.broker_lost])
def test_no_answer_behind_one_that_waits_is_lost_with_the_broker(end):
    session, told = Session(PEER, view_of(nodes=[1])), produced({"t": {0: accepted()}}, 3)
    session.client_bytes(
        request(METADATA) + request(METADATA, correlation_id=2) + produce({"t": {0: GOOD}}, 3), NOW_MS
    )
    session.broker_bytes(metadata(7) + metadata(8, correlation_id=2) + told, NOW_MS)
    effects = end(session, NOW_MS)
    assert b"".join(each.data for each in effects if isinstance(each, SendToClient)).endswith(told)
    assert [each.outcome.verdict for each in effects if isinstance(each, Emit)] == ["accepted"]
    assert isinstance(effects[-1], CloseSession)


def test_what_waits_counts_as_held():
    session = Session(PEER, view_of(nodes=[]))
    session.client_bytes(request(METADATA), NOW_MS)
    said = metadata(7)
    session.broker_bytes(said, NOW_MS)
    assert session.held_bytes == len(said) - 4 + session._state.slots.held_bytes


def test_an_unknown_node_is_wanted_with_the_address_that_the_broker_told():
    session = Session(PEER, view_of(nodes=[]))
    session.client_bytes(request(METADATA), NOW_MS)
    _, wanted = session.broker_bytes(metadata(7, HIDDEN_HOST, HIDDEN_PORT), NOW_MS)
    assert wanted == NodeWanted(7, HIDDEN_HOST, HIDDEN_PORT)


def test_a_node_that_has_moved_is_told_of_and_waited_for_by_nobody():
    """The proxy's view is old: the node's port leads to where it was."""
    asked = request(METADATA)
    known = replace(view_of(nodes=[7]), brokers={7: Endpoint("b1", 9092)})
    assert (
        Conversation(known)
        >> forwarded(asked)
        >> broker(metadata(7, "b1", 9092))
        << to_client(metadata(7, "proxy.example", 9199))
        >> forwarded(asked)
        >> broker(metadata(7, "b2", 9092))
        << to_client(metadata(7, "proxy.example", 9199))
        << node_wanted(7)
    )


def test_answers_before_the_one_with_the_unknown_node_still_leave():
    asked = [request(METADATA), request(METADATA, correlation_id=2)]
    assert (
        Conversation(view_of(nodes=[1]))
        >> forwarded(*asked)
        >> broker(metadata(1), metadata(7, correlation_id=2))
        << to_client(metadata(1, "proxy.example", 9193))
        << broker_held
        << node_wanted(7)
        >> later(NODE_WAIT_MS)
        << to_client(answer(METADATA, 0, bytes(8), 2))
        << LEFT_OUT
        << broker_released
    )


# -- Produce ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [10, 11, 12])
@pytest.mark.parametrize("split", [False, True])
def test_a_produce_answer_tells_new_leaders_at_the_proxy(version, split):
    """KIP-951; CurrentLeader, which names no address, stays as it is."""
    moved = {"error_code": 6, "tags": bytes.fromhex("01 00 09 00000002 00000005 00")}
    asked, told = {0: GOOD}, {0: moved}
    if split:
        asked, told = {0: GOOD, 1: BAD}, {0: moved, 1: rejected(out_of_range(0))}
    at_broker = (NodeEndpoint(2, "b2", 9092, "r"),)
    at_proxy = (NodeEndpoint(2, "proxy.example", 9194, "r"),)
    session = Session(PEER, view_of())
    session.client_bytes(produce({"t": asked}, version), NOW_MS)
    said = produced({"t": {0: moved}}, version, node_endpoints=at_broker)
    sent, booked_as = session.broker_bytes(said, NOW_MS)
    assert sent.data == produced({"t": told}, version, node_endpoints=at_proxy)
    assert booked_as.outcome.error_code == 6


def test_a_produce_answer_that_names_an_unknown_node_is_answered_without_it():
    asked = produce({"t": {0: GOOD}}, 10)
    own = produced({"t": {0: {"error_code": 6}}}, 10, node_endpoints=(NodeEndpoint(7, "b7", 9092, None),))
    assert (
        Conversation()
        >> forwarded(asked)
        >> broker(own)
        << broker_held
        << node_wanted(7)
        >> later(NODE_WAIT_MS)
        << to_client(produced({"t": {0: {"error_code": 6}}}, 10, node_endpoints=()))
        << booked("broker_rejected")
        << LEFT_OUT
        << broker_released
    )
