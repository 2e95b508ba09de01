"""A plug-in of pytest: `kafka`, `proxy`, `topic` and `certificates` in every test, without a conftest.py.

pytest loads it wherever tsproxy is installed (entry point `pytest11`). So it imports nothing but pytest and
pytest-asyncio before a test asks for a fixture. A fixture with the same name in a conftest.py or a test file
takes its place.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from hashlib import blake2s
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tsproxy.testing.certificates import CertificateAuthority
    from tsproxy.testing.kafka_cluster import KafkaCluster
    from tsproxy.testing.proxy import RunningProxy

_of_a_loop: Callable[..., Any] = pytest.fixture
with suppress(ImportError):  # without it pytest itself says that it cannot run an asynchronous fixture
    import pytest_asyncio

    _of_a_loop = pytest_asyncio.fixture


@pytest.fixture(scope="session")
def kafka() -> "Iterator[KafkaCluster]":
    """One plain broker for all tests, of the newest version that was tried. It belongs to no event loop."""
    from tsproxy.testing.kafka_cluster import KafkaCluster

    cluster = KafkaCluster()
    with asyncio.Runner() as runner:
        runner.run(cluster.__aenter__())
        try:
            yield cluster
        finally:
            runner.run(cluster.__aexit__(None, None, None))


@_of_a_loop
async def proxy(kafka: "KafkaCluster") -> "AsyncIterator[RunningProxy]":
    """A proxy in front of `kafka`, for one test."""
    from tsproxy.testing.proxy import RunningProxy

    async with RunningProxy(kafka.bootstrap_servers) as running:
        yield running


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name of the test's own, not created yet. It has at most 200 of Kafka's 249 characters, so that
    a test may append to it."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", f"{request.node.path.stem}.{request.node.name}")
    # The name leaves out the folder and the class, replaces signs, and is cut, so several tests may have it.
    digest = blake2s(request.node.nodeid.encode(errors="surrogateescape"), digest_size=4).hexdigest()
    return f"{name[:191].strip('-')}-{digest}"


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> "CertificateAuthority":
    """An authority that trusts nobody else and is trusted by nobody else."""
    from tsproxy.testing.certificates import CertificateAuthority

    return CertificateAuthority(tmp_path_factory.mktemp("certificates"))
