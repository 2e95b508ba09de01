"""Namespaces of Linux: a command that is the first process, or has a network of its own."""

import shutil
import subprocess
from collections.abc import Sequence
from typing import Final

import pytest

FIRST_PROCESS: Final = (
    "unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
)  # fmt: skip
"""The words before a command that is process 1, sees only its own processes, and may mount."""


def is_allowed(unshare: Sequence[str]) -> bool:
    """Whether the system lets this user run a command after these words."""
    if shutil.which(unshare[0]) is None:
        return False
    return subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode == 0


needs_namespaces = pytest.mark.skipif(
    not is_allowed(FIRST_PROCESS),
    reason="needs unshare (util-linux), and a system that lets its user make namespaces; as root it runs",
)
