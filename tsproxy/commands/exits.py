"""The exit codes of commands."""

from typing import Final

OK: Final = 0
FAILED: Final = 1
MISTAKEN: Final = 2
"""Wrong usage or configuration."""
TRIPPED: Final = 3
"""A quality gate (`--fail-on`) failed."""
INTERRUPTED: Final = 130
"""Ctrl-C ended a command, as shells say it."""
