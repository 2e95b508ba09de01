"""Leaves the tests of clients in Go and JavaScript to `make test-clients`."""

import pytest

from tests.clients.families import chosen
from tests.markers import leave_out


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not any(family.needs for family in chosen("4.4.0")):
        leave_out(config, items, "go_and_node")
