"""The guard of the quick set: a test without the marker `broker` or `spark` fails if it starts Java."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from spark_reports.spark.session import spark_session
from tests.markers import NoJava, add_markers, needs_java
from tests.test_imports import loaded_by
from tsproxy.testing.java import JavaError, find_java
from tsproxy.testing.kafka_cluster import KafkaCluster


def test_this_test_finds_no_java():
    guard = NoJava()
    with guard.in_place(), pytest.raises(JavaError, match="does not tell its version"):
        find_java()
    with pytest.raises(
        pytest.fail.Exception, match=r"mark this test broker or spark. It started\njava -version"
    ):
        guard.check()
    guard.check()  # each start fails one test


def test_a_process_that_a_test_starts_finds_no_java_either():
    guard = NoJava()
    with guard.in_place():
        subprocess.run([sys.executable, "-c", "import os; os.system('java -jar x')"], capture_output=True)
    with pytest.raises(pytest.fail.Exception, match="java -jar x"):
        guard.check()


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


def test_this_test_is_of_the_quick_set(request):
    assert not needs_java(request.node)
