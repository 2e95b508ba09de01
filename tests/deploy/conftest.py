"""Leaves the tests that need Go's tools to `make test-deploy`, where Go builds the tools."""

import pytest

from tests.deploy import go_tools
from tests.markers import leave_out


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not go_tools.ARE_WANTED:
        leave_out(config, items, "go_tools")
