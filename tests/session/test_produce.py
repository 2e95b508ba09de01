"""A ProduceRequest is forwarded or rejected; its answer is the broker's or ours."""

import pytest

from tests.session.conversation import (
    DAY_MS,
    HOUR_MS,
    LIMITS,
    NOW_MS,
    SECOND_MS,
    Conversation,
    booked,
    broker,
    broker_is_lost,
    client,
    client_is_lost,
    closed,
    to_broker,
    to_client,
    topic_wanted,
    view_becomes,
    view_by,
    view_of,
)
from tests.session.messages import (
    ALL_VERSIONS,
    REJECTED_TEXT,
    accepted,
    out_of_range,
    produce,
    produced,
    rejected,
)
from tests.wire.batches import CODECS, batch
from tsproxy.decisions.totals import culprit_times_ms
from tsproxy.model.kafka import TimestampType
from tsproxy.model.outcome import Culprit
from tsproxy.model.policy import Choice, Mode, Policy
from tsproxy.model.records import BatchFacts
from tsproxy.model.verdict import Reason, TopicLimits, UnitGuess
from tsproxy.model.view import View
from tsproxy.session.effects import CloseReason, Emit

GOOD = batch([NOW_MS, NOW_MS - SECOND_MS])
AHEAD_MS = NOW_MS + 2 * HOUR_MS
BAD = batch([NOW_MS, AHEAD_MS])


# -- Forward all ------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ALL_VERSIONS)
@pytest.mark.parametrize("acks", [1, -1])
def test_an_accepted_request_and_its_answer_pass_as_they_came(version, acks):
    asked = produce({"t": {0: GOOD, 1: GOOD}, "u": {0: GOOD}}, version, acks)
    said = produced({"u": {0: accepted(9)}, "t": {1: accepted(8), 0: accepted(7)}}, version)
    assert (
        Conversation()
        >> client(asked)
        << to_broker(asked)
        >> broker(said)
        << to_client(said)
        << booked("accepted", topic="t", partition=0, acks=acks, api_version=version)
        << booked("accepted", topic="t", partition=1)
        << booked("accepted", topic="u", partition=0)
    )


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_compressed_batches_are_judged_like_plain_ones(codec):
    asked = produce({"t": {0: batch([NOW_MS, NOW_MS], codec), 1: batch([NOW_MS, AHEAD_MS], codec)}})
    own = produced({"t": {0: accepted()}})
    assert (
        Conversation()
        >> client(asked)
        << to_broker(produce({"t": {0: batch([NOW_MS, NOW_MS], codec)}}))
        << booked("rejected", partition=1, error_code=32)
        >> broker(own)
        << to_client(produced({"t": {0: accepted(), 1: rejected(out_of_range(AHEAD_MS, 1))}}))
        << booked("accepted", partition=0)
    )


def test_what_is_odd_but_not_ours_to_judge_passes_as_it_came():
    """Unknown tags, a trailing byte after the body, null client id: the frame is the broker's to read."""
    body = produce({"t": {0: GOOD}}, client_id=None)
    tagged = body[4:-1] + b"\x01\x07\x02hi" + b"trailing"
    asked = len(tagged).to_bytes(4, "big") + tagged
    assert Conversation() >> client(asked) << to_broker(asked)


def test_a_request_without_topics_is_the_brokers_to_answer():
    asked, said = produce({}), produced({})
    assert Conversation() >> client(asked) << to_broker(asked) >> broker(said) << to_client(said)


def test_the_facts_of_an_accepted_batch_are_booked():
    asked = produce({"t": {3: GOOD}}, transactional_id="tx", client_id="orders")
    facts = BatchFacts(
        magic=2,
        codec="none",
        batch_bytes=len(GOOD),
        records=2,
        producer_id=-1,
        producer_epoch=-1,
        min_timestamp_ms=NOW_MS - SECOND_MS,
        max_timestamp_ms=NOW_MS,
    )
    said = produced({"t": {3: accepted()}})
    conversation = Conversation()
    assert (
        conversation
        >> client(asked)
        << to_broker(asked)
        >> broker(said)
        << to_client(said)
        << booked(
            "accepted",
            batch=facts,
            limits=LIMITS,
            now_ms=NOW_MS,
            transactional_id="tx",
            correlation_id=1,
            culprits=(),
            bad_records=0,
            reason=None,
            error_code=0,
        )
    )


# -- Reject all -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ALL_VERSIONS)
@pytest.mark.parametrize("acks", [1, -1])
def test_a_rejected_request_never_reaches_the_broker(version, acks):
    """KIP-467's fields are on the wire from v8; below it the code stands alone."""
    conversation = (
        Conversation()
        >> client(produce({"t": {0: BAD}}, version, acks, correlation_id=77))
        << to_client(produced({"t": {0: rejected(out_of_range(AHEAD_MS, 1))}}, version, correlation_id=77))
    )
    assert conversation << booked(
        "rejected",
        topic="t",
        partition=0,
        error_code=32,
        error_message=REJECTED_TEXT,
        reason=Reason.TOO_FAR_AHEAD,
        culprits=(Culprit(1, AHEAD_MS),),
        bad_records=1,
        rule="topic-limits",
        is_final=True,
    )


def test_every_culprit_is_named_in_the_order_of_the_batch():
    times = [AHEAD_MS, NOW_MS, AHEAD_MS + 5, -1, NOW_MS - 2 * DAY_MS]
    errors = [out_of_range(times[i], i) for i in (0, 2, 4)]
    assert (
        Conversation()
        >> client(produce({"t": {0: batch(times)}}))
        << to_client(produced({"t": {0: rejected(*errors)}}))
        << booked("rejected", bad_records=3, culprits=tuple(Culprit(i, times[i]) for i in (0, 2, 4)))
    )


def test_a_culprit_without_a_timestamp_is_named_and_has_no_part_in_their_range():
    conversation = Conversation(view_by("r", no_timestamp=Choice.REJECT))
    effects = conversation.session.client_bytes(produce({"t": {0: batch([-1, AHEAD_MS])}}), NOW_MS)
    (outcome,) = (effect.outcome for effect in effects if isinstance(effect, Emit))
    assert outcome.culprits == (Culprit(0, -1), Culprit(1, AHEAD_MS))
    assert culprit_times_ms(outcome) == (AHEAD_MS, AHEAD_MS, AHEAD_MS)


def test_outcomes_name_the_request_that_brought_their_batch():
    """The decision log counts each request once, whatever its correlation id."""
    session = Conversation().session
    effects = [session.client_bytes(produce({"t": {0: BAD, 1: BAD}}), NOW_MS) for _ in range(2)]
    first, second = ([one.outcome.request for one in some if isinstance(one, Emit)] for some in effects)
    assert (len(first), len(second)) == (2, 2)
    assert first[0] is first[1]
    assert second[0] is second[1]
    assert first[0] is not second[0]


def test_culprits_above_the_limit_are_counted_but_not_listed():
    times = [AHEAD_MS] * 5
    assert (
        Conversation(view_of(culprits_listed=2))
        >> client(produce({"t": {0: batch(times)}}))
        << to_client(produced({"t": {0: rejected(out_of_range(AHEAD_MS, 0), out_of_range(AHEAD_MS, 1))}}))
        << booked("rejected", bad_records=5, culprits=(Culprit(0, AHEAD_MS), Culprit(1, AHEAD_MS)))
    )


def test_the_limit_on_culprits_holds_for_all_partitions_of_one_answer_together():
    """One small request must not make a huge answer, however it spreads its bad records."""
    culprits = [out_of_range(AHEAD_MS, 0), out_of_range(AHEAD_MS, 1)]
    assert (
        Conversation(view_of(culprits_listed=3))
        >> client(produce({"t": {0: batch([AHEAD_MS] * 2), 1: batch([AHEAD_MS] * 2)}}))
        << to_client(produced({"t": {0: rejected(*culprits), 1: rejected(culprits[0])}}))
        << booked("rejected", bad_records=2)
        << booked("rejected", bad_records=2)
    )


def test_a_rejection_guesses_the_unit_mistake():
    assert (
        Conversation()
        >> client(produce({"t": {0: batch([NOW_MS * 1000])}}))
        << to_client(produced({"t": {0: rejected(out_of_range(NOW_MS * 1000, 0))}}))
        << booked("rejected", unit_guess=UnitGuess.MICROSECONDS)
    )


def test_a_record_without_a_timestamp_passes_any_limits():
    asked = produce({"t": {0: batch([-1, -1])}})
    strictest = view_of(limits=TopicLimits(before_max_ms=0, after_max_ms=0))
    assert Conversation(strictest) >> client(asked) << to_broker(asked)


def test_a_topic_with_log_append_time_takes_any_timestamp():
    asked = produce({"t": {0: batch([0, AHEAD_MS])}})
    sets_its_own = TopicLimits(TimestampType.LOG_APPEND_TIME, before_max_ms=0, after_max_ms=0)
    assert Conversation(view_of(limits=sets_its_own)) >> client(asked) << to_broker(asked)


def test_mode_off_looks_at_nothing():
    asked = produce({"t": {0: BAD}})
    known = view_of()
    looks_away = View(known.endpoints, known.topics, known.limits, Policy(mode=Mode.OFF))
    assert Conversation(looks_away) >> client(asked) << to_broker(asked)


# -- Limits that are not known yet ------------------------------------------------------------------


def test_a_topic_whose_limits_are_unknown_is_left_to_the_broker_and_wanted():
    asked = produce({"new": {0: BAD}, "t": {0: GOOD}})
    said = produced({"t": {0: accepted()}, "new": {0: rejected(out_of_range(AHEAD_MS, 1))}})
    assert (
        Conversation()
        >> client(asked)
        << to_broker(asked)
        << topic_wanted("new")
        >> broker(said)
        << to_client(said)
        << booked("broker_rejected", topic="new", limits=None, culprits=(Culprit(1, AHEAD_MS),))
        << booked("accepted", topic="t")
    )


def test_limits_that_become_known_hold_from_the_next_request_on():
    asked = produce({"new": {0: BAD}})
    said = produced({"new": {0: rejected(out_of_range(AHEAD_MS, 1))}}, correlation_id=2)
    conversation = Conversation() >> client(asked) << to_broker(asked) << topic_wanted("new")
    conversation = conversation >> view_becomes(view_of(topics=["new"]))
    conversation = conversation >> client(produce({"new": {0: BAD}}, correlation_id=2)) << booked("rejected")
    own = produced({"new": {0: accepted()}})
    assert conversation >> broker(own) << to_client(own, said) << booked("accepted")


# -- The broker's own verdict -----------------------------------------------------------------------


@pytest.mark.parametrize("uses_fast_path", [False, True])
def test_what_the_broker_says_of_each_partition_is_booked_alike_whoever_let_it_pass(uses_fast_path):
    """The fast path knows a topic from the second request on."""
    asked = produce({"t": {0: GOOD, 1: GOOD}})
    said = produced({"t": {0: accepted(), 1: {"error_code": 6}}})
    conversation = Conversation(uses_fast_path=uses_fast_path)
    for _ in range(2):
        assert (
            conversation
            >> client(asked)
            << to_broker(asked)
            >> broker(said)
            << to_client(said)
            << booked("accepted", partition=0, reason=None)
            << booked("broker_rejected", partition=1, reason=Reason.OTHER)
        )


@pytest.mark.parametrize(
    ("code", "reason", "is_final"),
    [
        (2, Reason.INVALID_CRC, False),
        (6, Reason.OTHER, False),
        (46, Reason.OTHER, False),
        (51, Reason.OTHER, False),
        (59, Reason.OTHER, False),
        (29, Reason.OTHER, True),
        (45, Reason.OTHER, False),
        (87, Reason.BAD_RECORD, True),
    ],
)
def test_the_brokers_rejection_is_booked_as_its_own(code, reason, is_final):
    asked = produce({"t": {0: GOOD}})
    said = produced({"t": {0: {"error_code": code, "error_message": "no"}}})
    assert (
        Conversation()
        >> client(asked)
        << to_broker(asked)
        >> broker(said)
        << to_client(said)
        << booked(
            "broker_rejected",
            error_code=code,
            error_message="no",
            reason=reason,
            is_final=is_final,
            bad_records=2,
            culprits=(),
            rule=None,
        )
    )


def test_the_brokers_culprits_are_booked_with_the_times_its_texts_name():
    """Its clock may run ahead of ours: what passes here may be rejected there."""
    asked = produce({"t": {0: GOOD}})
    said = produced({"t": {0: rejected((0, out_of_range(NOW_MS + 1, 0)[1]), (1, None))}})
    assert (
        Conversation()
        >> client(asked)
        << to_broker(asked)
        >> broker(said)
        << to_client(said)
        << booked(
            "broker_rejected",
            reason=Reason.TOO_FAR_AHEAD,
            culprits=(Culprit(0, NOW_MS + 1), Culprit(1, None)),
            bad_records=2,
        )
    )


@pytest.mark.parametrize(
    ("times", "reason", "unit_guess"),
    [
        ([NOW_MS + HOUR_MS], Reason.TOO_FAR_AHEAD, None),
        ([NOW_MS - HOUR_MS, NOW_MS + SECOND_MS], Reason.TOO_OLD, None),
        ([NOW_MS - HOUR_MS, NOW_MS + HOUR_MS], Reason.TOO_OLD, None),
        ([NOW_MS - SECOND_MS, NOW_MS + HOUR_MS], Reason.TOO_FAR_AHEAD, None),
        ([NOW_MS, NOW_MS * 1_000_000], Reason.TOO_FAR_AHEAD, UnitGuess.NANOSECONDS),
        ([NOW_MS // 1000, NOW_MS], Reason.TOO_OLD, UnitGuess.SECONDS),
        ([-1], Reason.OTHER, None),
    ],
)
def test_below_v8_the_reason_of_a_rejected_time_is_read_from_the_batch(times, reason, unit_guess):
    """An answer below v8 names no culprits: the time furthest from the clock is the likeliest one."""
    asked = produce({"new": {0: batch(times)}}, version=7)
    said = produced({"new": {0: {"error_code": 32}}}, version=7)
    assert (
        Conversation()
        >> client(asked)
        << to_broker(asked)
        << topic_wanted("new")
        >> broker(said)
        << to_client(said)
        << booked("broker_rejected", reason=reason, unit_guess=unit_guess, bad_records=len(times))
    )


def test_a_partition_that_the_broker_forgot_is_unconfirmed():
    asked = produce({"t": {0: GOOD}})
    said = produced({})
    assert (
        Conversation()
        >> client(asked)
        << to_broker(asked)
        >> broker(said)
        << to_client(said)
        << booked("unconfirmed")
    )


@pytest.mark.parametrize("end", [client_is_lost, broker_is_lost])
def test_what_was_forwarded_and_not_answered_when_the_connection_ends_is_unconfirmed(end):
    first = produce({"t": {0: GOOD, 1: BAD}})
    second = produce({"t": {2: GOOD}}, correlation_id=2)
    assert (
        Conversation()
        >> client(first, second)
        << to_broker(produce({"t": {0: GOOD}}), second)
        << booked("rejected", partition=1)
        >> end
        << booked("unconfirmed", partition=0, correlation_id=1)
        << booked("unconfirmed", partition=2, correlation_id=2)
        << closed(CloseReason.PEER_CLOSED)
        >> end
    )
