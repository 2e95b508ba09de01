"""Processes share a run (`pytest -n 4 -p tests.sharing`, as in `make test`): by whole files.

Two cores have four processes, since a process waits a third of its time for brokers, sockets and clocks. With
three, the cores were idle for a sixth of a run.

So a module's fixtures are set up once, and its tests keep their order. Tests that share something more
expensive than a module's fixtures stay together as well: a Spark session, or three brokers. Each process has
its own session fixtures; the plain brokers alone are the run's (`shared_brokers.py`).

The longest units start first, since a long one that started last would be waited for (`LONGEST`).
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import execnet
import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests import shared_brokers

SPARK = "tests/spark_reports/"
SPARK_TABLES = "with Spark: tables, and reports on real brokers"
WITH_SPARK = (SPARK, SPARK_TABLES)
"""A session costs a quarter of a minute of CPU: its start, and the first command, for which Java loads and
compiles most of Spark. With two of them, the others of a run do not wait for one long unit."""
CLUSTER = "tests/e2e/cluster/"
_OF_TABLES = ("compact", "daily_store", "inputs", "late_days", "store", "what_if")
TOGETHER = {
    **{f"{SPARK}test_{name}.py": SPARK_TABLES for name in _OF_TABLES},
    SPARK: SPARK,
    "tests/e2e/test_seconds.py": SPARK_TABLES,
    "rigs/truth/": SPARK_TABLES,
    "rigs/chaos/test_short.py": SPARK_TABLES,
    "rigs/incidents/test_ways_back.py": SPARK_TABLES,
    CLUSTER: CLUSTER,
}
"""The beginning of a test's path -> the unit of all tests that share one Spark session, or three brokers."""
APART = ("tests/spark_reports/pure/", "tests/spark_reports/test_submit.py")
"""The parts of those of `TOGETHER` that need nothing of them. The last one starts Sparks of its own."""

LONGEST = (
    SPARK_TABLES,
    SPARK,
    CLUSTER,
    "tests/demo/test_demo.py",
    "tests/testing/test_kafka_cluster.py",
    "tests/doctor/test_cluster.py",
    "tests/proxy/test_mixed_cluster.py",
    "tests/proxy/test_process.py",
    "tests/e2e/test_principals.py",
    "tests/attacks/test_memory_limit.py",
)
"""The units that start first, in this order."""

_folder = pytest.StashKey[Path]()
"""The file that names the brokers which the processes share."""

EVERYTHING = "tsproxy_everything"
"""A worker's input: True if the run collects all tests."""


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[object]:
    """Imports all tests, each process beginning elsewhere.

    pytest rewrites the asserts of each file that it imports for the first time. That takes twice as long as
    to collect the tests, and all processes would do it for the same file at the same time. Now each finds
    what the others have left in `__pycache__`.
    """
    worker = getattr(session.config, "workerinput", {})
    if worker.get(EVERYTHING):
        files = sorted(Path(__file__).parent.rglob("test_*.py"))
        first = int(worker["workerid"].removeprefix("gw")) * len(files) // worker["workercount"]
        for path in files[first:] + files[:first]:
            name = ".".join(path.relative_to(session.config.rootpath).with_suffix("").parts)
            with suppress(Exception, pytest.skip.Exception):  # collecting meets it again, and reports it
                importlib.import_module(name)
    try:
        return (yield)
    except pytest.UsageError as error:
        if worker:  # xdist tells that a process has ended, not why
            with session.config.pluginmanager.get_plugin("capturemanager").global_and_fixture_disabled():
                print(f"ERROR: {error}", file=sys.stderr, flush=True)
        raise


@pytest.hookimpl(tryfirst=True)  # so that `make test` reads the tests of `make test-full`, too
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the longest units in front. All others stay in their order.

    Raises UsageError for a test that would start one more Spark session.
    """
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) and unit_of(item.nodeid) not in WITH_SPARK:
            raise pytest.UsageError(f"{item.nodeid} asks for Spark: add its file to TOGETHER")
    turns = {unit: turn for turn, unit in enumerate(LONGEST)}
    items.sort(key=lambda item: turns.get(unit_of(item.nodeid), len(turns)))


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Iterator[None]:
    """The process that gives out the units owns the folder for the whole run."""
    with shared_brokers.folder_of_a_run() as folder:
        config.stash[_folder] = folder
        return (yield)


def pytest_configure_node(node: WorkerController) -> None:
    node.workerinput[shared_brokers.KEY] = str(node.config.stash[_folder])
    node.workerinput[EVERYTHING] = node.config.args_source is pytest.Config.ArgsSource.TESTPATHS


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling:
    config.option.loadscopereorder = False  # it would sort by the number of tests
    return ByFile(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Each event of a process reaches the one that gives out the units.

    execnet refuses text with half of a surrogate pair, as a name of bytes that are no UTF-8 has. xdist then
    ends the process, and neither the failed test nor the rest of its file is named.
    """
    if hasattr(session.config, "workerinput"):
        teller = next(
            each for each in session.config.pluginmanager.get_plugins() if hasattr(each, "sendevent")
        )
        send = teller.sendevent

        def tell(name: str, **told: object) -> None:
            try:
                send(name, **told)
            except execnet.DumpError:
                send(name, **_sendable(told))

        teller.sendevent = tell


def _sendable(told: Any) -> Any:
    if isinstance(told, str):
        return told.encode("utf-8", "backslashreplace").decode()
    if isinstance(told, dict):
        return {_sendable(name): _sendable(value) for name, value in told.items()}
    if isinstance(told, list | tuple):
        return type(told)(map(_sendable, told))
    return told if isinstance(told, bool | int | float | bytes | None) else repr(told)


class ByFile(LoadScopeScheduling):
    """Gives one unit after the other to the process that is free."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)


def unit_of(nodeid: str) -> str:
    """The unit of a test, which one process takes as a whole: its file, or what `TOGETHER` says."""
    path = nodeid.partition("::")[0]
    if path.startswith(APART):
        return path
    return next((unit for start, unit in TOGETHER.items() if path.startswith(start)), path)
