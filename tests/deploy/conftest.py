"""Leaves the tests that need Go's tools to `make test-deploy`, where Go builds the tools."""

from collections.abc import Iterator

import pytest

from tests.deploy import go_tools, images
from tests.markers import leave_out


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not go_tools.ARE_WANTED:
        leave_out(config, items, "go_tools")


@pytest.fixture(scope="session")
def proxy_image() -> Iterator[images.Image]:
    with images.built("proxy") as image:
        yield image


@pytest.fixture(scope="session")
def reports_image() -> Iterator[images.Image]:
    with images.built("reports") as image:
        yield image
