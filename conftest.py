"""Fixtures that all tests share: real brokers and a Spark session. `tsproxy.testing.fixtures` has more.

A broker starts when the first test asks for it, and serves all processes of the run (`shared_brokers.py`). So
a test names its topics after itself (`topic`) and changes nothing that others see. A test that stops brokers
starts its own `KafkaCluster`. A cluster belongs to no event loop: tests use it from theirs.
"""

import gc
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from hypothesis import Phase, settings
from py4j.java_gateway import JavaClass, JavaMember, JVMView

from spark_reports.spark.session import spark_session
from tests import full_only, native_code
from tests.log_events.checked import check_all_lines
from tests.markers import add_markers, without_others
from tests.shared_brokers import NEVER_KILLED, attached
from tsproxy.testing.kafka_cluster import KafkaCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# TSPROXY_TEST: `make test-quick` draws fewer examples, `make test-full` more. No deadline: cores are shared.
settings.register_profile("quick", max_examples=25, deadline=None, print_blob=True)
settings.register_profile("fast", max_examples=50, deadline=None, print_blob=True)
settings.register_profile("full", max_examples=2_000, deadline=None, print_blob=True)
settings.register_profile(  # red is enough, and no mutant meets what another one has left
    "mutation", settings.get_profile("quick"), database=None, phases=[Phase.explicit, Phase.generate]
)
if os.environ.get("TSPROXY_TEST") == "full":
    os.environ.setdefault("PYTEST_TIMEOUT", "1800")  # forty times the examples
settings.load_profile(os.environ.get("TSPROXY_TEST") or "fast")

check_all_lines()

pytest_plugins = ["tsproxy.testing.fixtures"]  # by its entry point as well, where tsproxy is installed anew

# A program that a shell starts in the background ignores SIGINT, and so would all processes of the tests.
signal.signal(signal.SIGINT, signal.default_int_handler)


ROOM_FOR_QUERIES = (
    "--driver-memory 2g --conf spark.buffer.pageSize=1m --conf spark.sql.ui.retainedExecutions=10 "
    "--conf spark.ui.retainedJobs=10 --conf spark.ui.retainedStages=10"
)
"""A run makes thousands of queries in one session. Spark would keep a thousand for a page that nobody opens.
Each join would hold a page of 16 MB or more, which garbage collection would copy."""

ROOM_FOR_CLASSES = "-XX:MetaspaceSize=256m -XX:ReservedCodeCacheSize=240m"
"""Otherwise Java collects garbage each time that classes outgrow a small limit, and forgets compiled methods
when their 48 MB are full."""

CLASSES_AS_THEY_ARE = "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
"""Java checks the bytecode of each class of Spark's that it loads. That takes a tenth of the CPU of the tests
with Spark; sessions that a command starts still do it."""


NATIVE = Path(__file__).with_name("tsproxy")


def pytest_configure(config: pytest.Config) -> None:
    config.option.markexpr = without_others(config.option.markexpr)
    if stale := [*native_code.stale(NATIVE)]:
        names = ", ".join(source.name for source in stale)
        raise pytest.UsageError(
            f"The native code is older than its sources ({names}): make setup builds it anew."
        )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Garbage collection leaves alone what collecting the tests makes: it lives as long as the process.

    To go through nine thousand tests and all modules takes a quarter of a second each time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before pytest deselects by markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        add_markers(item)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def kafka_440(request: pytest.FixtureRequest) -> AsyncIterator[KafkaCluster]:
    """One plain Kafka 4.4.0 broker: by default no record may be over an hour ahead."""
    async with attached(request.config, "4.4.0") or KafkaCluster("4.4.0", properties=NEVER_KILLED) as kafka:
        yield kafka


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def kafka_431(request: pytest.FixtureRequest) -> AsyncIterator[KafkaCluster]:
    """One plain Kafka 4.3.1 broker: by default no record may be over an hour ahead."""
    async with attached(request.config, "4.3.1") or KafkaCluster("4.3.1", properties=NEVER_KILLED) as kafka:
        yield kafka


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def kafka_391(request: pytest.FixtureRequest) -> AsyncIterator[KafkaCluster]:
    """One plain Kafka 3.9.1 broker: by default any timestamp goes."""
    async with attached(request.config, "3.9.1") or KafkaCluster("3.9.1", properties=NEVER_KILLED) as kafka:
        yield kafka


@pytest.fixture(params=full_only.brokers("tests/verdicts and rigs/differential meet 3.9.1 as well"))
def kafka(request: pytest.FixtureRequest) -> KafkaCluster:
    """A broker of 4.4.0. `make test-full` runs the test against 3.9.1, too."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """One quiet local Spark session for all tests that need one: it takes seconds to start."""
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYSPARK_SUBMIT_ARGS", f"{ROOM_FOR_QUERIES} pyspark-shell")
            patch.setenv("SPARK_SUBMIT_OPTS", f"{ROOM_FOR_CLASSES} {CLASSES_AS_THEY_ARE}")
            session = stack.enter_context(spark_session("local[2]"))
        # To compile a query of a hundred rows, or to plan it again while it runs, costs ten times running it.
        # The tests that start the command itself do both.
        session.conf.set("spark.sql.codegen.wholeStage", "false")
        session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        session.conf.set("spark.sql.adaptive.enabled", "false")
        session.conf.set("spark.sql.shuffle.partitions", "1")
        for asked in (JVMView, JavaClass):
            stack.enter_context(remembered(asked))
        yield session


@contextmanager
def remembered(asked: type) -> Iterator[None]:
    """Inside the block, an object of py4j's asks the JVM once for each class or method.

    pyspark asks at each call of a function, which was a third of what it sends. The JVM searches its jars.
    """
    ask = asked.__getattr__

    def answer(self: Any, name: str) -> Any:
        found = ask(self, name)
        if isinstance(found, JavaClass | JavaMember):
            self.__dict__[name] = found
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asked, "__getattr__", answer)
        yield
