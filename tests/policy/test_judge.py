"""An acceptable batch is forwarded; any other is rejected in the broker's words, by its first failing check.

The rows of tests/verdicts and rigs/differential hold the verdicts against real brokers. Here is what no row
has: the words, and the order between any two checks.
"""

import tracemalloc
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigs.differential.message_sets import Message, wrapper, write_message, write_messages
from tests.policy.verdicts import DAY_MS, HOUR_MS, LIMITS, NOW_MS, judged, judged_by, verdict
from tests.session.conversation import view_of
from tests.session.messages import out_of_range
from tests.verdicts.rows import legacy, v2, v2_at
from tests.wire.batches import CODECS, GZIP, ZSTD, batch, record, varint, wrap
from tsproxy.model.kafka import LONG_MAX, LONG_MIN, Codec, ErrorCode, TimestampType
from tsproxy.model.policy import Policy, RuleSettings, TimeLimit
from tsproxy.model.records import BatchFacts
from tsproxy.model.verdict import Accept, OutOfRange, Reason, RecordError, Reject, TopicLimits
from tsproxy.model.view import View
from tsproxy.policy.checks import record as record_checks
from tsproxy.policy.checks.request import CODEC_READ_BELOW
from tsproxy.policy.checks.whole_request import READS_ALL_FROM

ACCEPT = Accept()

AHEAD_MS = NOW_MS + 2 * HOUR_MS
GOOD_MS = NOW_MS - 5

REJECTED = "One or more records have been rejected due to invalid timestamp"
COMPACTED = replace(LIMITS, is_compacted=True)
APPEND_TIME = TopicLimits(TimestampType.LOG_APPEND_TIME)


# -- The rule ---------------------------------------------------------------------------------------


def test_the_offset_in_the_text_is_the_one_on_the_wire_not_the_index():
    """Brokers do not compare offset deltas of uncompressed records, and print them as they are."""
    records = [record(offset_delta=3), record(AHEAD_MS - NOW_MS, offset_delta=9)]
    found = verdict(batch(records=records, base_timestamp=NOW_MS))
    assert found.record_errors == (RecordError(1, out_of_range(AHEAD_MS, 9)[1]),)


@pytest.mark.parametrize(
    ("data", "limits"), [(batch([AHEAD_MS]), LIMITS), (batch([AHEAD_MS], key=None), COMPACTED)]
)
def test_a_batch_is_rejected_even_where_no_culprit_may_be_listed(data, limits):
    found = verdict(data, limits, culprits_listed=0)
    assert (found.violations, found.bad_records) == ((), 1)


def test_culprits_that_are_not_listed_cost_no_memory():
    """A few kilobytes of gzip hold many thousands of bad records."""
    records = [record(0, i, None, None) for i in range(3_000)]
    data = batch(codec=GZIP, records=records, base_timestamp=0)

    def memory(culprits_listed):
        tracemalloc.start()
        try:
            found = verdict(data, COMPACTED, culprits_listed=culprits_listed)
            assert found.bad_records == len(records)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few, all_of_them = memory(culprits_listed=10), memory(culprits_listed=len(records))
    assert few < all_of_them < few + 100 * len(records), "columns, and no objects"


# -- Compacted topics -------------------------------------------------------------------------------


NO_KEY_TEXT = "Compacted topic cannot accept message without key in topic partition t-3"


def test_missing_keys_alone_are_invalid_records_and_the_first_three_stand_in_the_text():
    """A batch that is rejected for its times, where each bad time stands in a record without a key."""
    found = verdict(batch([AHEAD_MS] * 4, key=None), COMPACTED)
    shown = ", ".join(f"RecordError(batchIndex={i}, message='{NO_KEY_TEXT}')" for i in range(3))
    assert found.error_code == ErrorCode.INVALID_RECORD
    assert found.reason is Reason.NO_KEY
    assert found.error_message == (
        "One or more records have been rejected due to 4 record errors in total, "
        f"and only showing the first three errors at most: [{shown}]"
    )
    assert len(found.record_errors) == 4


# -- Attribute bits that no producer may set --------------------------------------------------------

BIT_3_TEXT = (
    "Invalid timestamp type in message {}(offset=0, timestamp=7, key=1 bytes, value=1 bytes). "
    "Producer should not set timestamp type to LogAppendTime."
)


@pytest.mark.parametrize("limits", [LIMITS, TopicLimits(), APPEND_TIME, None])
@pytest.mark.parametrize(("codec", "name"), [(0, "DefaultRecord"), (GZIP, "PartialDefaultRecord")])
def test_bit_3_is_rejected_whatever_the_topic(limits, codec, name):
    """A broker from 3.6 on would skip the check of every record, and store any time."""
    found = verdict(batch([GOOD_MS], codec, attributes=0x08, max_timestamp=7), limits)
    assert (found.error_code, found.error_message) == (ErrorCode.INVALID_TIMESTAMP, REJECTED)
    assert found.record_errors == (RecordError(0, BIT_3_TEXT.format(name)),)
    assert (found.reason, found.unit_guess) == (Reason.TYPE_MISMATCH, None)


@pytest.mark.parametrize(
    ("codec", "topics_codec", "shown"),
    [
        (0, None, "DefaultRecord(offset=0, timestamp=7, key=0 bytes, value=0 bytes)"),
        (GZIP, None, "PartialDefaultRecord(offset=0, timestamp=7, key=-5 bytes, value=-3 bytes)"),
        (GZIP, ZSTD, "DefaultRecord(offset=0, timestamp=7, key=0 bytes, value=0 bytes)"),
        (GZIP, GZIP, "PartialDefaultRecord(offset=0, timestamp=7, key=-5 bytes, value=-3 bytes)"),
    ],
)
def test_any_negative_size_is_null_and_shown_as_a_broker_shows_it(codec, topics_codec, shown):
    """Seen at 4.3.1: a size as it came where the broker steps over keys and values, 0 where it reads them."""
    fields = b"".join(varint(number) for number in (0, 0, -5, -3, 0))
    data = batch(
        codec=codec,
        records=[varint(len(fields) + 1) + b"\x00" + fields],
        attributes=0x08,
        base_timestamp=GOOD_MS,
        max_timestamp=7,
    )
    found = verdict(data, replace(APPEND_TIME, codec=topics_codec))
    assert shown in found.record_errors[0].message


@pytest.mark.parametrize("limits", [LIMITS, TopicLimits(), APPEND_TIME, None])
def test_bit_6_is_rejected_whatever_the_topic(limits):
    """KIP-534's delete horizon: brokers store it as it comes, and their cleaner believes it."""
    found = verdict(batch([GOOD_MS], attributes=0x40), limits)
    assert (found.error_code, found.error_message) == (ErrorCode.INVALID_RECORD, None)
    assert "bit 6" in found.detail


# -- What a broker would reject before it looks at times --------------------------------------------

BAD_TIMES = [NOW_MS, AHEAD_MS]

EARLIER = {
    "no batch": ({"length": 2000}, {}, ErrorCode.INVALID_RECORD, "must have at least one record batch"),
    "magic 1": (
        {"magic": 1},
        {},
        ErrorCode.INVALID_RECORD,
        "only allowed to contain record batches with magic",
    ),
    "acks": ({}, {"acks": 2}, ErrorCode.INVALID_REQUIRED_ACKS, "acks=2"),
    "base offset": (
        {"base_offset": 7},
        {},
        ErrorCode.INVALID_RECORD,
        "The baseOffset of the record batch in the append to t-3 should be 0, but it is 7",
    ),
    "size": (
        {},
        {"limits": replace(LIMITS, max_message_bytes=60)},
        ErrorCode.MESSAGE_TOO_LARGE,
        f"The record batch size in the append to t-3 is {len(batch(BAD_TIMES))} bytes "
        "which exceeds the maximum configured value of 60).",
    ),
    "crc": (
        {"crc": 1},
        {},
        ErrorCode.CORRUPT_MESSAGE,
        "Record is corrupt (stored crc = 1) in topic partition t-3.",
    ),
    "codec": ({"attributes": 5}, {}, ErrorCode.UNKNOWN_SERVER_ERROR, "Unknown compression type id"),
    "offset range": (
        {"last_offset_delta": -2},
        {},
        ErrorCode.INVALID_RECORD,
        "Batch has an invalid offset range: [0, -2] in topic partition t-3",
    ),
    "count": (
        {"records_count": 0, "last_offset_delta": 1},
        {},
        ErrorCode.INVALID_RECORD,
        "Invalid reported count for record batch: 0 in topic partition t-3",
    ),
    "count and offsets": (
        {"last_offset_delta": 5},
        {},
        ErrorCode.INVALID_RECORD,
        "Inconsistent batch offset range [0, 5] and count of records 2 in topic partition t-3",
    ),
    "control": (
        {"attributes": 0x20},
        {},
        ErrorCode.INVALID_RECORD,
        "Clients are not allowed to write control records in topic partition t-3",
    ),
    "sequence": (
        {"producer_id": 9, "base_sequence": -2},
        {},
        ErrorCode.INVALID_RECORD,
        "Invalid sequence number -2 in record batch with producerId 9 in topic partition t-3",
    ),
    "bit 6": (
        {"attributes": 0x40},
        {},
        ErrorCode.INVALID_RECORD,
        "Producers must not set the delete horizon",
    ),
    "unreadable": ({"body": b"\x04"}, {}, ErrorCode.INVALID_RECORD, "Found invalid record structure"),
}
"""Fields of the batch, facts of the request, the code, our log's words: in the broker's order."""


def rejected(*names):
    """The verdict on a batch with bad times and all that is wrong by these names."""
    fields, facts = {}, {}
    for name in names:
        more_fields, more_facts, _, _ = EARLIER[name]
        attributes = fields.get("attributes", 0) | more_fields.get("attributes", 0)
        fields |= more_fields
        if attributes:
            fields["attributes"] = attributes
        facts |= more_facts
    fields = {"records_count": 2} | fields
    fields.setdefault("last_offset_delta", fields["records_count"] - 1)
    return verdict(batch(BAD_TIMES, **fields), **facts)


CONTRADICTORY = {
    ("offset range", "count"),
    ("offset range", "count and offsets"),
    ("count", "count and offsets"),
}
"""They set one field to different values."""


@pytest.mark.parametrize(
    ("first", "second"), [pair for pair in combinations(EARLIER, 2) if pair not in CONTRADICTORY]
)
def test_the_first_check_that_fails_gives_the_answer(first, second):
    """On the wire stands the code alone: no text, no culprits."""
    _, _, code, text = EARLIER[first]
    found = rejected(first, second)
    assert (found.error_code, found.error_message, found.violations) == (code, None, ())
    assert text.split(" is ")[0] in found.detail


READABLE = ["acks", "base offset", "size", "crc", "offset range", "count and offsets", "control", "sequence"]


@pytest.mark.parametrize("name", READABLE)
def test_with_good_times_the_rest_is_the_brokers_to_reject(name):
    """Nothing of ours is broken: the broker says what is wrong, and what only it knows besides."""
    fields, facts, _, _ = EARLIER[name]
    assert verdict(batch([GOOD_MS, GOOD_MS], **fields), **facts) == ACCEPT


@pytest.mark.parametrize(
    "times", [[NOW_MS - DAY_MS], [NOW_MS + HOUR_MS], [NOW_MS - DAY_MS, NOW_MS + HOUR_MS], [-1, -1]]
)
def test_up_to_the_very_bounds_the_rest_is_the_brokers_to_reject(times):
    assert verdict(batch(times, key=None), COMPACTED) == ACCEPT


@pytest.mark.parametrize("name", ["no batch", "codec", "unreadable"])
def test_what_cannot_be_read_is_rejected_where_times_are_limited_and_passed_on_where_not(name):
    fields, facts, code, _ = EARLIER[name]
    data = batch([GOOD_MS, GOOD_MS], **{"records_count": 2} | fields)
    assert verdict(data, **facts).error_code == code
    assert verdict(data, limits=TopicLimits()) == ACCEPT


@pytest.mark.parametrize("bit", [0x08, 0x40])
def test_a_second_batch_with_a_bit_that_no_producer_may_set_does_not_go_on(bit):
    found = verdict(batch([GOOD_MS]) + batch([GOOD_MS], attributes=bit), TopicLimits())
    assert "exactly one record batch per partition" in found.detail


@pytest.mark.parametrize("limits", [LIMITS, TopicLimits(), None])
def test_null_records_are_rejected_whatever_the_topic(limits):
    """A broker that meets them sends nothing and stays mute for ever."""
    found = verdict(None, limits)
    assert (found.error_code, found.error_message) == (ErrorCode.INVALID_RECORD, None)


# -- Limits of our own ------------------------------------------------------------------------------

OUR_LIMITS = {
    "decompressed_batch": (100, GZIP),
    "records_per_batch": (2, ZSTD),
    "zstd_window": (1 << 20, ZSTD),
}


@pytest.mark.parametrize("key", OUR_LIMITS)
def test_a_limit_of_our_own_is_named_to_the_client_with_its_key(key):
    """Error 87, no record errors, and a text that says what to change."""
    limit, codec = OUR_LIMITS[key]
    data = batch([GOOD_MS] * 3, codec, value=bytes(1 << 20))
    found = verdict(data, **{key: limit})
    assert (found.error_code, found.violations) == (ErrorCode.INVALID_RECORD, ())
    assert f"limits.{key}" in found.error_message


# -- All partitions of a request together -------------------------------------------------------------


NEWER_CODEC = 5


def transactional(producer_id):
    return batch([AHEAD_MS], attributes=0x10, producer_id=producer_id, producer_epoch=0, base_sequence=0)


def test_the_producer_of_a_partition_that_failed_its_validation_does_not_count():
    """`ProduceRequest.validateRecords` fails for its two batches."""
    two = transactional(8) * 2
    found = judged_by(view_of(), transactional(7), two, transactional_id="tx")
    codes = [one.verdict.error_code for one in found]
    assert codes == [ErrorCode.INVALID_TIMESTAMP, ErrorCode.INVALID_RECORD]


@pytest.mark.parametrize(
    ("version", "kind"),
    [(2, Reject), (3, Accept), (CODEC_READ_BELOW - 1, Accept), (CODEC_READ_BELOW, Reject)],
)
def test_an_unknown_codec_is_left_to_the_broker_where_no_validation_finds_it(version, kind):
    assert isinstance(verdict(batch([AHEAD_MS], body=b"?", attributes=NEWER_CODEC), version=version), kind)


@pytest.mark.parametrize(
    ("offered", "others"),
    [((0, READS_ALL_FROM), Reject), ((0, READS_ALL_FROM - 1), Accept), (None, Reject)],
)
def test_a_set_that_cannot_be_read_below_v3_has_its_whole_request_rejected_with_the_text_since_3_8(
    offered, others
):
    unread = batch([GOOD_MS]) + bytes(8) + b"\x00\x00\x00\x05" + bytes(30)
    found = judged_by(replace(view_of(), produce_versions=offered), unread, batch([GOOD_MS]), version=2)
    text = "Record size 5 is less than the minimum record overhead (14)" if others is Reject else None
    assert [type(one.verdict) for one in found] == [Reject, others]
    assert (found[0].verdict.error_code, found[0].verdict.error_message) == (ErrorCode.CORRUPT_MESSAGE, text)


# -- Messages of magic 0 and 1, which are read one by one to find the culprits ------------------------


def test_the_first_culprit_gives_the_reason_where_no_time_is_at_fault():
    inner = Message(0), Message(1, AHEAD_MS, key=None, offset=1)
    found = verdict(write_message(wrapper(inner, Codec.GZIP)), COMPACTED, version=2)
    assert [each.reason for each in found.violations] == [Reason.INVALID_MAGIC, Reason.NO_KEY]
    assert (found.error_code, found.reason) == (ErrorCode.INVALID_RECORD, Reason.INVALID_MAGIC)


@pytest.mark.parametrize("listed", [1, 2, 3, 4, 5])
def test_a_bad_time_behind_the_culprits_that_are_listed_still_makes_it_a_bad_time(listed):
    inner = [Message(1, AHEAD_MS, key=key, offset=at) for at, key in enumerate([None, None, b"k", b"k"])]
    found = verdict(
        write_message(wrapper(tuple(inner), Codec.GZIP)), COMPACTED, version=2, culprits_listed=listed
    )
    assert (found.error_code, found.reason) == (ErrorCode.INVALID_TIMESTAMP, Reason.TOO_FAR_AHEAD)
    assert [each.batch_index for each in found.violations] == [0, 1, 2, 3][:listed]
    assert found.bad_records == 4


def test_a_log_append_time_topic_takes_any_time_beside_a_message_that_is_rejected():
    """Here Kafka's arithmetic wraps, and only the second message claims log-append time."""
    limited = replace(LIMITS, timestamp_type=TimestampType.LOG_APPEND_TIME, codec=Codec.GZIP)
    messages = Message(1, LONG_MIN + 5), Message(1, GOOD_MS, attributes=0x08, offset=1)
    found = verdict(write_messages(messages), limited, version=2)
    assert [each.timestamp_ms for each in found.violations] == [GOOD_MS]


BARE = write_message(Message(1, AHEAD_MS))
WRAPPED = write_message(
    wrapper((Message(1, GOOD_MS), Message(1, AHEAD_MS, offset=1), Message(1, AHEAD_MS, offset=2)), Codec.GZIP)
)


@pytest.mark.parametrize(("data", "bad"), [(BARE, [0]), (WRAPPED, [1, 2])], ids=["bare", "wrapped"])
def test_the_candidate_counts_messages(data, bad):
    policy = Policy(candidate=RuleSettings(after=TimeLimit(HOUR_MS)))
    view = View(topics={"t": TopicLimits()}, policy=policy)
    (found,) = judged_by(view, data, version=2)
    assert isinstance(found.verdict, Accept)
    assert [each.batch_index for each in found.would.violations] == bad
    assert found.would.bad_records == len(bad)


def test_an_empty_key_is_a_key():
    inner = Message(1, GOOD_MS, key=b""), Message(1, AHEAD_MS, key=None, offset=1)
    found = verdict(write_message(wrapper(inner, Codec.GZIP)), COMPACTED, version=2)
    assert [each.batch_index for each in found.violations] == [1]


# -- Culprits are columns if only the range matters ---------------------------------------------------


ahead_or_not = st.sampled_from(
    [
        NOW_MS,
        NOW_MS + HOUR_MS,
        NOW_MS + HOUR_MS + 1,
        NOW_MS - DAY_MS,
        NOW_MS - DAY_MS - 1,
        -1,
        0,
        NOW_MS * 1000,
    ]
)
edges = st.sampled_from([LONG_MIN, LONG_MIN + NOW_MS, LONG_MIN + NOW_MS + 1, LONG_MAX, -2])
spans = st.sampled_from([None, 0, 5, HOUR_MS, DAY_MS, LONG_MAX - 1])


@given(
    times=st.lists(ahead_or_not | edges, min_size=1, max_size=6),
    before_ms=spans,
    after_ms=spans,
    codec=st.sampled_from([0, *CODECS.values()]),
    base_offset_delta=st.integers(0, 3),
    listed=st.integers(0, 7),
    version=st.sampled_from([3, 7, 8, 9, 12]),
)
def test_the_verdict_is_the_one_that_is_come_to_record_by_record(
    times, before_ms, after_ms, codec, base_offset_delta, listed, version
):
    records = [record(wrap(time - times[0]), base_offset_delta + n) for n, time in enumerate(times)]
    data = batch(codec=codec, records=records, base_timestamp=times[0])
    limits = TopicLimits(before_max_ms=before_ms, after_max_ms=after_ms)

    def found():
        return verdict(data, limits, version, culprits_listed=listed)

    by_columns = found()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(record_checks, "_only_their_range_matters", lambda case: False)
        assert found() == by_columns


def test_a_usual_rejection_makes_no_object_of_a_record():
    found = verdict(batch([NOW_MS, NOW_MS * 1000, NOW_MS * 1000]))
    assert isinstance(found.violations, OutOfRange)
    assert [violation.batch_index for violation in found.violations[:9]] == [1, 2]


# -- The facts that are counted of a partition's records ----------------------------------------------


GOOD = v2(0)(NOW_MS)


@pytest.mark.parametrize("data", [None, b"", b"too short", bytes(40)])
def test_where_no_batch_is_found_there_is_only_a_size(data: bytes | None):
    assert judged(data).batch == BatchFacts(2, "none", len(data or b""), 0, -1, -1, None, None)


LATE = v2(-5, -7)(NOW_MS)
BOOKED = {
    "its producer": (
        batch([NOW_MS], producer_id=4, producer_epoch=2),
        9,
        {"producer_id": 4, "producer_epoch": 2},
    ),
    "no record of what does not decompress": (
        batch(codec=GZIP, body=b"no gzip", records_count=3),
        9,
        {"codec": "gzip", "records": 0, "min_timestamp_ms": None},
    ),
    "below v3 the records of all batches": (
        GOOD + LATE,
        2,
        {"records": 3, "min_timestamp_ms": NOW_MS - 7, "max_timestamp_ms": NOW_MS},
    ),
    "a later record without a time": (
        GOOD + batch([-1]),
        2,
        {"records": 2, "min_timestamp_ms": NOW_MS, "max_timestamp_ms": NOW_MS},
    ),
    "from v3 on those of the first, as a second is rejected unread": (
        GOOD + LATE,
        3,
        {"records": 1, "min_timestamp_ms": NOW_MS},
    ),
}


@pytest.mark.parametrize(("data", "version", "facts"), BOOKED.values(), ids=BOOKED)
def test_a_batch_is_booked_with(data, version, facts):
    booked = judged(data, version=version).batch
    assert {name: getattr(booked, name) for name in facts} == facts


@pytest.mark.parametrize(("count", "records"), [(7, 7), (8, 7), (0, 0), (-5, 0)])
def test_beyond_the_records_of_one_request_a_later_batch_is_counted_and_not_read(count: int, records: int):
    later = batch([NOW_MS], body=bytes(7 * 7), records_count=count)
    found = judged(batch([NOW_MS]) + later, version=2, records_per_request=1).batch
    assert (found.records, found.max_timestamp_ms) == (1 + records, NOW_MS)


@pytest.mark.parametrize(
    ("records", "is_wrong"),
    [
        (v2(0, -5), False),
        (v2(-5, 0), False),
        (v2(0, -5, max_timestamp=NOW_MS - 1), True),
        (v2(0, -5, max_timestamp=NOW_MS + 1), True),
        (v2_at(-1, -1), False),
        (v2_at(-1, -1, max_timestamp=NOW_MS), True),
        (v2_at(-1, NOW_MS), False),
        (v2_at(-2, -1), False),
        (v2_at(-2), True),
        (v2_at(-2, max_timestamp=-1), False),
        (v2_at(LONG_MAX), False),
        (v2_at(0, max_timestamp=9, codec=GZIP, dialect=lambda data: b"no gzip"), False),
        (legacy(1, 0), False),
        (legacy(1, 0, codec=GZIP, timestamp_ms=9), False),
        (lambda now_ms: b"", False),
    ],
)
def test_a_header_is_wrong_where_its_maximum_is_not_the_records(records, is_wrong: bool):
    """Only batches of magic 2 that could be read: a message's header is a record's own."""
    assert judged(records(NOW_MS)).has_header_mismatch is is_wrong
