"""A batch with bad times that its rule puts right: what goes on, what is answered, what is booked."""

from dataclasses import replace
from functools import partial

import pytest

from tests.policy.verdicts import judged_by
from tests.session.conversation import (
    DAY_MS,
    HOUR_MS,
    LIMITS,
    NOW_MS,
    PEER,
    Conversation,
    booked,
    broker,
    client,
    to_broker,
    to_client,
    view_by,
)
from tests.session.messages import accepted, produce, produced
from tests.verdicts.rows import legacy
from tests.wire.batches import batch, record
from tsproxy.model.custom_rule import CustomRule
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.outcome import Culprit
from tsproxy.model.policy import Choice, Match, Mode, OnViolation, TopicPolicy, Waiver
from tsproxy.model.records import Fault
from tsproxy.model.verdict import Accept, Reason, Reject, TopicLimits, UnitGuess
from tsproxy.model.view import SessionLimits
from tsproxy.policy.batch_of_times import batch_of_times
from tsproxy.policy.fast_path import fast_path_bounds
from tsproxy.policy.repair import repaired_times
from tsproxy.session.effects import SendToBroker
from tsproxy.session.policies import of_anybody

US, NS = NOW_MS * 1_000, NOW_MS * 1_000_000
SECONDS = NOW_MS // 1_000
SAID = produced({"t": {0: accepted()}})

view = partial(view_by, "mend")


def judged(data, version=9, **settings):
    return judged_by(view(**settings), data, version=version)[0]


REPAIR, STAMP = OnViolation.REPAIR, OnViolation.STAMP

MENDED = {
    "microseconds": ([NOW_MS, US], {"on_violation": REPAIR}, [NOW_MS, NOW_MS]),
    "nanoseconds": ([NS], {"on_violation": REPAIR}, [NOW_MS]),
    "seconds": ([SECONDS, NOW_MS - 5], {"on_violation": REPAIR}, [SECONDS * 1000, NOW_MS - 5]),
    "stamped": ([NOW_MS + DAY_MS, 5, NOW_MS - 1], {"on_violation": STAMP}, [NOW_MS, NOW_MS, NOW_MS - 1]),
    "none": ([-1, NOW_MS - 1], {"no_timestamp": Choice.STAMP}, [NOW_MS, NOW_MS - 1]),
    "a value that the rule rejects": (
        [0, NOW_MS],
        {"zero": Choice.REJECT, "on_violation": STAMP},
        [NOW_MS, NOW_MS],
    ),
    "one millisecond is not negative": (
        [1, -5],
        {"negative": Choice.REJECT, "on_violation": STAMP, "limits": TopicLimits()},
        [1, NOW_MS],
    ),
}


@pytest.mark.parametrize(("times", "settings", "expected"), MENDED.values(), ids=MENDED)
def test_times_are_put_right_and_nothing_else(times, settings, expected):
    found = judged(batch(times, value=b"value"), **settings)

    assert isinstance(found.verdict, Accept)
    assert found.rewritten.records == batch(expected, value=b"value")


REJECTED = {
    "ahead, in no unit": ([NOW_MS + DAY_MS], {"on_violation": REPAIR}),
    "one of two": ([US, NOW_MS + DAY_MS], {"on_violation": REPAIR}),
    "what it would mean is out of range as well": ([US + 2 * HOUR_MS * 1000], {"on_violation": REPAIR}),
    "zero": ([0], {"on_violation": REPAIR}),
    "only those without a time": ([US, -1], {"no_timestamp": Choice.STAMP}),
}


@pytest.mark.parametrize(("times", "settings"), REJECTED.values(), ids=REJECTED)
def test_a_batch_with_one_time_that_cannot_be_put_right_is_rejected_whole(times, settings):
    found = judged(batch(times), **settings)

    assert found.verdict.error_code == ErrorCode.INVALID_TIMESTAMP
    assert found.rewritten is None


UNTOUCHED = {
    "a wrong checksum": (batch([US], crc=1), 9, ErrorCode.CORRUPT_MESSAGE),
    "the broker's stamp claimed": (batch([US], attributes=0x08), 9, ErrorCode.INVALID_TIMESTAMP),
    "records that lie about their length": (
        batch([US], base_timestamp=US, records=[record(length=9)]),
        9,
        ErrorCode.INVALID_RECORD,
    ),
    "a wrong count": (batch([US], records_count=2), 9, ErrorCode.INVALID_RECORD),
    "control records": (batch([US], attributes=0x20), 9, ErrorCode.INVALID_RECORD),
}


@pytest.mark.parametrize(("data", "version", "code"), UNTOUCHED.values(), ids=UNTOUCHED)
def test_what_a_broker_would_reject_besides_is_rejected_as_it_came(data, version, code):
    found = judged(data, version, on_violation=STAMP)

    assert found.verdict.error_code == code
    assert found.rewritten is None


def test_a_batch_that_claims_log_append_time_has_no_repair():
    policy = TopicPolicy(limits=LIMITS, on_violation=STAMP)
    context = batch_of_times([US], "t", 0, PEER, policy=policy, now_ms=NOW_MS, attributes=0x08)
    assert repaired_times(context) is None


def test_a_batch_whose_records_cannot_be_read_has_no_repair():
    policy = TopicPolicy(limits=LIMITS, on_violation=STAMP)
    context = batch_of_times([US], "t", 0, PEER, policy=policy, now_ms=NOW_MS)
    assert list(repaired_times(context).changed) == [0]
    records = replace(context.reader.read_records(), fault=Fault.MALFORMED_RECORD)
    assert repaired_times(replace(context, reader=replace(context.reader, records=records))) is None


def test_what_is_innocent_goes_on_as_it_came():
    found = judged(batch([NOW_MS, -1]), on_violation=REPAIR)

    assert (found.verdict, found.rewritten) == (Accept(), None)


@pytest.mark.parametrize("mode", [Mode.AUDIT, Mode.OFF])
def test_nothing_is_written_anew_where_a_rule_only_looks(mode):
    assert judged(batch([US]), mode=mode, on_violation=REPAIR, keep_both_times=True).rewritten is None


@pytest.mark.parametrize("until_ms", [NOW_MS, NOW_MS + 1])
def test_under_a_waiver_nothing_is_written_anew(until_ms):
    """It lets pass what came. At the millisecond of its end the rule repairs again."""
    waiver = Waiver("w", Match(), until_ms, "owner", "reason")
    seen = view(on_violation=REPAIR, keep_both_times=True, no_timestamp=Choice.STAMP, waivers=(waiver,))
    sent = produce({"t": {0: batch([US, -1])}})
    [goes, *_] = Conversation(seen).session.client_bytes(sent, NOW_MS)
    assert isinstance(goes, SendToBroker)
    assert (goes.data == sent) is (until_ms > NOW_MS)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("on_violation", [REPAIR, STAMP])
def test_a_message_of_an_old_format_is_judged_as_without_a_repair(magic, on_violation):
    """Magic 0 has no timestamp. That of magic 1 is far off, and the batch is rejected for it."""
    for settings in ({}, {"no_timestamp": Choice.REJECT}):
        data = legacy(magic, 0)(US)
        repairing, without = (
            judged(data, 2, **settings, **more) for more in ({"on_violation": on_violation}, {})
        )
        assert repairing.rewritten is None
        assert repairing.verdict == without.verdict
        assert isinstance(without.verdict, Reject) is (magic == 1 or bool(settings))


BESIDE = {"another batch": batch([NOW_MS]), "half a batch": batch([NOW_MS])[:40], "a byte": b"x"}


@pytest.mark.parametrize("beside", BESIDE.values(), ids=BESIDE)
@pytest.mark.parametrize("version", [2, 3, 9])
@pytest.mark.parametrize("time_ms", [NOW_MS, US])
def test_what_stands_beside_a_batch_is_not_lost_by_writing_the_batch_anew(beside, version, time_ms):
    """Brokers reject two batches where one is right, and ignore half of one: both as they came."""
    settings = {"on_violation": REPAIR, "keep_both_times": True}

    assert judged(batch([time_ms]) + beside, version, **settings).rewritten is None


@pytest.mark.parametrize(
    "data", [batch([NOW_MS], crc=1), legacy(1, 0)(NOW_MS)], ids=["a wrong checksum", "an old format"]
)
@pytest.mark.parametrize("version", [2, 3])
def test_a_time_of_arrival_is_added_to_nothing_that_is_damaged_or_of_an_old_format(data, version):
    """Written anew, with a right checksum, damage would pass for what the producer meant."""
    assert judged(data, version, keep_both_times=True).rewritten is None


def test_headers_tell_the_time_that_came_and_the_time_of_arrival():
    settings = {"on_violation": REPAIR, "keep_original_time": True, "keep_both_times": True}
    arrival = (b"tsproxy-arrival-timestamp", b"%d" % NOW_MS)
    original = (b"tsproxy-original-timestamp", b"%d" % US)

    found = judged(batch([NOW_MS, US]), **settings)

    records = [record(0, 0, headers=[arrival]), record(0, 1, headers=[original, arrival])]
    assert found.rewritten.records == batch([NOW_MS, NOW_MS], records=records)


def test_the_time_of_arrival_alone_is_no_repair():
    found = judged(batch([NOW_MS]), keep_both_times=True)

    assert found.rewritten.repair is None
    assert b"tsproxy-arrival-timestamp" in found.rewritten.records


def test_a_batch_that_grows_beyond_what_the_topic_takes_is_rejected_with_a_text():
    data = batch([US] * 20)
    limits = replace(LIMITS, max_message_bytes=len(data))

    [found] = judged_by(view(limits=limits, on_violation=REPAIR, keep_both_times=True), data)

    assert found.verdict.error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert f"max.message.bytes of {len(data)}" in found.verdict.error_message


class RejectsAll:
    """A rule of an operator's own."""

    def culprits(self, timestamps_ms, context):
        return [(at, "no") for at in range(len(timestamps_ms))]


def test_a_repaired_batch_is_judged_by_the_timestamps_that_it_has_now():
    """A custom rule rejects what the repair made of it, and the client gets the rule's answer."""

    class RejectsNow:
        def culprits(self, timestamps_ms, context):
            return [(index, "too new") for index, each in enumerate(timestamps_ms) if each == context.now_ms]

    settings = {"on_violation": REPAIR, "custom_rules": (CustomRule("now", RejectsNow()),)}
    kept, rejected = (judged(batch([US - 1_000 * late_ms]), **settings) for late_ms in (1, 0))
    assert kept.rewritten.records == batch([NOW_MS - 1])
    assert (rejected.verdict.reason, rejected.rewritten) == (Reason.CUSTOM_RULE, None)


def test_one_answer_names_no_more_culprits_than_are_allowed_where_batches_are_judged_again():
    settings = {"on_violation": REPAIR, "custom_rules": (CustomRule("all", RejectsAll()),)}
    seen = replace(view(**settings), limits=SessionLimits(culprits_listed=3))

    found = judged_by(seen, *[batch([US, US])] * 3)

    told = [(len(each.verdict.violations), each.verdict.bad_records) for each in found]
    assert told == [(2, 2), (1, 2), (0, 2)]


def test_a_repaired_batch_takes_no_place_in_the_answer():
    seen = replace(view(on_violation=REPAIR), limits=SessionLimits(culprits_listed=2))

    found = judged_by(seen, batch([US, US]), batch([NOW_MS + DAY_MS] * 2))

    assert isinstance(found[0].verdict, Accept)
    assert len(found[1].verdict.violations) == 2


def test_a_mended_request_goes_on_in_place_of_the_one_that_came_and_is_booked_as_repaired():
    asked = produce({"t": {0: batch([NOW_MS, US])}, "t2": {0: batch([NOW_MS])}})
    mended = produce({"t": {0: batch([NOW_MS, NOW_MS])}, "t2": {0: batch([NOW_MS])}})
    said = produced({"t": {0: accepted()}, "t2": {0: accepted()}})
    seen = replace(view(on_violation=REPAIR), topics={"t": LIMITS, "t2": LIMITS})
    assert (
        Conversation(seen)
        >> client(asked)
        << to_broker(mended)
        >> broker(said)
        << to_client(said)
        << booked(
            "repaired",
            rule="mend",
            mode=Mode.ENFORCE,
            reason=Reason.TOO_FAR_AHEAD,
            unit_guess=UnitGuess.MICROSECONDS,
            culprits=(Culprit(1, US),),
            bad_records=1,
            error_code=0,
        )
        << booked("accepted")
    )


def test_what_is_mended_and_what_is_rejected_part_ways():
    asked = produce({"t": {0: batch([US]), 1: batch([NOW_MS + DAY_MS])}})
    conversation = Conversation(view(on_violation=REPAIR)) >> client(asked)

    conversation << to_broker(produce({"t": {0: batch([NOW_MS])}}))
    assert conversation << booked("rejected", rule="mend", reason=Reason.TOO_FAR_AHEAD)


@pytest.mark.parametrize(
    "settings", [{"on_violation": REPAIR}, {"no_timestamp": Choice.STAMP}, {"keep_both_times": True}]
)
def test_a_topic_that_may_be_rewritten_never_takes_the_fast_path(settings):
    assert fast_path_bounds(of_anybody(view(**settings)).of("t", NOW_MS)) is None


def test_no_byte_of_a_repaired_batch_is_kept_until_the_broker_answers():
    """The frame that is forwarded has them: they would be in memory twice."""
    conversation = Conversation(view(on_violation=REPAIR))
    conversation.session.client_bytes(produce({"t": {0: batch([US])}}), NOW_MS)
    (kept,) = conversation.session._state.slots.head().verdict.forwarded
    assert kept.rewritten.records == b""
