"""Fixtures that every room's tests share: real brokers, and a certificate authority.

A broker starts when the first test asks for it and serves the whole run, so a test names its topics
after itself (`topic`) and changes nothing that others see. A test that stops brokers starts its own
`KafkaCluster`. A cluster belongs to no event loop: tests use it from theirs.
"""

import os
import re
import signal
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from hypothesis import settings

from tsproxy.testing.certificates import CertificateAuthority
from tsproxy.testing.kafka_cluster import KafkaCluster

KAFKA_FIXTURES = ("kafka_431", "kafka_391")

# TSPROXY_TEST=full looks twenty times as long. No deadline: cores are shared.
settings.register_profile("fast", max_examples=100, deadline=None, print_blob=True)
settings.register_profile("full", max_examples=2_000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("TSPROXY_TEST") or "fast")

# What a shell starts in the background ignores SIGINT, and so would all processes that tests send one to.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whoever asks for a broker needs a broker: the marker follows from the fixture."""
    for item in items:
        if {"kafka", *KAFKA_FIXTURES} & set(getattr(item, "fixturenames", ())):
            item.add_marker("broker")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def kafka_431() -> AsyncIterator[KafkaCluster]:
    """One plain Kafka 4.3.1 broker: by default no record may be over an hour ahead."""
    async with KafkaCluster(version="4.3.1") as kafka:
        yield kafka


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def kafka_391() -> AsyncIterator[KafkaCluster]:
    """One plain Kafka 3.9.1 broker: by default any timestamp goes."""
    async with KafkaCluster(version="3.9.1") as kafka:
        yield kafka


@pytest.fixture(params=KAFKA_FIXTURES)
def kafka(request: pytest.FixtureRequest) -> KafkaCluster:
    """The test runs twice: against Kafka 4.3.1 and against 3.9.1."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name of the test's own, not created yet."""
    name = f"{request.node.path.stem}.{request.node.name}"
    return re.sub(r"[^A-Za-z0-9._-]", "-", name).strip("-")[:200]


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    """An authority that trusts nobody else and is trusted by nobody else."""
    return CertificateAuthority(tmp_path_factory.mktemp("certificates"))
