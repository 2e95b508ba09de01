"""Tests with the fixture `spark` wait longer."""

import pytest


def pytest_collection_modifyitems(items):
    """Tests that use Spark need Spark, and more time on a busy machine."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
            item.add_marker(pytest.mark.timeout(1_800))
