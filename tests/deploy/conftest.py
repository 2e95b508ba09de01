"""Leaves the tests that need Go's tools to `make test-deploy`, where Go builds the tools."""

import pytest

from tests.deploy import go_tools


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if go_tools.ARE_WANTED:
        return
    needing = [item for item in items if item.get_closest_marker("go_tools")]
    if needing:
        config.hook.pytest_deselected(items=needing)
        items[:] = [item for item in items if item not in needing]
