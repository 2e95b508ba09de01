"""An acceptable batch is forwarded; any other is rejected in the broker's words, by its first failing check.

The same verdicts are held against real brokers in tests/verdicts and rigs/differential; here each rule
stands alone, and the order between any two.
"""

import tracemalloc
from dataclasses import replace
from itertools import combinations

import pytest

from tests.policy.verdicts import DAY_MS, HOUR_MS, LIMITS, NOW_MS, judged, verdict
from tests.wire.batches import GZIP, ZSTD, batch, record, varint
from tsproxy.model.kafka import ErrorCode, TimestampType
from tsproxy.model.verdict import Accept, Reason, RecordError, Reject, TopicLimits, UnitGuess

ACCEPT = Accept()

AHEAD_MS = NOW_MS + 2 * HOUR_MS
GOOD_MS = NOW_MS - 5

REJECTED = "One or more records have been rejected due to invalid timestamp"
COMPACTED = replace(LIMITS, is_compacted=True)
APPEND_TIME = TopicLimits(TimestampType.LOG_APPEND_TIME)


def range_text(timestamp_ms, offset):
    return (
        f"Timestamp {timestamp_ms} of message with offset {offset} is out of range. "
        f"The timestamp should be within [{NOW_MS - DAY_MS}, {NOW_MS + HOUR_MS}]"
    )


# -- The rule ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("timestamp_ms", "is_accepted"),
    [
        (NOW_MS + HOUR_MS, True),
        (NOW_MS + HOUR_MS + 1, False),
        (NOW_MS - DAY_MS, True),
        (NOW_MS - DAY_MS - 1, False),
        (-1, True),
        (-2, False),
        (0, False),
    ],
)
@pytest.mark.parametrize("codec", range(5))
def test_a_batch_is_accepted_up_to_the_millisecond_of_its_limits(timestamp_ms, is_accepted, codec):
    found = verdict(batch([NOW_MS, timestamp_ms], codec))
    assert (found == ACCEPT) is is_accepted


def test_one_bad_record_rejects_the_whole_batch():
    """KIP-937: a batch is rejected as a whole, even for a single record."""
    found = verdict(batch([NOW_MS] * 99 + [AHEAD_MS]))
    assert found == Reject(
        ErrorCode.INVALID_TIMESTAMP,
        REJECTED,
        Reason.TOO_FAR_AHEAD,
        found.violations,
        bad_records=1,
        unit_guess=None,
    )
    assert found.record_errors == (RecordError(99, range_text(AHEAD_MS, 99)),)


def test_the_offset_in_the_text_is_the_one_on_the_wire_not_the_index():
    """Brokers do not compare offset deltas of uncompressed records, and print them as they are."""
    records = [record(offset_delta=3), record(AHEAD_MS - NOW_MS, offset_delta=9)]
    found = verdict(batch(records=records, base_timestamp=NOW_MS))
    assert found.record_errors == (RecordError(1, range_text(AHEAD_MS, 9)),)


def test_a_topic_whose_limits_are_not_known_is_left_to_the_broker():
    assert verdict(batch([AHEAD_MS]), limits=None) == ACCEPT


def test_a_topic_without_limits_takes_any_time():
    assert verdict(batch([AHEAD_MS, 0, -2, 2**63 - 1]), limits=TopicLimits()) == ACCEPT


def test_a_log_append_time_topic_takes_any_time():
    limited = replace(APPEND_TIME, before_max_ms=0, after_max_ms=0)
    assert verdict(batch([AHEAD_MS, 0]), limits=limited) == ACCEPT


def test_the_unit_is_guessed_from_the_first_record_out_of_range():
    assert verdict(batch([NOW_MS, NOW_MS // 1000, AHEAD_MS])).unit_guess is UnitGuess.SECONDS
    assert verdict(batch([NOW_MS, NOW_MS * 1000])).unit_guess is UnitGuess.MICROSECONDS
    assert verdict(batch([AHEAD_MS])).unit_guess is None


def test_no_more_culprits_are_listed_than_the_limit_and_all_are_counted():
    found = verdict(batch([AHEAD_MS] * 10), culprits_listed=4)
    assert ([e.batch_index for e in found.record_errors], found.bad_records) == ([0, 1, 2, 3], 10)


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


def test_a_bad_time_in_a_compacted_topic_brings_the_missing_keys_to_light_too():
    """Every record is looked at; a record without a key is not asked for its time; one bad time makes
    the whole INVALID_TIMESTAMP."""
    rows = [(GOOD_MS, None), (AHEAD_MS, None), (AHEAD_MS, b"k"), (GOOD_MS, b"k")]
    records = [record(t - NOW_MS, i, key) for i, (t, key) in enumerate(rows)]
    found = verdict(batch(records=records, base_timestamp=NOW_MS), COMPACTED)
    assert (found.error_code, found.error_message) == (ErrorCode.INVALID_TIMESTAMP, REJECTED)
    assert found.record_errors == (
        RecordError(0, NO_KEY_TEXT),
        RecordError(1, NO_KEY_TEXT),
        RecordError(2, range_text(AHEAD_MS, 2)),
    )


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


def test_missing_keys_with_good_times_are_the_brokers_to_reject():
    assert verdict(batch([GOOD_MS], key=None), COMPACTED) == ACCEPT


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


def test_under_bit_3_each_record_is_judged_by_its_own_time():
    found = verdict(batch([GOOD_MS, AHEAD_MS], attributes=0x08))
    assert found.record_errors[1] == RecordError(1, range_text(AHEAD_MS, 1))
    assert "Invalid timestamp type" in found.record_errors[0].message


@pytest.mark.parametrize("limits", [LIMITS, TopicLimits(), APPEND_TIME, None])
def test_bit_6_is_rejected_whatever_the_topic(limits):
    """KIP-534's delete horizon: brokers store it as it comes, and their cleaner believes it."""
    found = verdict(batch([GOOD_MS], attributes=0x40), limits)
    assert (found.error_code, found.error_message) == (ErrorCode.INVALID_RECORD, None)
    assert "bit 6" in found.detail


@pytest.mark.parametrize("bit", range(7, 16))
def test_bits_without_meaning_are_nobodys_business(bit):
    attributes = (1 << bit) - (1 << 16 if bit == 15 else 0)
    assert verdict(batch([GOOD_MS], attributes=attributes)) == ACCEPT


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


@pytest.mark.parametrize("name", EARLIER)
def test_what_a_broker_checks_before_times_is_rejected_in_its_words(name):
    """On the wire stands the code alone: no text, no culprits."""
    _, _, code, text = EARLIER[name]
    found = rejected(name)
    assert (found.error_code, found.error_message, found.violations) == (code, None, ())
    assert text in found.detail


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
    _, _, code, text = EARLIER[first]
    found = rejected(first, second)
    assert found.error_code == code
    assert text.split(" is ")[0] in found.detail


@pytest.mark.parametrize("acks", [-1, 0, 1])
def test_acks_that_brokers_know_are_no_reason(acks):
    assert verdict(batch([AHEAD_MS]), acks=acks).error_code == ErrorCode.INVALID_TIMESTAMP


@pytest.mark.parametrize("acks", [-2, 2, 3])
def test_acks_that_nobody_knows_are_told_before_times(acks):
    assert verdict(batch([AHEAD_MS]), acks=acks).error_code == ErrorCode.INVALID_REQUIRED_ACKS


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


def test_two_batches_are_one_too_many():
    data = batch([AHEAD_MS])
    found = verdict(data + data)
    assert (found.error_code, found.error_message) == (ErrorCode.INVALID_RECORD, None)
    assert "exactly one record batch per partition" in found.detail


@pytest.mark.parametrize("version", [3, 11])
def test_a_second_batch_is_one_too_many_even_where_both_are_good(version):
    """Nobody has looked at the second one: it may not go on."""
    found = verdict(batch([GOOD_MS]) + batch([GOOD_MS]), version=version)
    assert found.error_code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("bit", [0x08, 0x40])
def test_a_second_batch_with_a_bit_that_no_producer_may_set_does_not_go_on(bit):
    found = verdict(batch([GOOD_MS]) + batch([GOOD_MS], attributes=bit), TopicLimits())
    assert "exactly one record batch per partition" in found.detail


def test_zstd_is_rejected_below_v7():
    data = batch([AHEAD_MS], ZSTD)
    assert verdict(data, version=6).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert verdict(data, version=7).error_code == ErrorCode.INVALID_TIMESTAMP


@pytest.mark.parametrize("limits", [LIMITS, TopicLimits(), None])
def test_null_records_are_rejected_whatever_the_topic(limits):
    """A broker that meets them sends nothing and stays mute for ever."""
    found = verdict(None, limits)
    assert (found.error_code, found.error_message) == (ErrorCode.INVALID_RECORD, None)


def test_a_transactional_batch_needs_a_transactional_id():
    data = batch([AHEAD_MS], attributes=0x10, producer_id=1, producer_epoch=0, base_sequence=0)
    unauthorized = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert verdict(data).error_code == unauthorized
    assert verdict(data, transactional_id="tx").error_code == ErrorCode.INVALID_TIMESTAMP


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


# -- Facts ------------------------------------------------------------------------------------------


def test_the_facts_of_a_batch_are_what_its_records_say():
    found = judged(batch([GOOD_MS, -1, NOW_MS], GZIP, producer_id=4, producer_epoch=2, base_sequence=0))
    facts = found.batch
    assert (facts.magic, facts.codec, facts.records) == (2, "gzip", 3)
    assert (facts.producer_id, facts.producer_epoch) == (4, 2)
    assert (facts.min_timestamp_ms, facts.max_timestamp_ms) == (GOOD_MS, NOW_MS)


@pytest.mark.parametrize("data", [None, b"", batch([-1, -1])])
def test_records_without_a_time_have_no_span(data):
    facts = judged(data).batch
    assert (facts.min_timestamp_ms, facts.max_timestamp_ms) == (None, None)
