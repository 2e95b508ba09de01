"""Both tables, judged by the proxy's core and by real brokers: one verdict, whoever gives it."""

import re

import pytest

from rigs.differential.intended import read_by_the_core
from rigs.differential.lines import Direct, Proxied, address_of, now_ms
from rigs.differential.requests import Answers
from rigs.differential.run import topic_ids
from tests.verdicts.beyond import BEYOND, EXACT
from tests.verdicts.log_validator import CASES, NOT_REPLAYED
from tests.verdicts.record_sizes import SIZES
from tests.verdicts.rows import ACCEPTED, KEEP, Expected, Row, Wire
from tsproxy.cluster.topic_limits import ANY_RECORD_SIZE, topic_limits
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.produce import PartitionProduceResponse
from tsproxy.model.verdict import Accept, Reject
from tsproxy.model.view import View
from tsproxy.policy.checks.whole_request import reject_whole_request
from tsproxy.policy.judge import first_rejection, judge
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.wire.k00_produce import TOPIC_IDS_FROM

ROWS = (*CASES, *BEYOND, *SIZES)
NOW_MS = 1_767_225_600_000
NEWEST_DEFAULTS = {"max.decompressed.message.bytes": str(ANY_RECORD_SIZE)}


def test_all_53_cases_of_the_log_validator_are_accounted_for():
    assert len({row.original for row in CASES}) + len(NOT_REPLAYED) == 53


def rejection(row: Row) -> Reject | None:
    """The reason for which the core would reject the row's records."""
    config = NEWEST_DEFAULTS | row.config if row.wire is Wire.SINCE_4_4 else row.config
    view = View(topics={"t": topic_limits(config)})
    case = read_by_the_core(view, row.api_version, "t", 0, row.records(NOW_MS), NOW_MS)
    rejected = reject_whole_request([case], (0, 11)) or first_rejection(case)
    if rejected is None or rejected.error_code is ErrorCode.INVALID_TIMESTAMP:
        assert judge(case) == (rejected or Accept()), "what violates must be rejected, and nothing else"
    return rejected


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ROWS])
def test_the_core_gives_the_verdict(row: Row):
    rejected = rejection(row)
    if rejected is None:
        assert row.expected == ACCEPTED
        return
    assert rejected.error_code == row.expected.code
    assert tuple(e.batch_index for e in rejected.record_errors) == (row.expected.culprits or ())
    assert (rejected.error_message or rejected.detail or "").startswith(row.expected.text)


async def answers_of(
    kafka: KafkaCluster, rows: list[Row], *, through_proxy: bool, by_id: bool
) -> list[Answers]:
    """Each row's answer, one request a row; one topic for each configuration."""
    side = f"{'proxied' if through_proxy else 'direct'}-{by_id}"
    names = {str(sorted(row.config.items())): f"rows-{side}-{at}" for at, row in enumerate(rows)}
    limits = {}
    for row in rows:
        name = names[str(sorted(row.config.items()))]
        if name not in limits:
            await kafka.create_topic(name, config=KEEP | row.config)
            limits[name] = topic_limits(await kafka.topic_config(name))
    address = address_of(kafka)
    direct = Direct(address)
    ids = topic_ids(direct, [*limits])
    view = View(topics=limits, topic_names={topic_id: name for name, topic_id in ids.items()})
    line = Proxied(address, view) if through_proxy else direct
    answers = []
    for row in rows:
        name = names[str(sorted(row.config.items()))]
        sent = [(name, 0, row.records(now_ms()))]
        version = TOPIC_IDS_FROM if by_id else row.api_version
        answers.append(line.told(version, sent, ids=ids))
    line.close()
    return answers


WAYS = pytest.mark.parametrize("through_proxy", [False, True], ids=["directly", "through the proxy"])


@WAYS
async def test_a_real_broker_gives_the_verdict(kafka: KafkaCluster, through_proxy: bool):
    """The rows on a bound to the millisecond are left out: `test_boundaries` meets those bounds."""
    other = {Wire.SINCE_4_4} if kafka.version.startswith("3") else {Wire.LEGACY}
    rows = [row for row in ROWS if row not in EXACT and row.wire not in other]
    assert not await wrong_answers(kafka, rows, through_proxy=through_proxy, by_id=False)


@WAYS
async def test_it_gives_the_same_to_a_request_that_names_the_topic_by_id(
    kafka_440: KafkaCluster, through_proxy: bool
):
    """In Produce 13, which brokers have from 4.1 on. Rows about an older version are left out."""
    rows = [row for row in ROWS if row not in EXACT and row.version is None and row.wire is not Wire.LEGACY]
    assert not await wrong_answers(kafka_440, rows, through_proxy=through_proxy, by_id=True)


async def wrong_answers(
    kafka: KafkaCluster, rows: list[Row], *, through_proxy: bool, by_id: bool
) -> list[tuple[str, Expected, PartitionProduceResponse]]:
    """(row, what is expected, the answer) where these differ."""
    wrong = []
    found = await answers_of(kafka, rows, through_proxy=through_proxy, by_id=by_id)
    for row, answers in zip(rows, found, strict=True):
        (answer,) = answers.values()
        expected = row.expected if through_proxy else (row.broker or row.expected)
        if (answer.error_code, told_culprits(row, expected)) != (
            expected.code,
            tuple(e.batch_index for e in answer.record_errors),
        ):
            wrong.append((row.name, expected, answer))
    return wrong


def told_culprits(row: Row, expected: Expected) -> tuple[int, ...]:
    """The culprits that an answer of the row's version has room for."""
    return (expected.culprits or ()) if row.api_version >= 8 else ()


def test_a_text_that_names_bounds_names_them_as_longs_wrap():
    """KIP-937 prints now - before and now + after; with Long.MAX the second one overflows."""
    (row,) = (row for row in BEYOND if row.original == "a limit of Long.MAX makes the text's bound wrap")
    rejected = rejection(row)
    assert rejected is not None
    assert rejected.error_code is ErrorCode.INVALID_TIMESTAMP
    (error,) = rejected.record_errors
    assert re.search(r"within \[1767139200000, -9223370269629175809\]$", error.message or "")
