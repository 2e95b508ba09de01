"""Produce 13 names topics by id (KIP-516): rules and limits are by name, so the name comes first. The first
request to a topic waits for the topic's limits, too."""

import gc
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
    Session,
    booked,
    broker,
    client,
    closed,
    forwarded,
    id_of,
    later,
    noted,
    paused,
    proxy_cuts,
    read,
    resumed,
    returned,
    to_broker,
    to_client,
    topic_wanted,
    view_becomes,
    view_by,
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
from tsproxy.model.policy import (
    NO_POLICY,
    LimitsFrom,
    Match,
    Mode,
    NamePattern,
    Policy,
    Rule,
    RuleSettings,
    TimeLimit,
)
from tsproxy.model.verdict import Reason
from tsproxy.session.budget import Request
from tsproxy.session.effects import CloseReason, Count, Emit, SendToBroker, SessionCounter, TopicWanted
from tsproxy.session.events import ViewChanged
from tsproxy.session.topic_names import (
    GIVEN_UP_IDS,
    MAX_WAITED_FOR,
    NAME_WAIT_MS,
    SETTLE_MS,
    IdsGivenUp,
    NamesOnly,
)

WANTED = topic_wanted(id_of("new"))
WAITS = WANTED, Expected(Count, {"counter": SessionCounter.TOPIC_NAME_WAITS}), paused
GOOD, AHEAD_MS = batch([NOW_MS]), NOW_MS + 2 * HOUR_MS
BAD = batch([AHEAD_MS])
BY_ID = {"version": 13}
UNNAMED = unnamed_topic(id_of("new"))


def asked(topics, **more):
    return produce(topics, **BY_ID, **more)


def answered(topics, **more):
    return produced(topics, **BY_ID, **more)


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
        << WAITS
        >> later(NAME_WAIT_MS - 1)
        >> view_becomes(with_new(view))
        << to_broker(frame)
        << resumed
    )


def test_requests_behind_it_keep_their_order_and_a_view_without_the_name_does_not_end_the_wait():
    view, first, second = view_of(), asked({"new": {0: GOOD}}), asked({"t": {0: GOOD}}, correlation_id=2)
    assert (
        Conversation(view)
        >> client(first, second)
        << WAITS
        >> view_becomes(replace(view, policy=LENIENT))
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
        << WAITS
        >> returned(said)
        << booked("accepted", topic="t")
    )


NOT_KNOWN = {"error_code": 100}
REFUSED = (
    WANTED,
    booked(
        "rejected", topic=UNNAMED, reason=Reason.UNKNOWN_TOPIC_ID, error_code=100, is_final=False, limits=None
    ),
)


@pytest.mark.parametrize("uses_fast_path", [True, False])
@pytest.mark.parametrize("policy", [NO_POLICY, Policy(mode=Mode.AUDIT), Policy(mode=Mode.OFF)])
def test_without_a_name_it_is_never_forwarded_but_answered_as_while_a_broker_does_not_know_the_id(
    policy, uses_fast_path
):
    """Which rules hold for it is not known: those for any topic may be looser. Clients send it again."""
    assert (
        Conversation(view_of(policy=policy), uses_fast_path=uses_fast_path)
        >> client(asked({"new": {0: GOOD}}))
        << WAITS
        >> later(NAME_WAIT_MS)
        << to_client(answered({"new": {0: NOT_KNOWN}}))
        << REFUSED
        << resumed
    )


def test_the_other_topics_of_the_request_go_on():
    assert (
        Conversation()
        >> client(asked({"t": {0: GOOD}, "new": {0: GOOD, 1: BAD}, "u": {0: BAD}}))
        << WAITS
        >> later(NAME_WAIT_MS)
        << to_broker(asked({"t": {0: GOOD}}))
        << REFUSED
        << booked("rejected", topic=UNNAMED, partition=1)
        << booked("rejected", topic="u", error_code=32)
        << resumed
        >> broker(answered({"t": {0: accepted()}}))
        << to_client(
            answered(
                {
                    "t": {0: accepted()},
                    "new": {0: NOT_KNOWN, 1: NOT_KNOWN},
                    "u": {0: rejected(out_of_range(AHEAD_MS))},
                }
            )
        )
        << booked("accepted", topic="t")
    )


def test_without_an_answer_the_connection_closes_as_after_any_rejection():
    assert (
        Conversation()
        >> client(asked({"t": {0: GOOD}, "new": {0: GOOD}}, acks=0))
        << WAITS
        >> later(NAME_WAIT_MS)
        << to_broker(asked({"t": {0: GOOD}}, acks=0))
        << WANTED
        << booked("rejected", topic=UNNAMED, error_code=100, is_final=True)
        << booked("unconfirmed", topic="t")
        << closed(CloseReason.ACKS_ZERO_REJECTED)
    )


def not_known_at_once(correlation_id):
    """The answer for the batches of an idempotent producer behind a rejected one."""
    return to_client(answered({"new": {0: NOT_KNOWN}}, correlation_id=correlation_id))


def given_up(view):
    """The first request has waited as long as any, and has its answer."""
    conversation = Conversation(view) >> client(asked({"new": {0: GOOD}}, correlation_id=1)) << WAITS
    return conversation >> later(NAME_WAIT_MS) << not_known_at_once(1) << REFUSED << resumed


def test_batches_that_were_sent_behind_it_do_not_overtake_it_when_the_name_comes_then():
    """A broker that has no state of the producer takes any sequence. The first batch would then be out of
    order for ever."""
    view, again = view_of(), asked({"new": {0: GOOD}}, correlation_id=3)
    assert (
        given_up(view)
        >> view_becomes(with_new(view))
        >> later(SETTLE_MS - 1)
        >> client(asked({"new": {0: GOOD}}, correlation_id=2))
        << not_known_at_once(2)
        << REFUSED
        >> later(1)
        >> forwarded(again)
    )


def test_the_next_try_waits_again():
    view = view_of()
    assert (
        given_up(view)
        >> later(SETTLE_MS)
        >> client(again := asked({"new": {0: GOOD}}, correlation_id=2))
        << WAITS
        >> view_becomes(with_new(view))
        << to_broker(again)
        << resumed
    )


def test_a_forbidden_batch_behind_a_thousand_invented_ids_is_not_forwarded():
    invented = {f"invented {number}": {0: GOOD} for number in range(1_000)}
    conversation = Conversation(view_of(policy=LENIENT))
    wanted = conversation.session.client_bytes(asked({**invented, "new": {0: BAD}}), NOW_MS)
    assert sum(isinstance(each, TopicWanted) for each in wanted) == MAX_WAITED_FOR
    (judge, *_) = conversation.session.deadline_passed(NOW_MS + NAME_WAIT_MS)
    effects = conversation.session.judged(judge.job(), NOW_MS + NAME_WAIT_MS)
    assert not any(isinstance(each, SendToBroker) for each in effects)
    assert sum(isinstance(each, Emit) for each in effects) == 1_001
    assert sum(isinstance(each, TopicWanted) for each in effects) == MAX_WAITED_FOR


def test_a_request_that_a_thread_reads_is_not_forwarded_either():
    """It does not wait, since the session has not read it. Its names are wanted for the next try."""
    many = {"new": dict.fromkeys(range(2_000), b"")}
    conversation = Conversation()
    (judge, *_) = conversation.session.client_bytes(asked(many), NOW_MS)
    effects = conversation.session.judged(judge.job(), NOW_MS)
    assert not any(isinstance(each, SendToBroker) for each in effects)
    assert TopicWanted(id_of("new")) in effects


def test_a_connection_that_is_cut_while_its_request_waits_leaves_nothing():
    conversation = (
        Conversation()
        >> client(asked({"new": {0: GOOD}}))
        << WAITS
        >> proxy_cuts
        << closed(CloseReason.PEER_CLOSED)
    )
    assert conversation
    assert conversation.session.next_deadline_ms is None
    assert not conversation.session.is_judging


def test_a_session_remembers_a_bounded_number_of_ids_that_have_no_name():
    given_up = IdsGivenUp()
    for number in range(GIVEN_UP_IDS.most + 1):
        given_up.add([number.to_bytes(16, "big")], 0)
        assert len(given_up) <= GIVEN_UP_IDS.most
    given_up.add([], SETTLE_MS)
    assert not len(given_up)


# -- Where nobody finds names -----------------------------------------------------------------------


def produce_offered_by(session):
    """The newest Produce version that the client gets, where the broker offers 13."""
    session.client_bytes(request(API_VERSIONS), NOW_MS)
    offer = struct.pack(">3h", PRODUCE, 0, 13)
    (sent,) = session.broker_bytes(answer(API_VERSIONS, 0, bytes(5) + b"\x01" + offer), NOW_MS)
    return struct.unpack(">h", sent.data[-2:])[0]


def test_then_version_12_is_the_newest_that_is_offered():
    view = replace(view_of(), topic_names={}, may_describe=False)
    assert produce_offered_by(Session(PEER, view)) == 12


def test_known_names_stay_right_for_a_connection_that_was_offered_ids_before():
    """A lost permission ends no connection, and loses no record."""
    view, frame = view_of(), asked({"t": {0: GOOD}})
    assert Conversation(view) >> view_becomes(replace(view, may_describe=False)) >> forwarded(frame)


@pytest.mark.parametrize("lost", [{"may_describe": False}, {"denied_ids": frozenset([id_of("new")])}])
def test_an_id_that_may_not_be_described_waits_for_nothing_and_its_client_then_uses_names(lost):
    """The client connects again, is offered version 12, and sends the batch again."""
    view, names_only = view_of(), NamesOnly()
    assert (
        Conversation(replace(view, **lost), names_only=names_only)
        >> client(asked({"t": {0: GOOD}, "new": {0: GOOD}}))
        << to_broker(asked({"t": {0: GOOD}}))
        << REFUSED
        << paused
        >> broker(answered({"t": {0: accepted()}}))
        << to_client(answered({"t": {0: accepted()}, "new": {0: NOT_KNOWN}}))
        << booked("accepted", topic="t")
        << closed(CloseReason.UNSUPPORTED_REQUEST)
    )
    assert produce_offered_by(Session(PEER, replace(view, **lost), names_only=names_only)) == 12


def test_an_id_that_may_not_be_described_takes_nothing_from_other_clients():
    """Any client may name it."""
    view, names_only = replace(view_of(), denied_ids=frozenset([id_of("new")])), NamesOnly()
    names_only.add("192.0.2.77")
    assert produce_offered_by(Session(PEER, view, names_only=names_only)) == 13
    names_only.add(PEER.client_address)
    assert produce_offered_by(Session(PEER, view, names_only=names_only)) == 12
    assert produce_offered_by(Session(PEER, view_of(), names_only=names_only)) == 13


def test_the_wait_ends_when_the_id_turns_out_to_be_denied():
    view = view_of()
    assert (
        Conversation(view)
        >> client(asked({"new": {0: GOOD}}))
        << WAITS
        >> view_becomes(replace(view, denied_ids=frozenset([id_of("new")])))
        << to_client(answered({"new": {0: NOT_KNOWN}}))
        << REFUSED
        << closed(CloseReason.UNSUPPORTED_REQUEST)
    )


# -- Limits that are not known yet --------------------------------------------------------------------


IN_SECONDS = batch([NOW_MS // 1_000])
LIMITS_WAIT = (
    topic_wanted("new"),
    Expected(Count, {"counter": SessionCounter.TOPIC_LIMITS_WAITS}),
    paused,
)
VIEW = replace(view_of(), reads_limits=True)
FIRST, AGAIN = (produce({"new": {0: GOOD}}, correlation_id=number) for number in (1, 2))


def with_limits(view):
    return replace(view, topics={**view.topics, "new": LIMITS})


@pytest.mark.parametrize("uses_fast_path", [True, False])
def test_the_first_batch_is_judged_by_the_topics_limits(uses_fast_path):
    """A job that sends one batch a night has no second one."""
    frame = produce({"new": {0: IN_SECONDS}})
    said = produced({"new": {0: rejected(out_of_range(NOW_MS // 1_000))}})
    assert (
        Conversation(VIEW, uses_fast_path=uses_fast_path, fresh_limits=read(NOW_MS, "new"))
        >> client(frame)
        << LIMITS_WAIT
        >> view_becomes(with_limits(VIEW))
        << to_client(said)
        << booked("rejected", topic="new", reason=Reason.TOO_OLD, limits=LIMITS)
        << resumed
    )


WITHIN_A_SECOND = view_by("r", before=TimeLimit(1_000), after=TimeLimit(1_000))
WAITS_FOR = {"nothing": {}, "limits": {"topics": {}}, "the name": {"topic_names": {}}}


@pytest.mark.parametrize("lacks", WAITS_FOR.values(), ids=WAITS_FOR)
@pytest.mark.parametrize("is_answered", [True, False])
@pytest.mark.parametrize(("drift_ms", "is_accepted"), [(-900, True), (-1_001, False), (1_100, False)])
def test_a_batch_is_judged_by_the_clock_of_its_arrival_whether_it_waits_or_not(
    lacks, is_answered, drift_ms, is_accepted
):
    known = replace(WITHIN_A_SECOND, reads_limits=True)
    session = Session(PEER, replace(known, **lacks), fresh_limits=read(NOW_MS + 500, "t"))
    version = 13 if is_answered else 12  # without a name nothing is judged
    effects = session.client_bytes(produce({"t": {0: batch([NOW_MS + drift_ms])}}, version=version), NOW_MS)
    if session.is_judging:
        view = known if is_answered else session.view
        effects += session.apply_view(view, NOW_MS + 900)
        effects += session.deadline_passed(NOW_MS + NAME_WAIT_MS) if session.is_judging else []
    assert any(isinstance(each, SendToBroker) for each in effects) is is_accepted
    assert {each.outcome.now_ms for each in effects if isinstance(each, Emit)} <= {NOW_MS}


def test_limits_that_do_not_come_are_waited_for_once():
    """Perhaps the topic does not exist. Its broker judges the batch."""
    assert (
        Conversation(VIEW)
        >> client(FIRST)
        << LIMITS_WAIT
        >> later(NAME_WAIT_MS - 1)
        >> later(1)
        << to_broker(FIRST)
        << topic_wanted("new")
        << resumed
        >> forwarded(AGAIN)
        << topic_wanted("new")
        >> returned(produced({"new": {0: accepted()}}))
        << booked("accepted", topic="new", limits=None, limits_unknown=True)
    )


@pytest.mark.parametrize(
    "wait_ends",
    [with_limits(VIEW), replace(VIEW, unreadable_topics=frozenset(["new"]))],
    ids=["known", "denied"],
)
def test_limits_that_came_and_are_forgotten_are_waited_for_again(wait_ends):
    """They are forgotten after some minutes without a batch. A connection may live longer than that."""
    session = Session(PEER, VIEW)
    session.client_bytes(FIRST, NOW_MS)
    session.feed(ViewChanged(wait_ends), NOW_MS)
    assert (session.is_judging, session.next_deadline_ms) == (False, None)
    session.feed(ViewChanged(VIEW), NOW_MS)
    session.client_bytes(AGAIN, NOW_MS)
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
    conversation >> forwarded(FIRST)
    if is_unknown:
        conversation << topic_wanted("new")
    conversation >> returned(produced({"new": {0: accepted()}}))
    conversation << booked("accepted", limits_unknown=is_unknown)


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
    session = Session(PEER, view)
    assert session.client_bytes(FIRST, NOW_MS)[0].data == FIRST
    assert not session.is_judging


def test_names_that_no_topic_can_have_are_not_waited_for():
    frame = produce({"no topic": {0: GOOD}, "x" * 300: {0: GOOD}})
    assert Session(PEER, VIEW).client_bytes(frame, NOW_MS)[0].data == frame


def test_a_request_for_many_topics_asks_for_a_few():
    frame = produce({f"invented-{number}": {0: GOOD} for number in range(2 * MAX_WAITED_FOR)})
    effects = Session(PEER, VIEW).client_bytes(frame, NOW_MS)
    assert len([each for each in effects if hasattr(each, "topic")]) == MAX_WAITED_FOR


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
