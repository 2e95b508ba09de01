"""Three brokers that are stopped, moved and restarted here; each test leaves all of them running."""

import pytest_asyncio

from tsproxy.testing.kafka_cluster import KafkaCluster

HIDDEN = "localhost"
"""The names that the brokers use for themselves. No client may be told one of them."""


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def three_brokers():
    async with KafkaCluster(nodes=3, advertised_host=HIDDEN) as kafka:
        yield kafka
