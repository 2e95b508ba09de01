"""Processes share a run (`pytest -n 4 -p tests.sharing`, as in `make test`): by whole files.

Two cores have four processes, since a process waits a third of its time for brokers, sockets and clocks. With
three, the cores were idle for a sixth of a run.

So a module's fixtures are set up once, and its tests keep their order. Tests that share something more
expensive than a module's fixtures stay together as well: a Spark session, or three brokers. Each process has
its own session fixtures; the plain brokers alone are the run's (`shared_brokers.py`).

The longest units start first, since a long one that started last would be waited for (`LONGEST`).
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests import shared_brokers

SPARK = "tests/spark_reports/"
SPARK_TABLES = "with Spark: tables, and reports on real brokers"
"""Two units have a Spark session each: with one, the others of a run would wait for it."""
CLUSTER = "tests/e2e/cluster/"
_OF_TABLES = ("compact", "daily_store", "inputs", "late_days", "store", "what_if")
TOGETHER = {
    **{f"{SPARK}test_{name}.py": SPARK_TABLES for name in _OF_TABLES},
    SPARK: SPARK,
    "rigs/truth/": SPARK_TABLES,
    "rigs/chaos/test_short.py": SPARK_TABLES,
    "rigs/incidents/test_ways_back.py": SPARK_TABLES,
    CLUSTER: CLUSTER,
}
"""The beginning of a test's path -> the unit of all tests that share one Spark session, or three brokers."""
APART = "tests/spark_reports/pure/"
"""The part of those of `TOGETHER` that needs nothing of them."""

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the longest units in front. All others stay in their order."""
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


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling:
    config.option.loadscopereorder = False  # it would sort by the number of tests
    return ByFile(config, log)


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
