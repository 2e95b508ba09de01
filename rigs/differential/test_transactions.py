"""Transactions and idempotent producers: 1,000 scripts a version in `make test-full`."""

import asyncio
import uuid

import pytest

from rigs.differential.lines import address_of
from rigs.differential.transactions import DAY_MS, INTENDED, KINDS, run
from tests.documents.tables import rows_of
from tests.full_only import BOTH_BROKERS, IS_FULL
from tsproxy.testing.kafka_cluster import KafkaCluster

SCRIPTS = 1_000 if IS_FULL else 60


def test_the_page_has_each_difference():
    columns = ("what", "broker", "tsproxy")
    rows = [*rows_of("reference/verdicts.md", *columns), *rows_of("reference/verdicts.md", *columns, "why")]
    assert INTENDED.keys() <= {row[0] for row in rows}


@pytest.mark.parametrize("kafka", BOTH_BROKERS, indirect=True)
async def test_a_producer_with_numbers_gets_a_brokers_answers_and_log(kafka: KafkaCluster):
    run_of = uuid.uuid4().hex[:8]
    topics = f"direct-{run_of}", f"proxied-{run_of}"
    for topic in topics:
        await kafka.create_topic(topic, config={"message.timestamp.before.max.ms": str(DAY_MS)})
    kinds = KINDS[kafka.version[0]]
    tally = await asyncio.to_thread(run, address_of(kafka), topics, SCRIPTS, kinds)
    assert not tally.unexplained, tally
    assert tally.stored > SCRIPTS, "too few batches were stored"
    assert tally.codes[32] > SCRIPTS // 4, "too few batches were rejected for their times"
    assert len(tally.apart) < SCRIPTS // 2, "too many scripts ended early"
