"""Produce 13 names topics by id (KIP-516): rules and limits are by name, so the name comes first."""

import re
import struct
from dataclasses import replace

import pytest

from tests.session.conversation import (
    HOUR_MS,
    LIMITS,
    NOW_MS,
    PEER,
    Conversation,
    Expected,
    booked,
    broker,
    client,
    client_closes,
    closed,
    id_of,
    later,
    noted,
    paused,
    resumed,
    to_broker,
    to_client,
    topic_wanted,
    view_becomes,
    view_of,
)
from tests.session.messages import (
    API_VERSIONS,
    PRODUCE,
    accepted,
    answer,
    out_of_range,
    produce,
    produce_entries,
    produced,
    rejected,
    request,
)
from tests.wire.batches import batch
from tsproxy.model.kafka import unnamed_topic
from tsproxy.model.policy import Match, NamePattern, Policy, Rule, RuleSettings, TimeLimit
from tsproxy.session.effects import CloseReason, Count, SessionCounter
from tsproxy.session.produce.names import MOST_WAITED_FOR, NAME_WAIT_MS, WaitedFor
from tsproxy.session.session import Session

NAME_WAITED_FOR = Expected(Count, {"counter": SessionCounter.TOPIC_NAME_WAITS})
GOOD, AHEAD_MS = batch([NOW_MS]), NOW_MS + 2 * HOUR_MS
BAD = batch([AHEAD_MS])
BY_ID = {"version": 13}
UNNAMED = unnamed_topic(id_of("new"))


def asked(topics, **more):
    return produce(topics, **BY_ID, **more)


def answered(topics, **more):
    return produced(topics, **BY_ID, **more)


@pytest.mark.parametrize("uses_fast_path", [True, False])
def test_a_good_batch_is_forwarded_to_the_byte_and_counted_by_the_topics_name(uses_fast_path):
    frame, said = asked({"t": {0: GOOD}}), answered({"t": {0: accepted()}})
    assert (
        Conversation(uses_fast_path=uses_fast_path)
        >> client(frame)
        << to_broker(frame)
        >> broker(said)
        << to_client(said)
        << booked("accepted", topic="t")
    )


def test_a_rejection_names_the_id_and_is_counted_by_the_topics_name():
    assert (
        Conversation()
        >> client(asked({"t": {0: BAD}}))
        << to_client(answered({"t": {0: rejected(out_of_range(AHEAD_MS))}}))
        << booked("rejected", topic="t")
    )


def test_what_is_rejected_of_a_request_is_merged_into_the_answer_to_the_rest():
    rest, said = asked({"t": {0: GOOD}}), rejected(out_of_range(AHEAD_MS))
    assert (
        Conversation()
        >> client(asked({"t": {0: GOOD, 1: BAD}, "u": {4: BAD}}))
        << to_broker(rest)
        << booked("rejected", topic="t", partition=1)
        << booked("rejected", topic="u", partition=4)
        >> broker(answered({"t": {0: accepted()}}))
        << to_client(answered({"t": {0: accepted(), 1: said}, "u": {4: said}}))
        << booked("accepted", topic="t", partition=0)
    )


def test_a_topic_that_was_made_again_may_be_named_by_both_ids_in_one_request():
    """The broker rejects the old id itself. Here each id has the verdict on its own batch."""
    view = replace(view_of(), topic_names={id_of("old"): "t", id_of("new"): "t"})
    assert (
        Conversation(view)
        >> client(asked({"old": {0: BAD}, "new": {0: GOOD}}))
        << to_broker(asked({"new": {0: GOOD}}))
        << booked("rejected", topic="t")
        >> broker(answered({"new": {0: accepted()}}))
        << to_client(answered({"new": {0: accepted()}, "old": {0: rejected(out_of_range(AHEAD_MS))}}))
        << booked("accepted", topic="t")
    )


def test_an_id_that_is_named_twice_is_rejected_like_a_name():
    twice = produce_entries([("t", [(0, GOOD), (0, GOOD)])], **BY_ID)
    assert Conversation() >> client(twice) << noted("client_rejected") << closed(CloseReason.BAD_FRAME)


# -- A name that is not known yet -------------------------------------------------------------------

LENIENT = Policy(
    rules=(
        Rule(
            "new may be ahead",
            Match(topics=(NamePattern("new", re.compile("new")),)),
            RuleSettings(after=TimeLimit(24 * HOUR_MS)),
        ),
    )
)
"""The limit of other topics is an hour."""


def with_new(view):
    names = {**view.topic_names, id_of("new"): "new"}
    return replace(view, topic_names=names, topics={**view.topics, "new": LIMITS})


@pytest.mark.parametrize("uses_fast_path", [True, False])
def test_a_request_waits_for_the_name_and_is_then_judged_by_the_topics_own_rule(uses_fast_path):
    view, frame = view_of(policy=LENIENT), asked({"new": {0: BAD}})
    assert (
        Conversation(view, uses_fast_path=uses_fast_path)
        >> client(frame)
        << topic_wanted(id_of("new"))
        << NAME_WAITED_FOR
        << paused
        >> later(NAME_WAIT_MS - 1)
        >> view_becomes(with_new(view))
        << to_broker(frame)
        << resumed
    )


def test_a_view_without_the_name_does_not_end_the_wait():
    view, frame = view_of(), asked({"new": {0: GOOD}})
    assert (
        Conversation(view)
        >> client(frame)
        << topic_wanted(id_of("new"))
        << NAME_WAITED_FOR
        << paused
        >> view_becomes(replace(view, policy=LENIENT))
        >> view_becomes(with_new(view))
        << to_broker(frame)
        << resumed
    )


def test_requests_behind_it_keep_their_order():
    view, first, second = view_of(), asked({"new": {0: GOOD}}), asked({"t": {0: GOOD}}, correlation_id=2)
    assert (
        Conversation(view)
        >> client(first, second)
        << topic_wanted(id_of("new"))
        << NAME_WAITED_FOR
        << paused
        >> view_becomes(with_new(view))
        << to_broker(first, second)
        << resumed
    )


def test_answers_to_earlier_requests_pass_meanwhile():
    view, first, said = view_of(), asked({"t": {0: GOOD}}), answered({"t": {0: accepted()}})
    assert (
        Conversation(view)
        >> client(first, asked({"new": {0: GOOD}}, correlation_id=2))
        << to_broker(first)
        << topic_wanted(id_of("new"))
        << NAME_WAITED_FOR
        << paused
        >> broker(said)
        << to_client(said)
        << booked("accepted", topic="t")
    )


def test_without_a_name_it_is_judged_like_a_topic_of_unknown_limits_and_waits_once_only():
    frame, again = asked({"new": {0: GOOD}}), asked({"new": {0: GOOD}}, correlation_id=2)
    said = answered({"new": {0: {"error_code": 100}}})
    assert (
        Conversation()
        >> client(frame)
        << topic_wanted(id_of("new"))
        << NAME_WAITED_FOR
        << paused
        >> later(NAME_WAIT_MS)
        << to_broker(frame)
        << topic_wanted(id_of("new"))
        << resumed
        >> broker(said)
        << to_client(said)
        << booked("broker_rejected", topic=UNNAMED, error_code=100)
        >> client(again)
        << to_broker(again)
        << topic_wanted(id_of("new"))
    )


def test_a_client_that_leaves_while_its_request_waits_leaves_nothing():
    conversation = (
        Conversation()
        >> client(asked({"new": {0: GOOD}}))
        << topic_wanted(id_of("new"))
        << NAME_WAITED_FOR
        << paused
        >> client_closes
        << closed(CloseReason.PEER_CLOSED)
    )
    assert conversation
    assert conversation.session.next_deadline_ms is None
    assert not conversation.session.is_judging


def test_a_session_remembers_a_bounded_number_of_ids_that_have_no_name():
    waited = WaitedFor()
    for number in range(MOST_WAITED_FOR + 1):
        waited.add([number.to_bytes(16, "big")])
        assert len(waited) <= MOST_WAITED_FOR


# -- Where nobody finds names -----------------------------------------------------------------------


def test_a_request_that_waits_when_names_can_no_longer_be_read_closes_the_connection():
    """The client connects again, is offered version 12, and sends it again."""
    view = view_of()
    assert (
        Conversation(view)
        >> client(asked({"new": {0: GOOD}}))
        << topic_wanted(id_of("new"))
        << NAME_WAITED_FOR
        << paused
        >> view_becomes(replace(view, topic_names=None))
        << closed(CloseReason.UNSUPPORTED_REQUEST)
    )


def test_then_version_12_is_the_newest_that_is_offered_and_taken():
    view = replace(view_of(), topic_names=None)
    session = Session(PEER, view)
    session.client_bytes(request(API_VERSIONS), NOW_MS)
    offer = struct.pack(">3h", PRODUCE, 0, 13)
    (sent,) = session.broker_bytes(answer(API_VERSIONS, 0, bytes(5) + b"\x01" + offer), NOW_MS)
    assert sent.data.endswith(struct.pack(">3h", PRODUCE, 0, 12))
    assert (
        Conversation(view)
        >> client(asked({"t": {0: GOOD}}))
        << noted("client_rejected")
        << closed(CloseReason.UNSUPPORTED_REQUEST)
    )
