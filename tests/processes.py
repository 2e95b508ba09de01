"""Other processes, as the system tells of them."""

import os
from pathlib import Path

_PROC = Path("/proc")


def is_alive(pid: int) -> bool:
    """Whether it runs. A zombie has a number still; it waits for its parent to look, and holds nothing."""
    try:
        os.kill(pid, 0)
        return not _PROC.exists() or (_PROC / f"{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
