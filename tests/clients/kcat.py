"""kcat, if the system has it: packages of Python, Go and Node do not contain it."""

import shutil

import pytest

KCAT = "kcat"
PATH = shutil.which(KCAT)
needs_kcat = pytest.mark.skipif(
    PATH is None,
    reason="no kcat here (apt-get install kcat); librdkafka, which it consists of, is tested without it",
)
