"""Tests with the fixture `spark` wait longer."""

import os
from pathlib import Path

import pytest

from spark_reports.spark import class_archive

_CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
SHARED = Path(_CACHE, "tsproxy", "spark-classes")
"""The archive of this environment, if `make test-full` has left one: each start of Spark takes a third less
CPU with it. `make test` makes none. That takes more CPU than it saves in a whole run."""
os.environ.setdefault(class_archive.PLACE, str(SHARED))
if class_archive.mapped() is None:
    os.environ[class_archive.PLACE] = ""


def pytest_collection_modifyitems(items):
    """Tests that use Spark need Spark, and more time on a busy machine."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
            item.add_marker(pytest.mark.timeout(1_800))
