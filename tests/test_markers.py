"""Which tests are marked `broker` or `spark`."""

from types import SimpleNamespace

import pytest

from spark_reports.spark.session import spark_session
from tests.markers import add_markers
from tests.test_imports import loaded_by
from tsproxy.testing.kafka_cluster import KafkaCluster


async def in_its_body():
    async with KafkaCluster():
        pass


def a_session():
    with spark_session("local[1]") as session:
        yield session


def that_makes_no_sense():
    KafkaCluster(security="TLS")


@pytest.mark.parametrize(
    ("function", "fixtures", "markers"),
    [
        (in_its_body, (), ["broker"]),
        (loaded_by, (in_its_body,), ["broker"]),
        (loaded_by, (a_session,), ["spark"]),
        (that_makes_no_sense, (), []),
    ],
)
def test_a_test_is_marked_by_what_it_and_its_fixtures_start(function, fixtures, markers):
    found = []
    definitions = {str(n): [SimpleNamespace(func=each)] for n, each in enumerate(fixtures)}
    item = SimpleNamespace(
        function=function, _fixtureinfo=SimpleNamespace(name2fixturedefs=definitions), add_marker=found.append
    )
    add_markers(item)
    assert found == markers
