"""How two processes share a run (`pytest -n 2 -p tests.sharing`, as in `make test`): by whole files.

What a module sets up is so set up once, and its tests keep their order. Folders that share something
dearer stay together as well. The dearest of them goes first: begun last, it would be waited for.
Each process has the session's fixtures, brokers among them, for itself.
"""

import pytest
from xdist.scheduler import LoadScopeScheduling

TOGETHER = (
    "tests/spark_reports/",  # one Spark session
    "tests/e2e/cluster/",  # three brokers
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the dearest in front; all else stays in its order."""
    items.sort(key=lambda item: unit_of(item.nodeid) != TOGETHER[0])


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling:
    config.option.loadscopereorder = False  # it would go by the number of tests
    return ByFile(config, log)


class ByFile(LoadScopeScheduling):
    """Gives one unit after the other to whoever is free."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)


def unit_of(nodeid: str) -> str:
    """What one process takes as a whole: a file, or a folder of `TOGETHER`."""
    path = nodeid.partition("::")[0]
    return next((folder for folder in TOGETHER if path.startswith(folder)), path)
