"""A batch with bad times that its rule puts right: what goes on, what is answered, what is booked. A batch
with bit 6 whose rule has it read as KIP-228 would have had it."""

from dataclasses import replace
from functools import partial

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.verdicts import judged_by
from tests.session.conversation import (
    DAY_MS,
    HOUR_MS,
    LIMITS,
    NOW_MS,
    PEER,
    Conversation,
    booked,
    broker_ends,
    client,
    closed,
    returned,
    to_broker,
    to_client,
    view_by,
    view_of,
)
from tests.session.messages import accepted, produce, produced, rejected
from tests.verdicts.rows import legacy
from tests.wire.batches import CODECS, GZIP, ZSTD, batch, record
from tsproxy.model.custom_rule import CustomRule
from tsproxy.model.kafka import LONG_MAX, LONG_MIN, ErrorCode, TimestampType
from tsproxy.model.outcome import Culprit
from tsproxy.model.policy import (
    Choice,
    Match,
    Mode,
    OnViolation,
    RuleSettings,
    TimeLimit,
    TopicPolicy,
    Waiver,
)
from tsproxy.model.records import Fault, RecordFacts, Records
from tsproxy.model.verdict import Accept, Reason, Reject, TopicLimits, UnitGuess
from tsproxy.model.view import SessionLimits
from tsproxy.policy.batch_of_times import batch_of_times
from tsproxy.policy.extended import facts_of
from tsproxy.policy.repair import repaired_times
from tsproxy.session.effects import CloseReason, Judge, SendToBroker
from tsproxy.session.produce import cost
from tsproxy.wire import record_batch, record_set, rewriting

US, NS = NOW_MS * 1_000, NOW_MS * 1_000_000
SECONDS = NOW_MS // 1_000

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


TIME, INVALID = ErrorCode.INVALID_TIMESTAMP, ErrorCode.INVALID_RECORD
NOT_REPAIRED = {
    "ahead, in no unit": ([NOW_MS + DAY_MS], {}, REPAIR, TIME),
    "one of two": ([US, NOW_MS + DAY_MS], {}, REPAIR, TIME),
    "what it would mean is out of range as well": ([US + 2 * HOUR_MS * 1000], {}, REPAIR, TIME),
    "zero": ([0], {}, REPAIR, TIME),
    "only those without a time": ([US, -1], {}, None, TIME),
    "a wrong checksum": ([US], {"crc": 1}, STAMP, ErrorCode.CORRUPT_MESSAGE),
    "the broker's stamp claimed": ([US], {"attributes": 0x08}, STAMP, TIME),
    "a lie about a record's length": (
        [US],
        {"base_timestamp": US, "records": [record(length=9)]},
        STAMP,
        INVALID,
    ),
    "a wrong count": ([US], {"records_count": 2}, STAMP, INVALID),
    "control records": ([US], {"attributes": 0x20}, STAMP, INVALID),
}


@pytest.mark.parametrize(("times", "fields", "on_violation", "code"), NOT_REPAIRED.values(), ids=NOT_REPAIRED)
def test_a_batch_that_cannot_be_put_right_is_rejected_whole_and_as_it_came(times, fields, on_violation, code):
    settings = {"no_timestamp": Choice.STAMP} if on_violation is None else {"on_violation": on_violation}
    found = judged(batch(times, **fields), **settings)

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


TAILS = {"half a batch": batch([NOW_MS])[:40], "a byte": b"x"}
BESIDE = {"another batch": batch([NOW_MS]), "no batch": bytes(61), **TAILS}


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("version", [2, 3, 9])
@pytest.mark.parametrize("time_ms", [NOW_MS, US])
def test_what_stands_beside_a_batch_is_lost_only_if_brokers_trim_it(beside, version, time_ms):
    """Brokers reject two batches where one is right. They store a batch whatever the tail is."""
    settings = {"on_violation": REPAIR, "keep_both_times": True}
    alone = judged(batch([time_ms]), version, **settings).rewritten
    assert alone is not None

    found = judged(batch([time_ms]) + BESIDE[beside], version, **settings)

    assert found.rewritten == (alone if beside in TAILS else None)


AS_IT_CAME = {
    "a wrong checksum": batch([NOW_MS], crc=1),
    "an old format": legacy(1, 0)(NOW_MS),
    "a wrong length that brokers do not look at": batch([NOW_MS], GZIP, records=[record(length=20)]),
}


@pytest.mark.parametrize("data", AS_IT_CAME.values(), ids=AS_IT_CAME)
@pytest.mark.parametrize("version", [2, 3])
def test_a_time_of_arrival_is_added_to_nothing_that_is_damaged_or_of_an_old_format(data, version):
    """Written anew, with a right checksum, damage would pass for what the producer meant. None is
    rejected because it cannot have the header."""
    found = judged(data, version, keep_both_times=True)
    assert (found.verdict, found.rewritten) == (Accept(), None)


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


GROWS = {
    "a repaired batch": ([US] * 20, {"on_violation": REPAIR, "keep_both_times": True}),
    "a good batch": ([NOW_MS], {"keep_both_times": True}),
    "a stamped record": ([-1], {"no_timestamp": Choice.STAMP, "keep_original_time": True}),
}


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
@pytest.mark.parametrize(("times", "settings"), GROWS.values(), ids=GROWS)
def test_a_batch_that_grows_beyond_what_the_topic_takes_is_rejected_with_a_text(times, settings, codec):
    """Brokers compare the size of a batch, and since 4.4 the size of a record in a compressed one."""
    data = batch(times, codec, value=b"v" * 30)
    (came,) = record_set.scan(memoryview(data), 2).batches
    of_a_record = record_batch.read_facts(came, SessionLimits()).largest_record

    def judged_within(batch_bytes, record_bytes):
        most = {"max_message_bytes": batch_bytes, "max_decompressed_message_bytes": record_bytes}
        return judged_by(view(limits=replace(LIMITS, **most), **settings), data)[0].verdict

    large = judged_within(len(data), of_a_record)
    assert large.error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert f"exceeds the maximum configured value of {len(data)}" in large.error_message
    of_size = judged_within(len(data) + 2_000, of_a_record)
    if codec:
        assert of_size.error_code == ErrorCode.INVALID_RECORD
        assert f"exceeds the configured maximum record size of {of_a_record}" in of_size.error_message
    else:
        assert of_size == Accept()
    assert judged_within(len(data) + 2_000, of_a_record + 200) == Accept()


@pytest.mark.parametrize(
    ("acks", "code"), [(-1, ErrorCode.INVALID_RECORD), (5, ErrorCode.INVALID_REQUIRED_ACKS)]
)
def test_a_rejection_says_that_a_batch_grew_only_if_nothing_else_is_wrong(acks, code):
    """A broker looks at acks first. It rejects a batch that came too large as it rejects any other."""
    data = batch([NOW_MS], GZIP, value=b"v" * 30)

    def judged_within(record_bytes):
        limits = replace(LIMITS, max_decompressed_message_bytes=record_bytes)
        return judged_by(view(limits=limits, keep_both_times=True), data, acks=acks)[0].verdict

    grew = judged_within(60)
    assert grew.error_code == code
    assert (grew.error_message is None) is (acks == 5)
    assert judged_within(20) == Accept()


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


WITHIN_BOUNDS = {
    "no rule": ([NOW_MS] * 2, {}),
    "a header": ([NOW_MS] * 2, {"keep_both_times": True}),
    "a stamp": ([NOW_MS, -1], {"no_timestamp": Choice.STAMP}),
    "a repair": ([NOW_MS, US], {"on_violation": REPAIR}),
}


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
@pytest.mark.parametrize(("times", "settings"), WITHIN_BOUNDS.values(), ids=WITHIN_BOUNDS)
def test_only_what_came_counts_to_what_a_request_and_a_batch_may_hold(times, settings, codec):
    """The proxy reads a batch that it has rewritten once more, and added headers make it larger."""
    data = batch(times, codec, value=b"v" * 100)
    (came,) = record_set.scan(memoryview(data), 2).batches
    plain = len(rewriting.plain_records(came, SessionLimits()))
    read = len(data) - record_set.HEADER_SIZE + plain

    def passed(**bounds):
        seen = replace(view(**settings), limits=SessionLimits(decompressed_batch=plain, **bounds))
        return [isinstance(found.verdict, Accept) for found in judged_by(seen, *[data] * 3)]

    assert passed(records_per_request=6) == passed(decompressed_request=3 * read) == [True] * 3
    assert passed(records_per_request=5) == [True, True, False]
    assert passed(decompressed_request=2 * read) == [True, True, not codec]


def test_the_window_of_what_the_proxy_compresses_is_not_limited():
    window = zstandard.ZstdCompressionParameters(window_log=10)
    body = zstandard.ZstdCompressor(compression_params=window).compress(record(value=bytes(3 << 20)))
    data = batch([NOW_MS], ZSTD, body=body, records_count=1)
    seen = replace(view(keep_both_times=True), limits=SessionLimits(zstd_window=1 << 10))
    (found,) = judged_by(seen, data)
    assert (found.verdict, found.rewritten is None) == (Accept(), False)


LARGE = {
    "a header": (NOW_MS, {"keep_both_times": True}, True),
    "a stamp": (-1, {"no_timestamp": Choice.STAMP}, True),
    "a repair": (US, {"on_violation": REPAIR}, True),
    "nothing to stamp": (NOW_MS, {"no_timestamp": Choice.STAMP}, False),
    "nothing to repair": (NOW_MS, {"on_violation": REPAIR}, False),
}


@pytest.mark.parametrize(("time_ms", "settings", "is_rewritten"), LARGE.values(), ids=LARGE)
def test_a_large_batch_is_rewritten_beside_the_loop_and_no_other_pays_for_it(time_ms, settings, is_rewritten):
    """To copy 100 MB kept the loop for 120 ms. A request that came behind is still sent behind."""
    most = cost.OFFLOAD_BYTES
    shell = len(batch([time_ms], value=bytes(most))) - most
    for size in (most - 1, most):
        large, small = (batch([time_ms], value=bytes(length)) for length in (size - shell, 1))
        assert len(large) == size
        session = Conversation(view(**settings)).session
        effects = session.client_bytes(produce({"t": {0: large}}) + produce({"t": {0: small}}), NOW_MS)
        assert isinstance(effects[0], Judge) is (is_rewritten and size == most)
        if isinstance(effects[0], Judge):
            effects = session.judged(effects[0].job(), NOW_MS)
        (sent,) = [effect.data for effect in effects if isinstance(effect, SendToBroker)]
        first = 4 + int.from_bytes(sent[:4])
        assert first > size > len(sent) - first > 0


def test_a_mended_request_goes_on_in_place_of_the_one_that_came_and_is_booked_as_repaired():
    asked = produce({"t": {0: batch([NOW_MS, US])}, "t2": {0: batch([NOW_MS])}})
    mended = produce({"t": {0: batch([NOW_MS, NOW_MS])}, "t2": {0: batch([NOW_MS])}})
    said = produced({"t": {0: accepted()}, "t2": {0: accepted()}})
    seen = replace(view(on_violation=REPAIR), topics={"t": LIMITS, "t2": LIMITS})
    assert (
        Conversation(seen)
        >> client(asked)
        << to_broker(mended)
        >> returned(said)
        << booked("repaired", **REPAIRED, error_code=0)
        << booked("accepted")
    )


REPAIRED = {
    "rule": "mend",
    "mode": Mode.ENFORCE,
    "reason": Reason.TOO_FAR_AHEAD,
    "unit_guess": UnitGuess.MICROSECONDS,
    "culprits": (Culprit(1, US),),
    "bad_records": 1,
}


def test_a_repaired_batch_is_booked_as_that_alone():
    """The candidate would reject the other record."""
    seen, hour = view(no_timestamp=Choice.STAMP), RuleSettings(before=TimeLimit(HOUR_MS))
    seen = replace(seen, policy=replace(seen.policy, candidate=hour))
    old_ms = NOW_MS - 2 * HOUR_MS
    conversation = Conversation(seen) >> client(produce({"t": {0: batch([-1, old_ms])}}))
    conversation << to_broker(produce({"t": {0: batch([NOW_MS, old_ms])}}))
    conversation >> returned(produced({"t": {0: accepted()}}))
    assert conversation << booked("repaired", reason=Reason.MISSING, rule="mend", would_reject=False)


@pytest.mark.parametrize("acks", [0, 1])
def test_a_repair_is_booked_also_if_no_answer_comes(acks):
    conversation = Conversation(view(on_violation=REPAIR))
    conversation >> client(produce({"t": {0: batch([NOW_MS, US])}}, acks=acks))
    conversation << to_broker(produce({"t": {0: batch([NOW_MS, NOW_MS])}}, acks=acks))
    if acks:
        conversation >> broker_ends
    conversation << booked("unconfirmed", **REPAIRED)
    assert not acks or conversation << closed(CloseReason.PEER_CLOSED)


def test_what_is_mended_and_what_is_rejected_part_ways():
    asked = produce({"t": {0: batch([US]), 1: batch([NOW_MS + DAY_MS])}})
    conversation = Conversation(view(on_violation=REPAIR)) >> client(asked)

    conversation << to_broker(produce({"t": {0: batch([NOW_MS])}}))
    assert conversation << booked("rejected", rule="mend", reason=Reason.TOO_FAR_AHEAD)


def test_no_byte_of_a_repaired_batch_is_kept_until_the_broker_answers():
    """The frame that is forwarded has them: they would be in memory twice."""
    conversation = Conversation(view(on_violation=REPAIR))
    conversation.session.client_bytes(produce({"t": {0: batch([US])}}), NOW_MS)
    (kept,) = conversation.session._state.slots.head().verdict.forwarded
    assert kept.rewritten.records == b""


# -- Extended timestamps ------------------------------------------------------------------------------


BIT_6 = 0x40
NONE_MS = LONG_MIN
UNLIMITED = replace(LIMITS, before_max_ms=None, after_max_ms=None)
NO_PLACE = (
    "Timestamp -1 of message with offset 1 is 1969-12-31T23:59:59.999Z and cannot be stored: "
    "Kafka takes -1 for no timestamp. Consider shifting it by one millisecond (KIP-228)"
)

odd_view = partial(view_by, "extended", limits=UNLIMITED, extended_timestamps=True)


def judged_odd(*data, version=9, seen=None, **settings):
    return judged_by(seen or odd_view(**settings), *data, version=version)[0]


def marked(times, codec=0, attributes=0, **header):
    """A batch as a producer of KIP-228's kind would send it."""
    return batch(times, codec, attributes=BIT_6 | attributes, **header)


def times_of(data):
    (found,) = record_set.scan(memoryview(data), 2).batches
    return list(record_batch.read_records(found, view_of().limits).timestamps_ms)


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_the_bit_goes_and_no_time_becomes_brokers_own(codec):
    found = judged_odd(marked([NOW_MS, NONE_MS, -2, 0], codec))

    assert found.verdict == Accept()
    assert found.rewritten.repair is None
    (goes,) = record_set.scan(memoryview(found.rewritten.records), 2).batches
    assert (goes.attributes, goes.base_timestamp, goes.max_timestamp) == (codec, NOW_MS, NOW_MS)
    assert record_batch.crc_is_valid(goes)
    assert times_of(found.rewritten.records) == [NOW_MS, -1, -2, 0]


def test_no_time_is_none_for_the_candidate_too():
    rules = odd_view()
    candidate = RuleSettings(before=TimeLimit(HOUR_MS))
    seen = replace(rules, policy=replace(rules.policy, candidate=candidate))

    found = judged_odd(marked([NONE_MS, NOW_MS - DAY_MS]), seen=seen)

    assert [each.batch_index for each in found.would.violations] == [1]


def test_a_batch_without_the_bit_is_what_it_ever_was():
    found = judged_odd(batch([NOW_MS, -1]))

    assert (found.verdict, found.rewritten) == (Accept(), None)


def test_a_real_minus_one_is_rejected_and_told_why():
    asked = produce({"t": {0: marked([NOW_MS, -1, NONE_MS])}})
    said = produced({"t": {0: rejected((1, NO_PLACE))}})
    assert (
        Conversation(odd_view())
        >> client(asked)
        << to_client(said)
        << booked("rejected", rule="extended", reason=Reason.NEGATIVE, bad_records=1)
    )


def test_what_goes_on_is_booked_as_accepted_with_the_times_that_were_meant():
    asked = produce({"t": {0: marked([NOW_MS, NONE_MS])}})
    sent = produce({"t": {0: batch([NOW_MS, -1])}})
    said = produced({"t": {0: accepted()}})
    conversation = Conversation(odd_view()) >> client(asked) << to_broker(sent) >> returned(said)
    assert conversation << booked("accepted", reason=None, would_reject=False)


def test_an_idempotent_producers_numbers_and_a_transaction_stay():
    numbers = {"producer_id": 7, "producer_epoch": 3, "base_sequence": 41}
    found = judged_odd(marked([NONE_MS, NOW_MS], attributes=0x10, **numbers))

    assert found.rewritten.records == batch([-1, NOW_MS], attributes=0x10, **numbers)


def test_it_goes_on_without_a_tail():
    assert judged_odd(marked([NONE_MS]) + batch([NOW_MS])[:40]).rewritten.records == batch([-1])


def test_the_times_that_are_told_are_those_that_were_meant():
    def told(*times):
        batch_facts = judged_odd(marked(times)).batch
        return batch_facts.min_timestamp_ms, batch_facts.max_timestamp_ms

    assert told(NOW_MS, NONE_MS) == (NOW_MS, NOW_MS)
    assert told(NOW_MS, -1) == (-1, NOW_MS)
    assert told(NONE_MS) == (None, None)


def test_records_without_a_time_are_those_that_say_so():
    records = Records([-1, -1, 5], [0, 1, 2], [1] * 3, [1] * 3, real_minus_ones=frozenset({1}))

    assert facts_of(records) == RecordFacts(3, -1, 5, 1)


def test_other_repairs_work_on_what_is_meant():
    stamp = {"on_violation": OnViolation.STAMP, "no_timestamp": Choice.STAMP}
    found = judged_odd(marked([-1, NONE_MS, NOW_MS - 5]), **stamp)

    assert found.rewritten.records == batch([NOW_MS, NOW_MS, NOW_MS - 5])


def test_where_the_broker_writes_its_own_time_the_bit_goes_and_any_time_is_taken():
    limits = replace(UNLIMITED, timestamp_type=TimestampType.LOG_APPEND_TIME)

    assert judged_odd(marked([-1, NONE_MS, 5]), limits=limits).rewritten.records == batch([-1, -1, 5])


def test_before_the_topics_limits_are_known_it_is_read_so_as_well():
    seen = replace(odd_view(), topics={})

    assert judged_odd(marked([NONE_MS]), seen=seen).rewritten.records == batch([-1])
    assert judged_odd(marked([-1]), seen=seen).verdict.reason is Reason.NEGATIVE


NEVER_ON = {
    "too far ahead": (marked([NOW_MS + 2 * HOUR_MS]), {"limits": LIMITS}, TIME, Reason.TOO_FAR_AHEAD),
    "too old": (marked([NOW_MS - 2 * DAY_MS]), {"limits": LIMITS}, TIME, Reason.TOO_OLD),
    "no time": (marked([NOW_MS, NONE_MS]), {"no_timestamp": Choice.REJECT}, TIME, Reason.MISSING),
    "a negative one": (marked([-2]), {"negative": Choice.REJECT}, TIME, Reason.NEGATIVE),
    "a real -1, though rules take it": (marked([-1]), {"negative": Choice.ACCEPT}, TIME, Reason.NEGATIVE),
    "a real -1 that is too old as well": (marked([-1]), {"limits": LIMITS}, TIME, Reason.NEGATIVE),
    "the broker's stamp claimed": (marked([NOW_MS], attributes=0x08), {}, TIME, Reason.TYPE_MISMATCH),
    "a wrong checksum": (marked([NOW_MS], crc=1), {}, ErrorCode.CORRUPT_MESSAGE, None),
    "a wrong count": (marked([NOW_MS], records_count=2), {}, INVALID, None),
    "control records": (marked([NOW_MS], attributes=0x20), {}, INVALID, None),
    "no batch behind it": (marked([NOW_MS]) + bytes(61), {}, ErrorCode.CORRUPT_MESSAGE, None),
    "another batch behind it": (marked([NOW_MS]) + batch([NOW_MS]), {"version": 2}, INVALID, None),
    "it behind another batch": (batch([NOW_MS]) + marked([NOW_MS]), {"version": 2}, INVALID, None),
    "a codec that nobody knows": (
        marked([NOW_MS], attributes=0x05),
        {},
        ErrorCode.UNKNOWN_SERVER_ERROR,
        None,
    ),
    "without the rule": (marked([NOW_MS]), {"extended_timestamps": None}, INVALID, None),
}


@pytest.mark.parametrize(("data", "settings", "code", "reason"), NEVER_ON.values(), ids=NEVER_ON)
def test_it_is_judged_by_what_is_meant_and_never_goes_on_with_its_bit(data, settings, code, reason):
    found = judged_odd(data, **settings)

    assert isinstance(found.verdict, Reject)
    assert found.verdict.error_code == code
    assert reason in (None, found.verdict.reason)
    assert found.rewritten is None


def test_where_nothing_is_written_anew_the_bit_is_counted_as_what_no_producer_may_set():
    waiver = Waiver("w", Match(), NOW_MS + 1, "owner", "reason")
    for seen in (odd_view(mode=Mode.AUDIT), odd_view(waivers=(waiver,))):
        found = judged_odd(marked([-1]), seen=seen)
        assert (found.verdict, found.rewritten) == (Accept(), None)
        assert "bit 6" in found.would.detail


def test_an_answer_names_no_more_culprits_than_any_other():
    seen = odd_view()
    seen = replace(seen, limits=replace(seen.limits, culprits_listed=3))
    verdict = judged_odd(marked([-1] * 10), seen=seen).verdict

    assert (len(verdict.violations), verdict.bad_records) == (3, 10)


EDGES = (-1, -2, 0, 1, LONG_MIN, LONG_MIN + 1, LONG_MAX, NOW_MS, NOW_MS + HOUR_MS + 1)
TIMES = st.lists(st.sampled_from(EDGES) | st.integers(LONG_MIN, LONG_MAX), min_size=1, max_size=6)


@given(times=TIMES, limits=st.sampled_from([LIMITS, UNLIMITED, TopicLimits(after_max_ms=0)]))
def test_whatever_the_times_a_batch_goes_on_as_meant_or_is_rejected(times, limits):
    found = judged_odd(marked(times), limits=limits)

    if isinstance(found.verdict, Accept):
        assert -1 not in times
        assert times_of(found.rewritten.records) == [-1 if t == NONE_MS else t for t in times]
        assert judged_odd(found.rewritten.records, limits=limits).verdict == Accept()
    else:
        plain = [t for t in times if t != NONE_MS]
        assert -1 in times or isinstance(judged_odd(batch(plain), limits=limits).verdict, Reject)
