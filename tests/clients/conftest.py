"""Leaves the tests of clients in Go and JavaScript to `make test-clients`."""

import pytest

from tests.clients.families import chosen


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if any(family.needs for family in chosen("4.3.1")):
        return
    needing = [item for item in items if item.get_closest_marker("go_and_node")]
    if needing:
        config.hook.pytest_deselected(items=needing)
        items[:] = [item for item in items if item not in needing]
