"""The exit codes of both commands, their end by SIGTERM, and output that cannot be written."""

import os
import signal
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import Final

OK: Final = 0
FAILED: Final = 1
MISTAKEN: Final = 2
"""Wrong usage or configuration."""
TRIPPED: Final = 3
"""A quality gate (`--fail-on`) failed, or the evidence of a report is incomplete."""
INTERRUPTED: Final = 130
"""Ctrl-C ended a command, as shells say it."""


def end_at_sigterm() -> None:
    """Make SIGTERM end this process even if it is the first one of a container, until somebody handles it.

    Linux drops what process 1 has no handler for, so a stop in the seconds of the imports would be lost.
    """
    if os.getpid() == 1:
        signal.signal(signal.SIGTERM, lambda number, _: os._exit(128 + number))


def print_any_sign() -> None:
    """From now on, standard output has a question mark for each sign that its encoding lacks. Python's own
    standard error never fails for one."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def flush_output() -> None:
    """Write what standard output still holds, and nothing more if that fails: Python would report it again
    at its exit."""
    try:
        print(end="", flush=True)  # `flush` alone finds no closed terminal if nothing is left to write
    except OSError:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
