"""Only fresh limits of a topic reject or repair a batch. A broker checks them anyway, in its own words."""

import struct
from dataclasses import replace
from functools import partial

import pytest

from tests.session.conversation import (
    DAY_MS,
    HOUR_MS,
    LIMITS,
    NOW_MS,
    PEER,
    Conversation,
    Expected,
    Session,
    booked,
    client,
    forwarded,
    judged_beside,
    later,
    limits_are_read,
    paused,
    read,
    resumed,
    returned,
    thread_judges,
    to_broker,
    to_client,
    topic_wanted,
    view_becomes,
    view_by,
    view_of,
)
from tests.session.messages import accepted, answer, out_of_range, produce, produced, rejected, request
from tests.session.test_repair import marked
from tests.verdicts.rows import legacy
from tests.wire.batches import GZIP, ZSTD, batch, record
from tsproxy.model.custom_rule import CustomRule
from tsproxy.model.kafka import TimestampType
from tsproxy.model.policy import (
    NO_POLICY,
    Choice,
    LimitsFrom,
    Mode,
    OnViolation,
    Policy,
    Preset,
    RuleSettings,
    TimeLimit,
)
from tsproxy.model.verdict import Reason, TopicLimits
from tsproxy.model.view import SessionLimits
from tsproxy.session.effects import Count, Emit, SendToBroker, SendToClient, SessionCounter
from tsproxy.session.fresh_limits import ASKED, FRESH_MS, FreshLimits
from tsproxy.session.topic_names import NAME_WAIT_MS

REPAIRS = view_by("r", on_violation=OnViolation.REPAIR).policy
MANY = 10_001
OLD_MS = NOW_MS - 2 * DAY_MS
TOO_OLD, GOOD = batch([OLD_MS]), batch([NOW_MS])
WAITED_FOR = Expected(Count, {"counter": SessionCounter.TOPIC_LIMITS_WAITS})
FRAME, AGAIN = (produce({"t": {0: TOO_OLD}}, correlation_id=number) for number in (1, 2))
SAID, SAID_AGAIN = (
    produced({"t": {0: rejected(out_of_range(OLD_MS))}}, correlation_id=number) for number in (1, 2)
)
WIDER = replace(LIMITS, before_max_ms=3 * DAY_MS)


def knowing(limits=LIMITS, policy=NO_POLICY):
    return replace(view_of(limits=limits, policy=policy), reads_limits=True)


def waits(conversation):
    return conversation >> client(FRAME) << topic_wanted("t") << WAITED_FOR << paused


def test_old_limits_are_read_again_before_a_batch_is_rejected_by_them():
    assert (
        waits(Conversation(knowing()))
        >> limits_are_read("u")
        >> limits_are_read("t")
        << to_client(SAID)
        << booked("rejected", limits=LIMITS, limits_unknown=False)
        << resumed
        >> client(AGAIN)
        << to_client(SAID_AGAIN)
        << booked("rejected")
    )


def test_a_batch_within_the_limits_that_are_told_then_is_forwarded():
    assert (
        waits(Conversation(knowing()))
        >> limits_are_read("t", view=knowing(WIDER))
        << to_broker(FRAME)
        << resumed
        >> returned(produced({"t": {0: accepted()}}))
        << booked("accepted", limits=WIDER, limits_unknown=False)
    )


def test_where_nobody_answers_the_broker_judges():
    """Neither does the log say that the batch was judged by limits that nobody knows."""
    assert (
        waits(Conversation(knowing()))
        >> view_becomes(replace(knowing(), may_describe=False))
        >> later(NAME_WAIT_MS - 1)
        >> later(1)
        << to_broker(FRAME)
        << topic_wanted("t")
        << resumed
        >> returned(SAID)
        << booked("broker_rejected", limits=None, limits_unknown=True)
    )


class WithinTheTopicsLimits:
    """A rule of an operator's own that knows its topic's limits."""

    reason = Reason.CUSTOM_RULE

    def culprits(self, times_ms, context):
        if context.limits is not None:
            yield 0, f"the topic takes {context.limits.before_max_ms} ms"


def test_old_limits_reject_nothing_through_a_custom_rule_either():
    """It is asked again, without them."""
    policy = view_by("r", custom_rules=(CustomRule("own", WithinTheTopicsLimits()),)).policy
    frame = produce({"t": {0: GOOD}})
    conversation = Conversation(knowing(policy=policy)) >> client(frame) << topic_wanted("t") << WAITED_FOR
    assert conversation << paused >> later(NAME_WAIT_MS) << to_broker(frame) << topic_wanted("t") << resumed


@pytest.mark.parametrize("codec", [GZIP, ZSTD])
def test_an_old_compression_type_rejects_no_wrong_length_that_only_brokers_that_compress_again_look_at(codec):
    policy = view_by("r", before=TimeLimit(DAY_MS)).policy
    frame = produce({"t": {0: batch([NOW_MS], ZSTD, records=[record(length=20)])}})
    session = Session(PEER, knowing(replace(LIMITS, codec=codec), policy))
    effects = [*session.client_bytes(frame, NOW_MS), *session.deadline_passed(NOW_MS + NAME_WAIT_MS)]
    assert [type(each) for each in effects if isinstance(each, SendToBroker | Emit)] == [SendToBroker]


@pytest.mark.parametrize("times", [[-1], [NOW_MS, -1]])
def test_the_rules_own_limits_reject_no_record_that_was_read_by_old_ones(times):
    """By LogAppendTime a real -1 is no time, and no other limits read it anew in between."""
    settings = {"extended_timestamps": True, "before": TimeLimit(DAY_MS), "on_violation": OnViolation.STAMP}
    old = replace(
        LIMITS, timestamp_type=TimestampType.LOG_APPEND_TIME, before_max_ms=None, max_message_bytes=10
    )
    session = Session(PEER, knowing(old, view_by("r", **settings).policy))
    frame = produce({"t": {0: marked(times)}})
    effects = [*session.client_bytes(frame, NOW_MS), *session.deadline_passed(NOW_MS + NAME_WAIT_MS)]
    assert [type(each) for each in effects if isinstance(each, SendToBroker | SendToClient)] == [SendToBroker]


def test_old_limits_reject_no_later_message_of_a_set_either():
    """Below v3, a partition may have many messages."""
    message = legacy(1, 0)
    frame = produce({"t": {0: message(NOW_MS) + message(OLD_MS)}}, version=2)
    session = Session(PEER, knowing())
    session.client_bytes(frame, NOW_MS)
    effects = session.deadline_passed(NOW_MS + NAME_WAIT_MS)
    assert [type(each) for each in effects if isinstance(each, SendToBroker | Emit)] == [SendToBroker]


@pytest.mark.parametrize("why", ["no broker answers", "denied", "answered without all brokers"])
def test_nothing_waits_for_an_answer_that_will_not_come(why):
    conversation = Conversation(knowing())
    if why == "no broker answers":
        conversation.fresh_limits.is_answered = False
    elif why == "denied":
        conversation >> view_becomes(replace(knowing(), unreadable_topics=frozenset("t")))
    else:
        conversation.fresh_limits.asked(["t"], NOW_MS)
        conversation.fresh_limits.answered([])
    assert conversation >> forwarded(FRAME) << topic_wanted("t")


def test_a_good_batch_asks_for_nothing():
    frame = produce({"t": {0: GOOD}})
    assert Conversation(knowing()) >> forwarded(frame)


BEFORE_A_DAY = RuleSettings(before=TimeLimit(DAY_MS))
BY_CONFIG = Policy(defaults=BEFORE_A_DAY, limits_from=LimitsFrom.CONFIG)
WHATEVER_THE_LIMITS = {
    "limits of the file alone": (BY_CONFIG, TOO_OLD),
    "a bit that no producer may set": (NO_POLICY, batch([NOW_MS], attributes=0x40)),
    "no records": (NO_POLICY, None),
}


@pytest.mark.parametrize(("policy", "data"), WHATEVER_THE_LIMITS.values(), ids=WHATEVER_THE_LIMITS)
def test_what_is_rejected_whatever_the_limits_needs_no_fresh_ones(policy, data):
    limits = replace(LIMITS, before_max_ms=None) if data is not TOO_OLD else LIMITS
    session = Session(PEER, knowing(limits, policy), uses_fast_path=True)
    effects = session.client_bytes(produce({"t": {0: data}}), NOW_MS)
    assert [type(each) for each in effects if isinstance(each, SendToBroker | SendToClient)] == [SendToClient]


OF_THE_FILE = {
    "the file's part of stricter": (Policy(defaults=BEFORE_A_DAY, limits_from=LimitsFrom.STRICTER), TOO_OLD),
    "a rule": (view_by("r", before=TimeLimit(DAY_MS)).policy, TOO_OLD),
    "a preset, by the last known limits": (view_by("r", preset=Preset.KAFKA_4).policy, TOO_OLD),
    "a preset alone": (view_by("r", preset=Preset.KIP_937_DRAFT).policy, batch([NOW_MS + 2 * HOUR_MS])),
    "a special timestamp": (view_by("r", zero=Choice.REJECT).policy, batch([0, NOW_MS])),
    "a repair": (view_by("r", preset=Preset.KAFKA_4, on_violation=OnViolation.STAMP).policy, TOO_OLD),
    "a rule's repair": (
        view_by("r", before=TimeLimit(DAY_MS), on_violation=OnViolation.STAMP).policy,
        TOO_OLD,
    ),
}
BROKERS_TIME = TopicLimits(timestamp_type=TimestampType.LOG_APPEND_TIME)
TOLD = {"the same": LIMITS, "wider ones": WIDER, "the broker's time": BROKERS_TIME, "nothing": None}


@pytest.mark.parametrize(("policy", "data"), OF_THE_FILE.values(), ids=OF_THE_FILE)
@pytest.mark.parametrize("told", TOLD.values(), ids=TOLD)
def test_what_the_file_or_a_preset_rejects_is_rejected_unless_fresh_limits_allow_it(policy, data, told):
    """It waits once, and holds if nobody answers. However often it is read, its records count once."""
    frame, once = produce({"t": {0: data}}), SessionLimits(records_per_request=2)
    known, view = ({"topics_on_kafka_4": {"t": limits}, "limits": once} for limits in (LIMITS, told))
    conversation = Conversation(replace(knowing(policy=policy), **known), uses_fast_path=True)
    conversation >> client(frame) << topic_wanted("t") << WAITED_FOR << paused
    if told is None:
        conversation >> later(NAME_WAIT_MS)
    else:
        conversation >> limits_are_read("t", view=replace(knowing(told, policy), **view))
    settings = policy.rules[0].settings if policy.rules else policy.defaults
    if told is BROKERS_TIME or (told is WIDER and settings.preset is Preset.KAFKA_4):
        assert conversation << to_broker(frame) << resumed
    elif settings.on_violation is OnViolation.STAMP:
        assert conversation << to_broker(produce({"t": {0: batch([NOW_MS])}})) << resumed
    else:
        assert conversation << Expected(SendToClient) << booked("rejected", limits_unknown=False) << resumed


OF_THE_TOPIC = {
    "stricter, between the file's limit and the topic's": Policy(
        defaults=RuleSettings(before=TimeLimit(3 * DAY_MS)), limits_from=LimitsFrom.STRICTER
    ),
    "a rule for the other side": view_by("r", after=TimeLimit(HOUR_MS)).policy,
}


@pytest.mark.parametrize("policy", OF_THE_TOPIC.values(), ids=OF_THE_TOPIC)
def test_what_only_the_topics_own_part_of_the_limits_rejects_needs_fresh_ones(policy):
    assert waits(Conversation(knowing(policy=policy)))


@pytest.mark.parametrize("is_read", [True, False])
def test_only_fresh_limits_repair_a_batch(is_read):
    policy = view_by("r", on_violation=OnViolation.STAMP).policy
    conversation = waits(Conversation(knowing(policy=policy)))
    if is_read:
        conversation >> limits_are_read("t")
        assert conversation.session.in_flight_requests == 1
        conversation << to_broker(produce({"t": {0: batch([NOW_MS])}})) << resumed
    else:
        conversation >> later(NAME_WAIT_MS) << to_broker(FRAME) << topic_wanted("t") << resumed
    assert conversation


def test_a_batch_that_a_thread_judges_waits_as_well():
    """Limits that were read while the thread judged hold, too."""
    frame = produce({"t": {0: batch([OLD_MS] * MANY)}})
    assert (
        Conversation(knowing(), fresh_limits=read(NOW_MS, "t"))
        >> client(frame)
        << judged_beside
        << paused
        >> view_becomes(knowing(WIDER))
        >> thread_judges
        << judged_beside
        >> thread_judges
        << to_broker(frame)
        << resumed
    )


OFF = replace(knowing(policy=Policy(mode=Mode.OFF)), reads_limits=False)


def test_a_request_waits_no_longer_once_a_reload_asks_for_no_limits():
    conversation = waits(Conversation(knowing())) >> view_becomes(OFF) << to_broker(FRAME) << resumed
    assert conversation >> returned(produced({"t": {0: accepted()}})) << booked("accepted")


def test_old_limits_reject_nothing_that_a_thread_judged_before_such_a_reload():
    frame = produce({"t": {0: batch([OLD_MS] * MANY)}})
    conversation = Conversation(knowing()) >> client(frame) << judged_beside << paused >> view_becomes(OFF)
    conversation >> thread_judges << judged_beside
    assert conversation >> thread_judges << to_broker(frame) << resumed


@pytest.mark.parametrize("policy", [NO_POLICY, REPAIRS], ids=["rejected", "repaired"])
def test_limits_that_were_fresh_when_the_judging_began_hold_however_long_it_takes(policy):
    """Otherwise a thread would judge the request three times, and at last by no limits."""
    conversation = (
        Conversation(knowing(policy=policy))
        >> client(produce({"t": {0: batch([NOW_MS * 1_000] * MANY)}}))
        << judged_beside
        << paused
        >> later(FRESH_MS)
        >> thread_judges
        << topic_wanted("t")
        << WAITED_FOR
        >> limits_are_read("t")
        << judged_beside
        >> later(FRESH_MS)
        >> thread_judges
    )
    if policy is REPAIRS:
        conversation << to_broker(produce({"t": {0: batch([NOW_MS] * MANY)}}))
    else:
        conversation << Expected(SendToClient) << booked("rejected", limits_unknown=False)
    assert conversation << resumed


def repeats(session, now_ms):
    return session.fast_path.rejecter.reject(AGAIN, now_ms)[0] > 0


def rejecting(fresh_limits, policy=NO_POLICY):
    session = Session(PEER, knowing(policy=policy), uses_fast_path=True, fresh_limits=fresh_limits)
    session.client_bytes(FRAME, NOW_MS)
    session.client_bytes(produce({"t": {0: TOO_OLD}}, correlation_id=7), NOW_MS)
    return session


def test_a_rejection_is_repeated_while_its_limits_are_fresh():
    session = rejecting(read(NOW_MS - 5, "t"))
    assert repeats(session, NOW_MS + FRESH_MS - 6)
    assert not repeats(session, NOW_MS + FRESH_MS - 5)
    assert repeats(rejecting(FreshLimits(), BY_CONFIG), NOW_MS + FRESH_MS - 5)
    by_a_rule = view_by("r", before=TimeLimit(DAY_MS)).policy
    assert repeats(rejecting(read(NOW_MS, "t"), by_a_rule), NOW_MS + FRESH_MS - 1)
    assert not repeats(rejecting(read(NOW_MS, "t"), by_a_rule), NOW_MS + FRESH_MS)


def test_so_is_one_whose_request_waited_for_them():
    conversation = waits(Conversation(knowing(), uses_fast_path=True)) >> later(20) >> limits_are_read("t")
    conversation << to_client(SAID) << booked("rejected") << resumed
    assert repeats(conversation.session, NOW_MS + FRESH_MS)
    assert not repeats(conversation.session, NOW_MS + FRESH_MS + 20)


def test_limits_that_become_fresh_again_are_so_for_every_connection():
    fresh_limits = read(NOW_MS, "t")
    sessions = [rejecting(fresh_limits) for _ in range(2)]
    fresh_limits.asked(["t"], NOW_MS + FRESH_MS)
    assert not any(repeats(session, NOW_MS + FRESH_MS) for session in sessions)
    fresh_limits.answered(["t"])
    assert all(repeats(session, NOW_MS + 2 * FRESH_MS - 1) for session in sessions)
    fresh_limits.expire(["t"])
    assert not any(repeats(session, NOW_MS + FRESH_MS) for session in sessions)


def test_a_question_that_was_asked_before_a_change_makes_nothing_fresh():
    fresh_limits = FreshLimits()
    fresh_limits.asked(["t"], NOW_MS)
    fresh_limits.expire(["never asked", "t"])
    fresh_limits.answered(["t"])
    assert not fresh_limits.is_fresh("t", NOW_MS)
    assert fresh_limits.may_be_asked("t", NOW_MS)


def test_a_topic_is_asked_about_once_a_second_and_a_step_of_the_clock_makes_limits_old():
    fresh_limits = read(NOW_MS, "t")
    assert not fresh_limits.may_be_asked("t", NOW_MS + FRESH_MS - 1)
    assert fresh_limits.may_be_asked("t", NOW_MS + FRESH_MS)
    assert not fresh_limits.is_fresh("t", NOW_MS - 1)
    fresh_limits.asked(["t"], NOW_MS - HOUR_MS)  # the clock is an hour back, and no answer has come
    assert not fresh_limits.is_fresh("t", NOW_MS - HOUR_MS + 1)
    fresh_limits.answered(["t"])
    assert fresh_limits.is_fresh("t", NOW_MS - HOUR_MS + 1)


def test_whoever_waits_for_an_answer_is_called_once():
    fresh_limits, called = FreshLimits(), []
    fresh_limits.waiting.add(partial(called.append, "once"))
    for _ in range(2):
        fresh_limits.wake()
    assert called == ["once"]


def test_of_more_topics_than_are_kept_the_oldest_is_old():
    fresh_limits = read(NOW_MS, "t")
    oldest = fresh_limits.of("t")
    for number in range(ASKED.most):
        fresh_limits.asked([str(number)], NOW_MS)
    assert not fresh_limits.is_fresh("t", NOW_MS)
    assert oldest.until_ms == 0


def altered(error_code, resource_type=2):
    return struct.pack(">iihhbh", 0, 1, error_code, -1, resource_type, 1) + b"t"


def made(error_code):
    return struct.pack(">ih", 1, 1) + b"t" + struct.pack(">h", error_code)


CHANGED = {19: made, 20: made, 33: altered, 44: altered}


@pytest.mark.parametrize("api_key", CHANGED)
@pytest.mark.parametrize("masks_addresses", [True, False])
def test_a_change_that_passes_makes_limits_old(api_key, masks_addresses):
    view = replace(knowing(), masks_addresses=masks_addresses)
    for error_code in (41, 0):
        asked, said = request(api_key), answer(api_key, body=CHANGED[api_key](error_code))
        conversation = Conversation(view, fresh_limits=read(NOW_MS, "t"), uses_fast_path=True)
        assert conversation >> forwarded(asked) >> returned(said)
        assert conversation.fresh_limits.is_fresh("t", NOW_MS) is (error_code != 0)
