"""Who has too much rejected is kept waiting: told so in the answer, then not read for as long (KIP-219). An
address with a bad batch has all its batches read (`Trust`)."""

import gc
from dataclasses import replace

import pytest

from tests.session.conversation import (
    HOUR_MS,
    NOW_MS,
    PEER,
    Conversation,
    Expected,
    Session,
    booked,
    client,
    client_is_lost,
    forwarded,
    later,
    muted,
    paused,
    proxy_cuts,
    resumed,
    returned,
    to_client,
    topic_wanted,
    unmuted,
    view_of,
)
from tests.session.messages import accepted, produce, produced
from tests.wire.batches import batch
from tsproxy.fastpath.adaptive import READ_ALL_MS
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.view import View
from tsproxy.session.effects import CloseSession, DelayRequest, MuteClient, SendToClient, UnmuteClient
from tsproxy.session.events import DeadlinePassed, Throttled
from tsproxy.session.throttle import BYTES_A_MS, DEBTS, FREE_MS, Throttle
from tsproxy.session.trust import KEPT, MAX_TOPICS, Trust

GOOD = batch([NOW_MS])
BAD = batch([NOW_MS + 2 * HOUR_MS])
FREE = int(FREE_MS)


def fast_path_rejects(throttle_ms):
    """Something for which the client is muted for so long."""
    return lambda conversation: conversation.session.feed(Throttled(throttle_ms), conversation.now_ms)


def delayed(delay_ms):
    return Expected(DelayRequest, {"delay_ms": delay_ms})


# -- The account -------------------------------------------------------------------------------------


ACCOUNTS = {
    "now and then is nothing": ([(2 * n, 2, 100) for n in range(10_000)], 1_000, [0] * 10_000),
    "it grows with what is rejected": ([(0, FREE, 0), (0, 10, 0), (0, 90, 0)], 1_000, [0, 10, 100]),
    "it is bounded": ([(0, 1_000_000, 0)] * 2, 300, [300, 300]),
    "bytes count as well as batches": ([(0, 0, (FREE + 5) * BYTES_A_MS)], 1_000, [5]),
    "the clock pays back": ([(0, FREE + 50, 0), (50, 0, 0), (50 + FREE, 1, 0)], 1_000, [50, 0, 0]),
    "a step back of it does not": ([(0, FREE, 0), (-5_000, 1, 0), (-4_999, 0, 0)], 1_000, [0, 1, 0]),
}
"""Rejections as (ms since the first, batches, bytes), the longest silence, and how long each one silences."""


@pytest.mark.parametrize(("rejections", "most_ms", "silences"), ACCOUNTS.values(), ids=ACCOUNTS)
def test_the_silence_of_a_client(rejections, most_ms, silences):
    throttle = Throttle()
    assert silences == [
        throttle.rejected(PEER, batches, size, NOW_MS + at_ms, most_ms) for at_ms, batches, size in rejections
    ]


def test_who_is_rejected_is_known_by_principal_and_address_and_not_by_what_it_may_choose():
    throttle = Throttle()
    throttle.rejected(PEER, FREE + 5, 0, NOW_MS, 1_000)

    again = replace(PEER, client_port=50001, client_id="new", client_software="new/1", listener="other")
    assert throttle.mute_ms(again, NOW_MS, 1_000) == 5
    for other in (replace(PEER, client_address="192.0.2.2"), replace(PEER, principal="User:other")):
        assert throttle.mute_ms(other, NOW_MS, 1_000) == 0


def test_an_ipv6_host_does_not_escape_by_another_of_its_addresses():
    throttle = Throttle()
    throttle.rejected(replace(PEER, client_address="2001:db8::1"), FREE + 5, 0, NOW_MS, 1_000)

    said = {
        address: throttle.mute_ms(replace(PEER, client_address=address), NOW_MS, 1_000)
        for address in ("2001:db8::2", "2001:db8:0:1::1")
    }
    assert said == {"2001:db8::2": 5, "2001:db8:0:1::1": 0}


def test_the_silence_that_is_left_is_never_longer_than_the_longest_one():
    throttle = Throttle()
    throttle.rejected(PEER, 2 * FREE, 0, NOW_MS, 1_000)
    assert throttle.mute_ms(PEER, NOW_MS, 300) == 300


def test_who_owes_nothing_any_more_is_forgotten():
    throttle = Throttle()
    for number in range(100):
        throttle.rejected(replace(PEER, client_address=str(number)), 50, 0, NOW_MS + number, 1_000)
    assert len(throttle) == 50


def test_of_very_many_clients_those_are_forgotten_that_were_longest_not_rejected():
    throttle = Throttle()
    for number in range(DEBTS.most + 10):
        throttle.rejected(replace(PEER, client_address=str(number)), FREE + 1, 0, NOW_MS, 1_000)
        throttle.rejected(PEER, FREE + 1, 0, NOW_MS, 1_000)

    assert len(throttle) == DEBTS.most
    assert throttle.mute_ms(PEER, NOW_MS, 1_000) == 1_000
    assert throttle.mute_ms(replace(PEER, client_address="0"), NOW_MS, 1_000) == 0


@pytest.mark.parametrize(("longest_ms", "is_muted"), [(1_000, True), (None, False)])
@pytest.mark.parametrize("uses_fast_path", [True, False])
def test_rejections_that_the_fast_path_repeats_cost_as_much_as_the_others(
    longest_ms, is_muted, uses_fast_path
):
    view = view_of(throttle_ms=longest_ms)
    session, effects = Session(PEER, view, uses_fast_path=uses_fast_path), []
    for number in range(FREE + 2):
        effects += session.client_bytes(produce({"t": {0: BAD}}, correlation_id=number), NOW_MS)
    assert any(isinstance(effect, MuteClient) for effect in effects) == is_muted


# -- What the client sees ----------------------------------------------------------------------------


@pytest.fixture
def free(monkeypatch):
    """One batch is rejected without a consequence."""
    monkeypatch.setattr("tsproxy.session.throttle.FREE_MS", 1.0)
    monkeypatch.setattr("tsproxy.session.throttle.BYTES_A_MS", float("inf"))


@pytest.fixture
def throttle(free):
    """The client owes a silence of 10 ms."""
    throttle = Throttle()
    throttle.rejected(PEER, 11, 0, NOW_MS, 1_000)
    return throttle


def said(view, throttle_time_ms, correlation_id, now_ms=NOW_MS):
    """Our answer to a request for `BAD` alone, as the session without a throttle gives it, and with."""
    conversation = Conversation(replace(view, limits=replace(view.limits, throttle_ms=None)))
    [sent, _] = conversation.session.client_bytes(produce({"t": {0: BAD}}, 9, -1, correlation_id), now_ms)
    answer = bytearray(sent.data)
    answer[-5:-1] = throttle_time_ms.to_bytes(4, "big")  # the last field before the tags
    return bytes(answer)


@pytest.mark.usefixtures("free")
def test_the_answer_says_how_long_and_then_the_client_is_not_read():
    view = view_of()
    assert (
        Conversation(view)
        >> client(produce({"t": {0: BAD}}, 9, -1, 1))
        << to_client(said(view, 0, 1))
        << booked("rejected")
        >> client(produce({"t": {0: BAD}}, 9, -1, 2))
        << to_client(said(view, 1, 2))
        << booked("rejected")
        << muted(1)
        >> later(1)
        << unmuted
        >> later(999)
        >> client(produce({"t": {0: BAD}}, 9, -1, 3))
        << to_client(said(view, 0, 3, NOW_MS + 1_000))
        << booked("rejected")
    )


def test_a_new_connection_does_not_escape_the_silence(throttle):
    view = view_of()
    assert (
        Conversation(view, throttle=throttle)
        >> client(produce({"t": {0: BAD}}, 9, -1, 1))
        << booked("rejected")
        << delayed(10)
        << paused
        >> client(produce({"t": {0: BAD}}, 9, -1, 2))  # pipelined: it stays in its turn
        >> later(9)
        >> later(1)
        << to_client(said(view, 1, 1))
        << muted(1)
        << booked("rejected")
        << delayed(1)
        >> later(1)
        << to_client(said(view, 1, 2, NOW_MS + 10))
        << unmuted
        << muted(1)
        << resumed
        >> later(1)
        << unmuted
    )


def test_a_delayed_request_that_mutes_anew_is_not_unmuted_by_an_older_deadline(throttle):
    """Both deadlines have passed when the session is called, the delay's first."""
    assert (
        Conversation(throttle=throttle)
        >> client(produce({"t": dict.fromkeys(range(5), BAD)}))
        << (booked("rejected"),) * 5
        << delayed(10)
        << paused
        >> fast_path_rejects(11)
        << muted(11)
        >> later(12)
        << Expected(SendToClient)
        << muted(4)
        << resumed
        >> later(3)
        >> later(1)
        << unmuted
    )


def test_a_muted_client_is_muted_until_the_later_of_two_times():
    conversation = Conversation()
    for throttle_ms in (50, 100):
        conversation = conversation >> fast_path_rejects(throttle_ms) << muted(throttle_ms)
    assert conversation >> later(99) >> later(1) << unmuted
    assert conversation.session.next_deadline_ms is None


def test_a_wall_clock_that_steps_back_mutes_nobody_for_longer():
    session = Conversation().session
    session.feed(Throttled(50), NOW_MS, 1_000)
    session.feed(Throttled(50), NOW_MS - HOUR_MS, 1_010)
    assert session.next_deadline_ms == 1_060
    assert session.feed(DeadlinePassed(), NOW_MS - HOUR_MS, 1_059) == []
    assert session.feed(DeadlinePassed(), NOW_MS - HOUR_MS, 1_060) == [UnmuteClient()]


def test_a_session_that_has_ended_waits_for_nothing():
    conversation = Conversation() >> fast_path_rejects(50) << muted(50) >> client_is_lost
    assert conversation << Expected(CloseSession)
    assert conversation.session.next_deadline_ms is None
    assert conversation >> fast_path_rejects(50) >> later(50)


def test_whoever_is_silenced_may_go_on_sending_what_is_good(throttle):
    assert Conversation(throttle=throttle) >> forwarded(produce({"t": {0: GOOD}}))


def test_a_delayed_request_is_booked_once_even_if_its_connection_ends_meanwhile(throttle):
    assert (
        Conversation(throttle=throttle)
        >> client(produce({"t": {0: BAD, 1: GOOD}}))
        << booked("rejected")
        << delayed(10)
        << paused
        >> proxy_cuts
        << Expected(CloseSession)
    )


def test_a_delayed_request_counts_as_held_as_far_as_it_is_kept(throttle):
    split, rejected = Conversation(throttle=throttle).session, Conversation(throttle=throttle).session
    split.client_bytes(produce({"t": {0: BAD, 1: GOOD}}), NOW_MS)
    rejected.client_bytes(produce({"t": {0: BAD}}), NOW_MS)

    assert split.held_bytes > len(produce({"t": {1: GOOD}}))  # with the texts about BAD
    sent = rejected.held_bytes, rejected.feed(DeadlinePassed(), NOW_MS + 1_000)
    size = sum(len(effect.data) for effect in sent[1] if isinstance(effect, SendToClient))
    assert 0 < size < sent[0] <= size + 1024  # with the verdict


@pytest.mark.usefixtures("free")
@pytest.mark.parametrize(("by_broker", "told"), [(0, 2), (500, 500)])
def test_of_a_request_that_is_split_the_longer_of_both_silences_is_told(by_broker, told):
    view = view_of()
    three = {0: BAD, 1: BAD, 2: BAD}
    asked = produce({"t": {**three, 3: GOOD}})
    answered = produced({"t": {3: accepted()}}, throttle_time_ms=by_broker)
    conversation = Conversation(view)
    first = conversation.session.client_bytes(asked, NOW_MS)
    [sent, *_] = conversation.session.broker_bytes(answered, NOW_MS)

    assert MuteClient(2) in first
    assert int.from_bytes(sent.data[-5:-1], "big") == told


@pytest.mark.usefixtures("free")
def test_what_the_broker_rejects_is_the_brokers_to_throttle():
    asked = produce({"t": {0: GOOD, 1: GOOD, 2: GOOD}})
    denied = {"error_code": ErrorCode.TOPIC_AUTHORIZATION_FAILED}
    answered = produced({"t": {0: denied, 1: denied, 2: denied}})
    assert (
        Conversation(View())
        >> forwarded(asked)
        << topic_wanted("t")
        >> returned(answered)
        << (booked("broker_rejected"),) * 3
    )


# -- Penalties ----------------------------------------------------------------------------------------


ADDRESS = PEER.client_address
OVER_MS = NOW_MS + READ_ALL_MS


@pytest.fixture
def penalties():
    return Trust()


def until_ms(penalties, address=ADDRESS, topic="t"):
    return penalties.penalties_of(address).until_ms(topic)


def test_a_penalty_stays_when_no_connection_holds_it_any_more(penalties):
    held = penalties.penalties_of(ADDRESS)
    penalties.punish(ADDRESS, ["t"], NOW_MS)
    del held
    gc.collect()
    assert until_ms(penalties) == OVER_MS
    assert until_ms(penalties, topic="u") == until_ms(penalties, "192.0.2.2") == 0


def test_every_connection_of_the_address_learns_it(penalties):
    held = penalties.penalties_of(ADDRESS)
    penalties.punish(ADDRESS, ["t"], NOW_MS)
    assert held.until_ms("t") == OVER_MS


def test_an_ipv6_host_keeps_its_penalty_in_another_of_its_addresses(penalties):
    penalties.punish("2001:db8::1", ["t"], NOW_MS)
    assert until_ms(penalties, "2001:db8::2") == OVER_MS
    assert until_ms(penalties, "2001:db8:0:1::1") == 0


def test_an_address_with_bad_batches_of_very_many_topics_has_all_of_them_read(penalties):
    for number in range(MAX_TOPICS + 1):
        penalties.punish(ADDRESS, [f"t{number}"], NOW_MS + number)
    assert len(penalties.penalties_of(ADDRESS)) == 1
    assert until_ms(penalties, topic="another") == OVER_MS + MAX_TOPICS
    assert until_ms(penalties, "192.0.2.2") == 0


@pytest.mark.parametrize(("count", "stands_for_all"), [(MAX_TOPICS, False), (MAX_TOPICS + 1, True)])
def test_each_bad_topic_of_one_request_is_read(penalties, count, stands_for_all):
    topics = [f"t{number}" for number in range(count)]
    penalties.punish(ADDRESS, topics, NOW_MS)
    assert {until_ms(penalties, topic=topic) for topic in topics} == {OVER_MS}
    assert until_ms(penalties, topic="another") == (OVER_MS if stands_for_all else 0)


def test_a_penalty_that_is_over_makes_room(penalties):
    for number in range(10 * MAX_TOPICS):
        penalties.punish(ADDRESS, [f"t{number}"], NOW_MS + number * READ_ALL_MS)
    assert len(penalties.penalties_of(ADDRESS)) == 1
    assert until_ms(penalties, topic="another") == 0


def test_of_very_many_addresses_none_gets_rid_of_its_penalty(penalties):
    penalties.punish(ADDRESS, ["t"], NOW_MS)
    for number in range(KEPT.most):
        penalties.punish(f"host-{number}", ["t"], NOW_MS + 1)
    assert len(penalties) == KEPT.most
    assert until_ms(penalties) == OVER_MS
    assert until_ms(penalties, "somebody new") == OVER_MS


def test_addresses_whose_penalties_are_over_are_forgotten(penalties):
    for number in range(100):
        penalties.punish(f"host-{number}", ["t"], NOW_MS + number)
    penalties.punish(ADDRESS, ["t"], OVER_MS + 99)
    assert len(penalties) == 1
    assert until_ms(penalties, "host-1") == 0


@pytest.mark.parametrize("topic", ["", "a" * 250, "\U0001f600"])
def test_a_name_that_no_topic_can_have_is_not_kept(penalties, topic):
    penalties.punish(ADDRESS, [topic], NOW_MS)
    assert len(penalties) == 0
