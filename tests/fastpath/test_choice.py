"""Native code runs if it was built, and an installation with a compiler has it."""

import os
import subprocess
import sys
from shutil import which

import pytest

from tests.wire.readers.variants import native


def chosen(**environment: str) -> str:
    """The loop and the native code of a fresh process."""
    prints = (
        "from tsproxy import fastpath; from tsproxy.wire import readers; "
        "print(readers.NAME, fastpath.IS_AVAILABLE)"
    )
    return subprocess.run(
        [sys.executable, "-c", prints],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def test_native_code_can_be_turned_off():
    assert chosen(TSPROXY_NATIVE="off") == "python False"


@pytest.mark.skipif(which("cc") is None, reason="no C compiler here")
def test_the_native_code_was_built_and_is_the_default():
    assert native is not None, "the extension was not built: pip install --no-deps --no-build-isolation -e ."
    assert chosen(TSPROXY_NATIVE="") == "native True"
