"""A short run of the differential test; `python -m rigs.differential N` is the long one."""

import os

import pytest

from rigs.differential.__main__ import compare, show
from tests.full_only import BOTH_BROKERS
from tsproxy.testing.kafka_cluster import KafkaCluster

BATCHES = 20_000 if os.environ.get("TSPROXY_TEST") == "full" else 400


@pytest.mark.parametrize("kafka", BOTH_BROKERS, indirect=True)
async def test_the_proxy_answers_and_stores_what_the_broker_does(kafka: KafkaCluster):
    tally = await compare(kafka, seed="small", batches=BATCHES)
    assert not tally.unexplained, show(kafka.version, tally)
    assert not tally.stored_differing, show(kafka.version, tally)
    assert not tally.forwarded, "a batch that the limits forbid reached the broker"
    assert tally.stored > BATCHES // 10, "too few batches were good enough to be stored"
    assert tally.codes[32] > BATCHES // 10, "too few batches were rejected for their times"
