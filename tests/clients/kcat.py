"""kcat, if the system has it: packages of Python, Go and Node do not contain it."""

import shutil

import pytest

KCAT = "kcat"
PATH = shutil.which(KCAT)
needs_kcat = pytest.mark.skipif(
    PATH is None,
    reason="kcat is not installed (apt-get install kcat). It runs librdkafka, which other tests run, too",
)
