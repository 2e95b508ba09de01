"""The exit codes of commands, and what is done with output that cannot be written."""

import os
import sys
from typing import Final

OK: Final = 0
FAILED: Final = 1
MISTAKEN: Final = 2
"""Wrong usage or configuration."""
TRIPPED: Final = 3
"""A quality gate (`--fail-on`) failed."""
INTERRUPTED: Final = 130
"""Ctrl-C ended a command, as shells say it."""


def drop_output() -> None:
    """Write the rest of standard output nowhere: Python would report it again at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
