"""The first request to a topic waits for the topic's limits: without them, next to nothing is judged."""

import gc
from dataclasses import replace

import pytest

from tests.session.conversation import (
    LIMITS,
    NOW_MS,
    PEER,
    Conversation,
    Expected,
    Session,
    booked,
    broker,
    client,
    later,
    paused,
    resumed,
    to_broker,
    to_client,
    topic_wanted,
    view_becomes,
    view_of,
)
from tests.session.messages import accepted, out_of_range, produce, produced, rejected
from tests.wire.batches import batch
from tsproxy.model.policy import LimitsFrom, Mode, Policy, RuleSettings, TimeLimit
from tsproxy.model.verdict import Reason
from tsproxy.session.effects import Count, SessionCounter
from tsproxy.session.events import ViewChanged
from tsproxy.session.request import Request
from tsproxy.session.topic_names import MAX_WAITED_FOR, NAME_WAIT_MS, TopicsGivenUp

GOOD, IN_SECONDS = batch([NOW_MS]), batch([NOW_MS // 1_000])
WAITED_FOR = Expected(Count, {"counter": SessionCounter.TOPIC_LIMITS_WAITS})
VIEW = replace(view_of(), reads_limits=True)


def with_new(view):
    return replace(view, topics={**view.topics, "new": LIMITS})


@pytest.mark.parametrize("uses_fast_path", [True, False])
def test_the_first_batch_is_judged_by_the_topics_limits(uses_fast_path):
    """A job that sends one batch a night has no second one."""
    frame = produce({"new": {0: IN_SECONDS}})
    said = produced({"new": {0: rejected(out_of_range(NOW_MS // 1_000))}})
    assert (
        Conversation(VIEW, uses_fast_path=uses_fast_path)
        >> client(frame)
        << topic_wanted("new")
        << WAITED_FOR
        << paused
        >> view_becomes(with_new(VIEW))
        << to_client(said)
        << booked("rejected", topic="new", reason=Reason.TOO_OLD, limits=LIMITS)
        << resumed
    )


def test_limits_that_do_not_come_are_waited_for_once():
    """Perhaps the topic does not exist. Its broker judges the batch."""
    frame, again = produce({"new": {0: GOOD}}), produce({"new": {0: GOOD}}, correlation_id=2)
    assert (
        Conversation(VIEW)
        >> client(frame)
        << topic_wanted("new")
        << WAITED_FOR
        << paused
        >> later(NAME_WAIT_MS - 1)
        >> later(1)
        << to_broker(frame)
        << topic_wanted("new")
        << resumed
        >> client(again)
        << to_broker(again)
        << topic_wanted("new")
        >> broker(produced({"new": {0: accepted()}}))
        << to_client(produced({"new": {0: accepted()}}))
        << booked("accepted", topic="new", limits=None, limits_unknown=True)
    )


@pytest.mark.parametrize(
    "wait_ends",
    [with_new(VIEW), replace(VIEW, unreadable_topics=frozenset(["new"]))],
    ids=["known", "denied"],
)
def test_limits_that_came_and_are_forgotten_are_waited_for_again(wait_ends):
    """They are forgotten after some minutes without a batch. A connection may live longer than that."""
    frame, again = produce({"new": {0: GOOD}}), produce({"new": {0: GOOD}}, correlation_id=2)
    session = Session(PEER, VIEW)
    session.client_bytes(frame, NOW_MS)
    session.feed(ViewChanged(wait_ends), NOW_MS)
    assert (session.is_judging, session.next_deadline_ms) == (False, None)
    session.feed(ViewChanged(VIEW), NOW_MS)
    session.client_bytes(again, NOW_MS)
    assert session.is_judging


@pytest.mark.parametrize(
    ("policy", "is_unknown"),
    [
        (Policy(defaults=RuleSettings(after=TimeLimit(3_600_000)), limits_from=LimitsFrom.STRICTER), True),
        (Policy(mode=Mode.OFF), False),
    ],
    ids=["some limits are known, the topic's are not", "nothing was to be judged"],
)
def test_a_batch_is_booked_as_judged_without_the_limits_of_its_topic(policy, is_unknown):
    conversation = Conversation(replace(VIEW, reads_limits=False, policy=policy), uses_fast_path=False)
    frame, said = produce({"new": {0: GOOD}}), produced({"new": {0: accepted()}})
    conversation >> client(frame) << to_broker(frame)
    if is_unknown:
        conversation << topic_wanted("new")
    conversation >> broker(said) << to_client(said) << booked("accepted", limits_unknown=is_unknown)


@pytest.mark.parametrize(
    "view",
    [
        replace(VIEW, reads_limits=False),
        replace(VIEW, unreadable_topics=frozenset(["new"])),
        replace(VIEW, policy=Policy(limits_from=LimitsFrom.CONFIG)),
    ],
    ids=["nobody reads limits", "they may not be read", "no rule needs them"],
)
def test_nothing_waits_for_limits_that_will_not_come(view):
    conversation, frame = Conversation(view), produce({"new": {0: GOOD}})
    sent = conversation.session.client_bytes(frame, NOW_MS)[0]
    assert sent.data == frame
    assert not conversation.session.is_judging


def test_the_wait_ends_when_it_turns_out_that_they_may_not_be_read():
    frame = produce({"new": {0: GOOD}})
    assert (
        Conversation(VIEW)
        >> client(frame)
        << topic_wanted("new")
        << WAITED_FOR
        << paused
        >> view_becomes(replace(VIEW, unreadable_topics=frozenset(["new"])))
        << to_broker(frame)
        << topic_wanted("new")
        << resumed
    )


def test_names_that_no_topic_can_have_are_not_waited_for():
    conversation, frame = Conversation(VIEW), produce({"no topic": {0: GOOD}, "x" * 300: {0: GOOD}})
    assert conversation.session.client_bytes(frame, NOW_MS)[0].data == frame


def test_a_request_for_many_topics_asks_for_a_few():
    conversation = Conversation(VIEW)
    frame = produce({f"invented-{number}": {0: GOOD} for number in range(2 * MAX_WAITED_FOR)})
    effects = conversation.session.client_bytes(frame, NOW_MS)
    assert len([each for each in effects if hasattr(each, "topic")]) == MAX_WAITED_FOR


def test_a_session_remembers_a_few_topics_without_limits():
    given_up = TopicsGivenUp()
    given_up.add(f"invented-{number}" for number in range(10 * MAX_WAITED_FOR))
    assert len(given_up) == MAX_WAITED_FOR


def test_a_held_request_is_released_when_the_session_ends():
    """Its frame may have 100 MiB, and the session's objects may live until the next collection."""
    session, frame = Session(PEER, VIEW), produce({"new": {0: GOOD}})

    def holders():
        return [type(each) for each in gc.get_objects() if isinstance(each, Request) and each.frame == frame]

    session.client_bytes(frame, NOW_MS)
    assert session.is_judging
    assert len(holders()) == 1
    session.abort()
    assert holders() == []
