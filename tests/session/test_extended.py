"""Batches with bit 6 set whose rule has them read as KIP-228 would have had it."""

from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.verdicts import judged_by
from tests.session.conversation import (
    DAY_MS,
    HOUR_MS,
    LIMITS,
    NOW_MS,
    Conversation,
    booked,
    broker,
    client,
    to_broker,
    to_client,
    view_by,
    view_of,
)
from tests.session.messages import accepted, produce, produced, rejected
from tests.wire.batches import CODECS, batch
from tsproxy.model.kafka import LONG_MAX, LONG_MIN, ErrorCode, TimestampType
from tsproxy.model.policy import Choice, Match, Mode, OnViolation, RuleSettings, TimeLimit, Waiver
from tsproxy.model.records import RecordFacts, Records
from tsproxy.model.verdict import Accept, Reason, Reject, TopicLimits
from tsproxy.policy.extended import facts_of
from tsproxy.policy.fast_path import fast_path_bounds
from tsproxy.session.policies import of_anybody
from tsproxy.wire import record_batch, record_set

BIT_6 = 0x40
NONE_MS = LONG_MIN
UNLIMITED = replace(LIMITS, before_max_ms=None, after_max_ms=None)
NO_PLACE = (
    "Timestamp -1 of message with offset 1 is 1969-12-31T23:59:59.999Z and cannot be stored: "
    "Kafka takes -1 for no timestamp. Consider shifting it by one millisecond (KIP-228)"
)

view = partial(view_by, "extended", limits=UNLIMITED, extended_timestamps=True)


def judged(*data, version=9, seen=None, **settings):
    return judged_by(seen or view(**settings), *data, version=version)[0]


def marked(times, codec=0, attributes=0, **header):
    """A batch as a producer of KIP-228's kind would send it."""
    return batch(times, codec, attributes=BIT_6 | attributes, **header)


def times_of(data):
    (found,) = record_set.scan(memoryview(data), 2).batches
    return list(record_batch.read_records(found, view_of().limits).timestamps_ms)


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_the_bit_goes_and_no_time_becomes_brokers_own(codec):
    found = judged(marked([NOW_MS, NONE_MS, -2, 0], codec))

    assert found.verdict == Accept()
    assert found.rewritten.repair is None
    (goes,) = record_set.scan(memoryview(found.rewritten.records), 2).batches
    assert (goes.attributes, goes.base_timestamp, goes.max_timestamp) == (codec, NOW_MS, NOW_MS)
    assert record_batch.crc_is_valid(goes)
    assert times_of(found.rewritten.records) == [NOW_MS, -1, -2, 0]


def test_no_time_is_none_for_the_candidate_too():
    rules = view()
    candidate = RuleSettings(before=TimeLimit(HOUR_MS))
    seen = replace(rules, policy=replace(rules.policy, candidate=candidate))

    found = judged(marked([NONE_MS, NOW_MS - DAY_MS]), seen=seen)

    assert [each.batch_index for each in found.would.violations] == [1]


def test_a_batch_without_the_bit_is_what_it_ever_was():
    found = judged(batch([NOW_MS, -1]))

    assert (found.verdict, found.rewritten) == (Accept(), None)


def test_a_real_minus_one_is_rejected_and_told_why():
    asked = produce({"t": {0: marked([NOW_MS, -1, NONE_MS])}})
    said = produced({"t": {0: rejected((1, NO_PLACE))}})
    assert (
        Conversation(view())
        >> client(asked)
        << to_client(said)
        << booked("rejected", rule="extended", reason=Reason.NEGATIVE, bad_records=1)
    )


def test_what_goes_on_is_booked_as_accepted_with_the_times_that_were_meant():
    asked = produce({"t": {0: marked([NOW_MS, NONE_MS])}})
    sent = produce({"t": {0: batch([NOW_MS, -1])}})
    said = produced({"t": {0: accepted()}})
    conversation = Conversation(view()) >> client(asked) << to_broker(sent) >> broker(said) << to_client(said)
    assert conversation << booked("accepted", reason=None, would_reject=False)


def test_an_idempotent_producers_numbers_and_a_transaction_stay():
    numbers = {"producer_id": 7, "producer_epoch": 3, "base_sequence": 41}
    found = judged(marked([NONE_MS, NOW_MS], attributes=0x10, **numbers))

    assert found.rewritten.records == batch([-1, NOW_MS], attributes=0x10, **numbers)


JUDGED = {
    "too far ahead": ([NOW_MS + 2 * HOUR_MS], {"limits": LIMITS}, Reason.TOO_FAR_AHEAD),
    "too old": ([NOW_MS - 2 * DAY_MS], {"limits": LIMITS}, Reason.TOO_OLD),
    "no time": ([NOW_MS, NONE_MS], {"no_timestamp": Choice.REJECT}, Reason.MISSING),
    "a negative one": ([-2], {"negative": Choice.REJECT}, Reason.NEGATIVE),
    "a real -1 where negative ones are taken": ([-1], {"negative": Choice.ACCEPT}, Reason.NEGATIVE),
    "a real -1 that is too old as well": ([-1], {"limits": LIMITS}, Reason.NEGATIVE),
    "the broker's stamp claimed": ([NOW_MS], {"bit_3": True}, Reason.TYPE_MISMATCH),
}


@pytest.mark.parametrize(("times", "settings", "reason"), JUDGED.values(), ids=JUDGED)
def test_it_is_judged_by_the_extended_meaning(times, settings, reason):
    attributes = 0x08 if settings.pop("bit_3", False) else 0
    found = judged(marked(times, attributes=attributes), **settings)

    assert isinstance(found.verdict, Reject)
    assert (found.verdict.error_code, found.verdict.reason) == (ErrorCode.INVALID_TIMESTAMP, reason)
    assert found.rewritten is None


def test_the_times_that_are_told_are_those_that_were_meant():
    def told(*times):
        batch_facts = judged(marked(times)).batch
        return batch_facts.min_timestamp_ms, batch_facts.max_timestamp_ms

    assert told(NOW_MS, NONE_MS) == (NOW_MS, NOW_MS)
    assert told(NOW_MS, -1) == (-1, NOW_MS)
    assert told(NONE_MS) == (None, None)


def test_records_without_a_time_are_those_that_say_so():
    records = Records([-1, -1, 5], [0, 1, 2], [1] * 3, [1] * 3, real_minus_ones=frozenset({1}))

    assert facts_of(records) == RecordFacts(3, -1, 5, 1)


def test_no_time_lies_outside_no_bound():
    """Long.MIN_VALUE is no time that is too old."""
    found = judged(marked([NONE_MS, NOW_MS]), limits=LIMITS)

    assert found.rewritten.records == batch([-1, NOW_MS])


def test_other_repairs_work_on_what_is_meant():
    stamp = {"on_violation": OnViolation.STAMP, "no_timestamp": Choice.STAMP}
    found = judged(marked([-1, NONE_MS, NOW_MS - 5]), **stamp)

    assert found.rewritten.records == batch([NOW_MS, NOW_MS, NOW_MS - 5])


def test_where_the_broker_writes_its_own_time_the_bit_goes_and_any_time_is_taken():
    limits = replace(UNLIMITED, timestamp_type=TimestampType.LOG_APPEND_TIME)

    assert judged(marked([-1, NONE_MS, 5]), limits=limits).rewritten.records == batch([-1, -1, 5])


def test_before_the_topics_limits_are_known_it_is_read_so_as_well():
    seen = replace(view(), topics={})

    assert judged(marked([NONE_MS]), seen=seen).rewritten.records == batch([-1])
    assert judged(marked([-1]), seen=seen).verdict.reason is Reason.NEGATIVE


NEVER_ON = {
    "a wrong checksum": ([marked([NOW_MS], crc=1)], 9, ErrorCode.CORRUPT_MESSAGE),
    "a wrong count": ([marked([NOW_MS], records_count=2)], 9, ErrorCode.INVALID_RECORD),
    "control records": ([marked([NOW_MS], attributes=0x20)], 9, ErrorCode.INVALID_RECORD),
    "half a batch behind it": ([marked([NOW_MS]) + batch([NOW_MS])[:40]], 9, ErrorCode.INVALID_RECORD),
    "another batch behind it": ([marked([NOW_MS]) + batch([NOW_MS])], 2, ErrorCode.INVALID_RECORD),
    "it behind another batch": ([batch([NOW_MS]) + marked([NOW_MS])], 2, ErrorCode.INVALID_RECORD),
    "a codec that nobody knows": ([marked([NOW_MS], attributes=0x05)], 9, ErrorCode.UNKNOWN_SERVER_ERROR),
}


@pytest.mark.parametrize(("data", "version", "code"), NEVER_ON.values(), ids=NEVER_ON)
def test_what_cannot_be_written_anew_never_goes_on_with_its_bit(data, version, code):
    found = judged(*data, version=version)

    assert found.verdict.error_code == code
    assert found.rewritten is None


def test_where_nothing_is_written_anew_the_bit_is_counted_as_what_no_producer_may_set():
    waiver = Waiver("w", Match(), NOW_MS + 1, "owner", "reason")
    for seen in (view(mode=Mode.AUDIT), view(waivers=(waiver,))):
        found = judged(marked([-1]), seen=seen)
        assert (found.verdict, found.rewritten) == (Accept(), None)
        assert "bit 6" in found.would.detail


def test_without_the_rule_the_bit_is_rejected_as_ever():
    assert judged(marked([NOW_MS]), extended_timestamps=None).verdict.error_code == ErrorCode.INVALID_RECORD


def test_an_answer_names_no_more_culprits_than_any_other():
    seen = view()
    seen = replace(seen, limits=replace(seen.limits, culprits_listed=3))
    verdict = judged(marked([-1] * 10), seen=seen).verdict

    assert (len(verdict.violations), verdict.bad_records) == (3, 10)


def test_batches_without_the_bit_still_take_the_fast_path():
    assert fast_path_bounds(of_anybody(view(limits=LIMITS)).of("t", NOW_MS)) is not None


EDGES = (-1, -2, 0, 1, LONG_MIN, LONG_MIN + 1, LONG_MAX, NOW_MS, NOW_MS + HOUR_MS + 1)
TIMES = st.lists(st.sampled_from(EDGES) | st.integers(LONG_MIN, LONG_MAX), min_size=1, max_size=6)


@given(times=TIMES, limits=st.sampled_from([LIMITS, UNLIMITED, TopicLimits(after_max_ms=0)]))
def test_whatever_the_times_a_batch_goes_on_as_meant_or_is_rejected(times, limits):
    found = judged(marked(times), limits=limits)

    if isinstance(found.verdict, Accept):
        assert -1 not in times
        assert times_of(found.rewritten.records) == [-1 if t == NONE_MS else t for t in times]
        assert judged(found.rewritten.records, limits=limits).verdict == Accept()
    else:
        plain = [t for t in times if t != NONE_MS]
        assert -1 in times or isinstance(judged(batch(plain), limits=limits).verdict, Reject)
