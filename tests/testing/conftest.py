"""The tests of `tsproxy.testing` run with Kafka 4.4.0; with TSPROXY_TEST=full with 3.9.1, too."""

import pytest

from tests.testing.versions import VERSIONS
from tsproxy.testing.kafka_cluster import KafkaCluster

FIXTURES = [f"kafka_{version.replace('.', '')}" for version in VERSIONS]


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.broker) for name in FIXTURES])
def kafka(request: pytest.FixtureRequest) -> KafkaCluster:
    """The run's broker of each of the versions."""
    return request.getfixturevalue(request.param)
