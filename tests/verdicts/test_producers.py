"""Transactional batches of several producers in one request: a broker rejects all of it, and so do we."""

import pytest

from rigs.differential.lines import now_ms
from tests.policy.verdicts import LIMITS, NOW_MS, judged_by
from tests.verdicts.rows import HOUR, v2
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.verdict import Reject
from tsproxy.model.view import View
from tsproxy.policy.checks.whole_request import ONE_PRODUCER_FROM

BIT_4 = 0x10
MAPPING, TIME = ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.INVALID_TIMESTAMP


def partitions(producers: list[tuple[int, int]], moment_ms: int, attributes: int = BIT_4) -> list[bytes]:
    """A partition for each (producer_id, producer_epoch); the last one holds a bad time."""
    bad = len(producers) - 1
    return [
        v2(
            2 * HOUR if at == bad else 0,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=0,
            attributes=attributes,
        )(moment_ms)
        for at, (producer_id, epoch) in enumerate(producers)
    ]


SEVERAL = {
    "two": [(1, 0), (2, 0)],
    "three": [(1, 0), (2, 0), (3, 0)],
    "one, and another of the last": [(1, 0), (1, 0), (2, 0)],
    "two epochs of one": [(1, 0), (1, 1)],
}


def verdicts(
    records: list[bytes], transactional_id: str | None = "t", newest: int = 11
) -> list[ErrorCode | None]:
    """The core's: the code of each partition, None where it goes on."""
    view = View(topics={"t": LIMITS}, produce_versions=(0, newest))
    judged = judged_by(view, *records, version=11, transactional_id=transactional_id)
    return [one.verdict.error_code if isinstance(one.verdict, Reject) else None for one in judged]


@pytest.mark.parametrize("name", SEVERAL)
def test_several_transactional_producers_are_rejected_with_all_their_request(name: str):
    assert verdicts(partitions(SEVERAL[name], NOW_MS)) == [MAPPING] * len(SEVERAL[name])


def test_so_it_is_from_kafka_3_7_on():
    records = partitions(SEVERAL["two"], NOW_MS)
    assert verdicts(records, newest=ONE_PRODUCER_FROM) == [MAPPING] * 2
    assert verdicts(records, newest=ONE_PRODUCER_FROM - 1) == [None, TIME]


def test_one_transactional_producer_may_send_to_many_partitions():
    assert verdicts(partitions([(1, 0), (1, 0), (1, 0)], NOW_MS)) == [None, None, TIME]


def test_producers_without_a_transaction_may_be_many():
    assert verdicts(partitions([(1, 0), (2, 0)], NOW_MS, attributes=0), None) == [None, TIME]


@pytest.mark.parametrize("name", SEVERAL)
def test_a_real_broker_rejects_them_in_the_same_words(direct, proxied, topic: str, name: str):
    records = partitions(SEVERAL[name], now_ms())
    sent = [(topic, at, data) for at, data in enumerate(records)]
    told, ours = (line.told(11, sent, -1, transactional_id="t") for line in (direct, proxied))
    assert {answer.error_code for answer in told.values()} == {MAPPING}
    assert ours == told
