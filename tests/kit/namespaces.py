"""A namespace of Linux for one command, which is its first process."""

import shutil
import subprocess
from typing import Final

import pytest

FIRST_PROCESS: Final = (
    "unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
)  # fmt: skip
"""The words before a command that is process 1, sees only its own processes, and may mount."""


def _is_allowed() -> bool:
    if shutil.which(FIRST_PROCESS[0]) is None:
        return False
    return subprocess.run([*FIRST_PROCESS, "true"], capture_output=True, check=False).returncode == 0


needs_namespaces = pytest.mark.skipif(not _is_allowed(), reason="the system allows no namespaces (unshare)")
