"""Tests with the fixture `spark` wait longer."""

import os

import pytest

from spark_reports.spark import class_archive

_CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
os.environ.setdefault(class_archive.PLACE, os.path.join(_CACHE, "tsproxy", "spark-classes"))
"""Tests start Spark many times; with the archive each start takes a third less CPU."""


def pytest_collection_modifyitems(items):
    """Tests that use Spark need Spark, and more time on a busy machine."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
            item.add_marker(pytest.mark.timeout(1_800))
