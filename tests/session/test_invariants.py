"""These invariants hold for all bytes, in all pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_response_schema

from rigs.simulated.history import NAMES, batches_of
from rigs.simulated.invariants import check_connection
from rigs.simulated.requests import Kind
from tests.session.conversation import NOW_MS, PEER, Session, view_of
from tests.session.dialogues import dialogues, frames_of, held, pieces
from tests.session.messages import PRODUCE
from tests.wire.entities import read
from tsproxy.model.outcome import VerdictName
from tsproxy.session.effects import (
    CloseSession,
    Emit,
    Judge,
    PauseClient,
    ResumeClient,
    SendToBroker,
    TopicWanted,
)
from tsproxy.session.produce import cost
from tsproxy.wire.headers import read_request_header, response_body_start


def stream(client):
    return b"".join(one.frame for one in client.asked)


def until_closed(client):
    """The requests that are taken: all up to the first that ends the session, and that one."""
    return client.asked if client.ends_at is None else client.asked[: client.ends_at + 1]


@given(dialogues, pieces)
def test_any_pieces_of_both_directions_give_the_same_bytes_and_outcomes(client, schedule):
    whole, cut = held(stream(client)), held(stream(client), schedule)
    assert cut.to_broker == whole.to_broker
    assert cut.to_client == whole.to_client
    assert cut.by_batch() == whole.by_batch()
    assert cut.is_closed == whole.is_closed


@given(dialogues, pieces)
def test_a_connection_holds_all_that_simulated_ones_hold(client, schedule):
    """An accepted frame leaves as it came, a forbidden batch never; answers leave in the order of their
    requests, one for each that wants one; each batch is booked once, by what became of it."""
    told = held(stream(client), schedule)
    for frame in frames_of(told.to_broker)[0]:
        one = client.forwarded(frame, enforced_since_s=0.0)
        client.stored |= {(one.correlation_id, *place): (0, 0) for place in batches_in(one, frame)}
        client.written.append(one)
    for frame in frames_of(told.to_client)[0]:
        client.received(frame)
    client.outcomes = told.outcomes
    check_connection(client, len(stream(client)), in_peace=True, has_drained=False)
    assert (frames_of(told.to_broker)[1], frames_of(told.to_client)[1]) == (b"", b"")
    assert client.answered == [one for one in until_closed(client) if one.wants_answer]
    assert len(told.outcomes) == sum(len(one.batches) for one in until_closed(client))
    assert sorted(places(told.outcomes, VerdictName.REJECTED)) == sorted(
        (one.correlation_id, *place)
        for one in until_closed(client)
        for place, sent in one.batches.items()
        if sent.kind is Kind.BAD
    )


def places(outcomes, verdict):
    return [(o.correlation_id, o.topic, o.partition) for o in outcomes if o.verdict is verdict]


def batches_in(one, frame):
    return batches_of(frame) if one.api_key == PRODUCE else ()


def told_rejections(one, said):
    """{(topic, partition): (code, indices)} of what the answer rejects, read by kio."""
    cls = load_response_schema(PRODUCE, one.api_version)
    entity = read(cls, said[4 + response_body_start(PRODUCE, one.api_version, said[4:]) :])
    return {
        (topic.name if one.api_version < 13 else NAMES[topic.topic_id.bytes], p.index): (
            p.error_code.value,
            [error.batch_index for error in getattr(p, "record_errors", ())],
        )
        for topic in entity.responses
        for p in topic.partition_responses
        if p.error_code.value
    }


@given(dialogues, pieces)
def test_each_rejected_batch_is_booked_as_its_answer_tells_it(client, schedule):
    told = held(stream(client), schedule)
    answers = {int.from_bytes(said[4:8], "big"): said for said in frames_of(told.to_client)[0]}
    for one in until_closed(client):
        if one.batches and one.wants_answer:
            assert told_rejections(one, answers[one.correlation_id]) == {
                (o.topic, o.partition): (
                    o.error_code,
                    [c.batch_index for c in o.culprits] if one.api_version >= 8 else [],
                )
                for o in told.outcomes
                if o.correlation_id == one.correlation_id and o.verdict is VerdictName.REJECTED
            }


@given(dialogues, pieces, st.integers(1, 3))
def test_no_more_is_in_flight_than_may_be_and_nothing_is_lost_for_it(client, schedule, most):
    free, bound = held(stream(client), schedule), held(stream(client), schedule, in_flight_requests=most)
    assert bound.most_unanswered <= most
    assert (bound.to_broker, bound.to_client) == (free.to_broker, free.to_client)
    assert bound.by_batch() == free.by_batch()


@given(dialogues, pieces, st.integers(1, 3))
def test_pauses_and_resumptions_take_turns(client, schedule, most):
    """The last one is no pause: a session that is owed nothing reads on."""
    told = held(stream(client), schedule, in_flight_requests=most)
    turns = [type(e) for e in told.effects if isinstance(e, PauseClient | ResumeClient)]
    assert turns == [PauseClient, ResumeClient] * (len(turns) // 2) + [PauseClient] * (len(turns) % 2)
    assert told.is_closed or len(turns) % 2 == 0


@given(dialogues, pieces)
def test_what_is_judged_apart_leaves_the_same_bytes_and_outcomes(client, schedule):
    at_once = held(stream(client), schedule)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cost, "OFFLOAD_BYTES", 0)
        apart = held(stream(client), schedule)
    assert (apart.to_broker, apart.to_client) == (at_once.to_broker, at_once.to_client)
    assert apart.by_batch() == at_once.by_batch()
    assert apart.is_closed == at_once.is_closed
    kinds = [type(effect) for effect in apart.effects]
    assert kinds.count(Judge) == sum(one.acks is not None for one in until_closed(client))


# -- Garbage ----------------------------------------------------------------------------------------

garbage = st.one_of(
    st.binary(max_size=200),
    st.builds(lambda size, rest: size.to_bytes(4, "big") + rest, st.integers(0, 99), st.binary(max_size=200)),
)


@given(dialogues, garbage, pieces)
def test_whatever_a_client_sends_ends_in_a_close_or_an_answer(client, noise, schedule):
    """Good requests, then noise: the answers to these leave all the same, and whole frames only."""
    told, alone = held(stream(client) + noise, schedule), held(stream(client), schedule)
    assert frames_of(told.to_broker)[1] == b""
    assert told.to_client.startswith(alone.to_client)
    assert told.to_broker.startswith(alone.to_broker)


@given(dialogues, garbage)
def test_whatever_a_stranger_sends_before_sasl_goes_no_further(client, noise):
    """Only ApiVersions is answered or forwarded."""
    session = Session(PEER, view_of(broker_needs_sasl=True))
    effects = session.client_bytes(stream(client) + noise, NOW_MS)
    frames, _ = frames_of(b"".join(e.data for e in effects if isinstance(e, SendToBroker)))
    assert {read_request_header(one[4:]).api_key for one in frames} <= {17, 18, 36}
    assert not [e for e in effects if isinstance(e, Emit | TopicWanted)]


@given(dialogues, garbage)
def test_whatever_a_broker_sends_ends_in_a_close_or_an_answer(client, noise):
    """An answer that cannot be read closes the session; what was forwarded is unconfirmed then."""
    session = Session(PEER, view_of())
    effects = session.client_bytes(stream(client), NOW_MS)
    for start in range(0, len(noise), 7):
        effects += session.broker_bytes(noise[start : start + 7], NOW_MS)
    effects += session.abort()
    kinds = [type(effect) for effect in effects]
    assert kinds.count(CloseSession) == 1
    assert kinds[-1] is CloseSession
    booked = [e.outcome for e in effects if hasattr(e, "outcome")]
    expected = sum(len(one.batches) for one in until_closed(client))
    assert len(booked) == expected
    assert not [o for o in booked if o.verdict is VerdictName.ACCEPTED]
