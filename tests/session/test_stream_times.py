"""A rule that follows a partition's newest time: whose batches count for it, and whose do not."""

from dataclasses import replace
from functools import partial

import pytest

from tests.fastpath.test_sessions import Spectator
from tests.policy.test_resolve import named
from tests.session.conversation import (
    HOUR_MS,
    NOW_MS,
    PEER,
    Conversation,
    Session,
    at,
    booked,
    broker,
    client,
    to_broker,
    to_client,
    view_by,
    view_of,
)
from tests.session.messages import accepted, produce, produced, rejected
from tests.verdicts.rows import legacy
from tests.wire.batches import CODECS, batch
from tsproxy.model.custom_rule import CustomRule, StreamTime
from tsproxy.model.policy import Match, Mode, OnViolation, Policy, Rule, RuleSettings
from tsproxy.model.verdict import Reason, TopicLimits, UnitGuess
from tsproxy.policy.fast_path import fast_path_bounds
from tsproxy.policy.stream_time import StreamTimeGuard
from tsproxy.policy.units import unit_hint
from tsproxy.session import stream_times
from tsproxy.session.effects import Judge, SendToClient
from tsproxy.session.policies import of_anybody
from tsproxy.session.produce import cost
from tsproxy.session.stream_times import StreamTimes
from tsproxy.testing.rules import rule_context

MINUTE_MS = 60_000
OLD_MS = NOW_MS - 5 * HOUR_MS
"""The place in the stream: it lags, and no limit around the clock says anything of it."""
JUMP_MS = OLD_MS + 11 * MINUTE_MS

GUARD = CustomRule("stream-time-guard", StreamTimeGuard(10 * MINUTE_MS))
view = partial(view_by, "guard", limits=TopicLimits(), custom_rules=(GUARD,))


def asked(*times, correlation_id=1, topic="t", codec=0, **more):
    return produce({topic: {0: batch(times, codec)}}, correlation_id=correlation_id, **more)


def said(correlation_id=1, answer=None):
    return produced({"t": {0: answer or accepted()}}, correlation_id=correlation_id)


def no(correlation_id, jump_ms=11 * MINUTE_MS, time_ms=JUMP_MS):
    text = (
        f"Timestamp {time_ms} is {jump_ms} ms ahead of the partition's stream time, which is "
        f"{time_ms - jump_ms} by now; at most 600000 ms are accepted"
    )
    return said(correlation_id, rejected((0, text)))


def lagging(known=None, **settings):
    """A conversation in which the broker has accepted a batch at OLD_MS."""
    conversation = Conversation(view(**settings), stream_times=StreamTimes() if known is None else known)
    conversation >> client(asked(OLD_MS)) << to_broker(asked(OLD_MS)) >> broker(said()) << to_client(said())
    return conversation << booked("accepted", out_of_order_records=0, out_of_order_max_ms=None)


def test_a_jump_is_rejected_that_the_clock_would_allow():
    second = asked(JUMP_MS, correlation_id=2)
    conversation = lagging() >> client(second) << to_client(no(2))
    assert conversation << booked("rejected", rule="guard", reason=Reason.JUMP_AHEAD, bad_records=1)


@pytest.mark.parametrize("names_unit", [False, True])
def test_a_jump_that_is_another_unit_is_called_so(names_unit):
    """If no limit is set, the guard is the first to see it."""
    around, time_ms = view(), NOW_MS * 1_000
    around = replace(around, policy=replace(around.policy, names_unit=names_unit))
    conversation = Conversation(around) >> client(asked(time_ms))
    [(_, text)] = StreamTimeGuard(10 * MINUTE_MS).culprits([time_ms], rule_context(now_ms=NOW_MS))
    hint = f" ({unit_hint(time_ms, NOW_MS)})" if names_unit else ""
    conversation << to_client(said(answer=rejected((0, text + hint))))
    assert conversation << booked(
        "rejected", reason=Reason.JUMP_AHEAD, unit_guess=UnitGuess.MICROSECONDS, bad_records=1
    )


def test_each_partition_has_a_time_of_its_own():
    elsewhere = asked(NOW_MS, correlation_id=2, topic="u")
    assert lagging() >> client(elsewhere) << to_broker(elsewhere)


def test_what_is_in_flight_counts_for_what_comes_behind_it():
    """Else whether a batch is rejected would depend on how fast the broker is."""
    first, second = (
        asked(OLD_MS + 10 * MINUTE_MS, correlation_id=2),
        asked(OLD_MS + 20 * MINUTE_MS, correlation_id=3),
    )
    assert lagging() >> client(first, second) << to_broker(first, second)


def test_what_the_broker_rejected_has_moved_nothing():
    sent = asked(OLD_MS + 10 * MINUTE_MS, correlation_id=2)
    not_leader = said(2, {"error_code": 29})
    conversation = (
        lagging()
        >> client(sent)
        << to_broker(sent)
        >> broker(not_leader)
        << to_client(not_leader)
        << booked("broker_rejected")
    )
    jump = asked(JUMP_MS, correlation_id=3)
    assert conversation >> client(jump) << to_client(no(3)) << booked("rejected")


def test_what_the_broker_rejected_takes_nothing_from_what_is_in_flight_behind_it():
    ten, twenty, thirty = (asked(OLD_MS + n * 10 * MINUTE_MS, correlation_id=n + 1) for n in (1, 2, 3))
    too_large = said(2, {"error_code": 10})
    conversation = (
        lagging()
        >> client(ten, twenty)
        << to_broker(ten, twenty)
        >> broker(too_large)
        << to_client(too_large)
        << booked("broker_rejected")
    )
    assert conversation >> client(thirty) << to_broker(thirty)


def test_another_connection_is_judged_by_what_brokers_accepted_and_not_by_what_somebody_sent():
    known = StreamTimes()
    first = lagging(known)
    sent = asked(OLD_MS + 10 * MINUTE_MS, correlation_id=2)
    first >> client(sent) << to_broker(sent)
    other = Conversation(view(), stream_times=known)
    jump = asked(JUMP_MS, correlation_id=7)
    assert other >> client(jump) << to_client(no(7)) << booked("rejected")
    first >> broker(said(2)) << to_client(said(2)) << booked("accepted")
    assert other >> client(jump) << to_broker(jump)


def test_without_an_answer_a_batch_counts_for_its_own_connection_alone():
    known = StreamTimes()
    conversation = Conversation(view(), stream_times=known)
    first = asked(OLD_MS, acks=0)
    conversation >> client(first) << to_broker(first) << booked("unconfirmed")
    jump = asked(JUMP_MS, correlation_id=2)
    assert conversation >> client(jump) << to_client(no(2)) << booked("rejected")
    assert len(known) == 0


def test_time_that_passes_is_no_jump():
    later = asked(JUMP_MS, correlation_id=2)
    assert lagging() >> at(NOW_MS + MINUTE_MS) >> client(later) << to_broker(later)


def test_a_time_that_comes_again_does_not_shorten_the_silence_since_it_first_came():
    known = StreamTimes()
    known.accepted(("t", 0), OLD_MS, NOW_MS - HOUR_MS)
    for latest_ms in (OLD_MS, OLD_MS - 1):
        known.accepted(("t", 0), latest_ms, NOW_MS)
    assert known.of(("t", 0)) == StreamTime(OLD_MS, NOW_MS - HOUR_MS)


def test_a_time_that_was_put_right_counts_as_what_it_became():
    limits = TopicLimits(before_max_ms=24 * HOUR_MS, after_max_ms=HOUR_MS)
    settings = {"limits": limits, "on_violation": OnViolation.REPAIR}
    in_us = asked(OLD_MS * 1_000, correlation_id=2)
    conversation = lagging(**settings) >> client(in_us) << to_broker(asked(OLD_MS, correlation_id=2))
    conversation >> broker(said(2)) << to_client(said(2)) << booked("repaired")
    jump = asked(JUMP_MS, correlation_id=3)
    assert conversation >> client(jump) << to_client(no(3)) << booked("rejected")


def test_what_a_time_is_put_right_to_must_not_jump_either():
    limits = TopicLimits(before_max_ms=24 * HOUR_MS, after_max_ms=HOUR_MS)
    conversation = lagging(limits=limits, on_violation=OnViolation.REPAIR)
    in_us = asked(JUMP_MS * 1_000, correlation_id=2)
    assert conversation >> client(in_us) << to_client(no(2)) << booked("rejected", reason=Reason.JUMP_AHEAD)


def test_a_jump_is_not_put_right():
    """Nobody knows where the record belongs."""
    conversation = lagging(on_violation=OnViolation.STAMP)
    assert conversation >> client(asked(JUMP_MS, correlation_id=2)) << to_client(no(2)) << booked("rejected")


def test_in_audit_a_jump_is_counted_and_moves_the_stream_as_it_does():
    jump, behind = asked(JUMP_MS, correlation_id=2), asked(JUMP_MS, correlation_id=3)
    conversation = lagging(mode=Mode.AUDIT) >> client(jump) << to_broker(jump) >> broker(said(2))
    conversation << to_client(said(2)) << booked("accepted", would_reject=True, rule="guard")
    conversation >> client(behind) << to_broker(behind) >> broker(said(3)) << to_client(said(3))
    assert conversation << booked("accepted", would_reject=False)


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_records_older_than_one_before_them_are_counted_with_the_latest_of_them(codec):
    sent = asked(OLD_MS - 5, OLD_MS + 7, OLD_MS + 4, correlation_id=2, codec=codec)
    conversation = lagging() >> client(sent) << to_broker(sent) >> broker(said(2)) << to_client(said(2))
    assert conversation << booked("accepted", out_of_order_records=2, out_of_order_max_ms=5)


def test_a_topic_whose_stream_is_followed_never_takes_the_fast_path():
    seen = view(limits=TopicLimits(before_max_ms=HOUR_MS, after_max_ms=HOUR_MS))
    assert fast_path_bounds(of_anybody(seen).of("t", NOW_MS)) is None
    session = Session(PEER, seen, uses_fast_path=True)
    spectator = Spectator(session)
    for correlation_id in range(1, 4):
        spectator.watch(session.client_bytes(asked(NOW_MS, correlation_id=correlation_id), NOW_MS))
        spectator.watch(session.broker_bytes(said(correlation_id), NOW_MS))
    requests = session.fast_path.requests
    assert requests.forward_read(asked(NOW_MS + HOUR_MS, correlation_id=4), NOW_MS) == 0


def test_beside_the_loop_it_is_judged_by_what_was_known_when_the_request_was_whole(monkeypatch):
    monkeypatch.setattr(cost, "OFFLOAD_BYTES", 1)
    known = StreamTimes()
    known.accepted(("t", 0), OLD_MS, NOW_MS)
    session = Session(PEER, view(), stream_times=known)
    effects = session.client_bytes(asked(JUMP_MS, codec=CODECS["zstd"]), NOW_MS)
    [job] = [effect.job for effect in effects if isinstance(effect, Judge)]
    known.accepted(("t", 0), JUMP_MS, NOW_MS)
    assert len(job().verdict.rejected) == 1


def test_each_message_of_an_old_producer_is_compared_with_the_time_before_its_request():
    """Below v3 a partition may have several messages. From v3 on the records of a batch follow each other."""
    first_ms, second_ms = OLD_MS + 9 * MINUTE_MS, OLD_MS + 18 * MINUTE_MS
    messages = legacy(1, 0)(first_ms) + legacy(1, 0)(second_ms)
    session = lagging().session
    [answered, rejection] = session.client_bytes(produce({"t": {0: messages}}, 2, correlation_id=2), NOW_MS)
    assert isinstance(answered, SendToClient)
    assert (rejection.outcome.reason, rejection.outcome.bad_records) == (Reason.JUMP_AHEAD, 1)
    together = asked(first_ms, second_ms, correlation_id=2)
    assert lagging() >> client(together) << to_broker(together)


def test_only_partitions_whose_rule_asks_for_it_are_remembered():
    known = StreamTimes()
    followed = Rule("followed", Match(topics=named("t")), RuleSettings(custom_rules=(GUARD,)))
    seen = view_of(("t", "u"), policy=Policy(rules=(followed,)), limits=TopicLimits())
    session = Session(PEER, seen, stream_times=known)
    for number, (topic, count) in enumerate({"u": 0, "t": 1}.items()):
        session.client_bytes(asked(NOW_MS, topic=topic, correlation_id=number), NOW_MS)
        session.broker_bytes(produced({topic: {0: accepted()}}, correlation_id=number), NOW_MS)
        assert len(known) == count


def test_no_more_partitions_are_kept_than_that(monkeypatch):
    monkeypatch.setattr(stream_times, "ACCEPTED", replace(stream_times.ACCEPTED, most=3))
    known = StreamTimes()
    for partition in (0, 1, 2, 0, 3):
        known.accepted(("t", partition), OLD_MS, NOW_MS)
    assert [known.of(("t", partition)) is None for partition in range(4)] == [False, True, False, False]


def test_a_client_that_writes_to_very_many_partitions_makes_no_session_grow(monkeypatch):
    monkeypatch.setattr(stream_times, "SENT", replace(stream_times.SENT, most=3))
    conversation = Conversation(view())
    for correlation_id in range(1, 9):
        sent = produce({f"made-up-{correlation_id}": {0: batch([OLD_MS])}}, correlation_id=correlation_id)
        conversation.session.client_bytes(sent, NOW_MS)
    assert len(conversation.session._state.stream_times) <= 3
