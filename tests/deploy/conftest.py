"""The images of proxy and reports."""

from collections.abc import Iterator

import pytest

from tests.deploy import images


@pytest.fixture(scope="session")
def proxy_image() -> Iterator[images.Image]:
    with images.built("proxy") as image:
        yield image


@pytest.fixture(scope="session")
def reports_image() -> Iterator[images.Image]:
    with images.built("reports") as image:
        yield image
