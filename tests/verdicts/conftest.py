"""The fixtures of tests of whole requests: a topic with limits, and the two ways to its broker."""

import pytest

from rigs.differential.lines import Direct, Proxied, address_of
from tests.full_only import BOTH_BROKERS
from tests.verdicts.rows import DAY, HOUR, KEEP, KNOWN, limits
from tsproxy.model.view import View
from tsproxy.testing.kafka_cluster import KafkaCluster


@pytest.fixture(params=BOTH_BROKERS)
def kafka(request: pytest.FixtureRequest) -> KafkaCluster:
    return request.getfixturevalue(request.param)


@pytest.fixture
async def address(kafka: KafkaCluster, topic: str) -> tuple[str, int]:
    await kafka.create_topic(topic, partitions=3, config=KEEP | limits(DAY, HOUR))
    return address_of(kafka)


@pytest.fixture
def proxied(address: tuple[str, int], topic: str):
    with Proxied(address, View(topics={topic: KNOWN}, produce_versions=(0, 11))) as line:
        yield line


@pytest.fixture
def direct(address: tuple[str, int]):
    with Direct(address) as line:
        yield line
