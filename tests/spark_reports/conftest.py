"""Tests with the fixture `spark` wait longer."""

import pytest


def pytest_collection_modifyitems(items):
    """Whoever asks for Spark needs Spark, and patience where the machine is busy with other things."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
            item.add_marker(pytest.mark.timeout(1_800))
