"""Three brokers that are stopped, moved and restarted here; each test leaves all of them running."""

import pytest_asyncio

from tsproxy.testing.kafka_cluster import KafkaCluster

HIDDEN = "localhost"
"""What the brokers say of themselves, so that a client which is told it has been told too much."""


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def three_brokers():
    async with KafkaCluster(nodes=3, advertised_host=HIDDEN) as kafka:
        yield kafka
