"""The facts that are counted of a partition's records, accepted or not: counts, times, who sent them."""

import pytest

from tests.policy.verdicts import NOW_MS, judged
from tests.verdicts.rows import legacy, v2, v2_at
from tests.wire.batches import GZIP, batch
from tsproxy.model.kafka import LONG_MAX
from tsproxy.model.records import BatchFacts

GOOD = v2(0)(NOW_MS)


@pytest.mark.parametrize("data", [None, b"", b"too short", bytes(40)])
def test_where_no_batch_is_found_there_is_only_a_size(data: bytes | None):
    assert judged(data).batch == BatchFacts(2, "none", len(data or b""), 0, -1, -1, None, None)


def test_a_batch_is_booked_with_its_producer():
    found = judged(batch([NOW_MS], producer_id=4, producer_epoch=2, base_sequence=0)).batch
    assert (found.producer_id, found.producer_epoch) == (4, 2)


def test_a_batch_that_does_not_decompress_counts_for_no_record():
    found = judged(batch(codec=GZIP, body=b"no gzip", records_count=3)).batch
    assert (found.codec, found.records, found.min_timestamp_ms) == ("gzip", 0, None)


def test_below_v3_the_records_of_all_batches_count():
    found = judged(GOOD + v2(-5, -7)(NOW_MS), version=2).batch
    assert (found.records, found.min_timestamp_ms, found.max_timestamp_ms) == (3, NOW_MS - 7, NOW_MS)


def test_below_v3_a_later_record_without_a_time_has_none():
    found = judged(GOOD + batch([-1]), version=2).batch
    assert (found.records, found.min_timestamp_ms, found.max_timestamp_ms) == (2, NOW_MS, NOW_MS)


@pytest.mark.parametrize(("count", "records"), [(7, 7), (0, 0), (-5, 0)])
def test_beyond_the_records_of_one_request_a_later_batch_is_counted_and_not_read(count: int, records: int):
    later = batch([NOW_MS], records_count=count)
    found = judged(batch([NOW_MS]) + later, version=2, records_per_request=1).batch
    assert (found.records, found.max_timestamp_ms) == (1 + records, NOW_MS)


def test_from_v3_on_those_of_the_first_one():
    """A second one is rejected unread."""
    found = judged(GOOD + v2(-5, -7)(NOW_MS), version=3).batch
    assert (found.records, found.min_timestamp_ms) == (1, NOW_MS)


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
