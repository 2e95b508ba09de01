"""Which variant runs, and that an install with a compiler has the native one."""

import os
import subprocess
import sys
from shutil import which

import pytest

from tests.kernel.variants import native


def chosen(**environment: str) -> str:
    """The name of the variant that a fresh process runs on."""
    return subprocess.run(
        [sys.executable, "-c", "from tsproxy.wire import kernel; print(kernel.NAME)"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def test_the_twin_runs_when_asked_for():
    assert chosen(TSPROXY_KERNEL="twin") == "twin"


@pytest.mark.skipif(which("cc") is None, reason="no C compiler here: the twin alone is installed")
def test_the_native_kernel_was_built_and_is_the_default():
    assert native is not None, "the extension was not built: pip install --no-deps --no-build-isolation -e ."
    assert chosen(TSPROXY_KERNEL="") == "native"
