"""Checks of all partitions of a request together, and those that are left to the broker."""

import pytest

from tests.policy.verdicts import HOUR_MS, NOW_MS, judged_by, verdict
from tests.session.conversation import view_of
from tests.wire.batches import batch
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.verdict import Accept, Reject
from tsproxy.policy.checks.request import CODEC_READ_BELOW

AHEAD_MS = NOW_MS + 2 * HOUR_MS
NEWER_CODEC = 5


def transactional(producer_id):
    return batch([AHEAD_MS], attributes=0x10, producer_id=producer_id, producer_epoch=0, base_sequence=0)


def codes(*records):
    return [one.verdict.error_code for one in judged_by(view_of(), *records, transactional_id="tx")]


def test_two_producers_in_one_transactional_request_are_rejected():
    assert codes(transactional(7), transactional(8)) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 2


def test_the_producer_of_a_partition_that_failed_its_validation_does_not_count():
    """`ProduceRequest.validateRecords` fails for its two batches."""
    two = transactional(8) * 2
    assert codes(transactional(7), two) == [ErrorCode.INVALID_TIMESTAMP, ErrorCode.INVALID_RECORD]


@pytest.mark.parametrize(
    ("version", "kind"),
    [(2, Reject), (3, Accept), (CODEC_READ_BELOW - 1, Accept), (CODEC_READ_BELOW, Reject)],
)
def test_an_unknown_codec_is_left_to_the_broker_where_no_validation_finds_it(version, kind):
    assert isinstance(verdict(batch([AHEAD_MS], body=b"?", attributes=NEWER_CODEC), version=version), kind)


def test_a_set_that_cannot_be_read_below_v3_has_its_whole_transactional_request_rejected_with_the_text():
    too_small = bytes(8) + b"\x00\x00\x00\x05" + bytes(30)
    found = judged_by(
        view_of(), transactional(7) + too_small, transactional(7), version=2, transactional_id="tx"
    )
    text = "Record size 5 is less than the minimum record overhead (14)"
    assert [(one.verdict.error_code, one.verdict.error_message) for one in found] == [
        (ErrorCode.CORRUPT_MESSAGE, text)
    ] * 2
