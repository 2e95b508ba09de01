"""Progress on a terminal: one line, which is written over itself."""

import os
import pty
import re
import sys
import termios
from contextlib import contextmanager, suppress

import pytest
from py4j.protocol import Py4JNetworkError

from spark_reports.commands.progress import Progress


@contextmanager
def a_terminal():
    """Standard error is a terminal of 60 columns. Yields a list, which holds what was written at the end."""
    reading, writing = pty.openpty()
    attributes = termios.tcgetattr(writing)
    attributes[1] &= ~termios.OPOST  # what is written comes out as it is
    termios.tcsetattr(writing, termios.TCSANOW, attributes)
    found = []
    with pytest.MonkeyPatch.context() as patch, os.fdopen(writing, "w", encoding="utf-8") as stream:
        patch.setattr(sys, "stderr", stream)
        patch.setenv("COLUMNS", "60")
        yield found
    written = b""
    with suppress(OSError):  # so a closed terminal ends
        while some := os.read(reading, 65_536):
            written += some
    os.close(reading)
    found += written.decode().split("\r\x1b[K")


def wait_for(condition):
    while not condition():
        pass


def test_the_line_says_what_is_done_and_how_many_tasks_and_is_empty_at_the_end():
    asked = []

    def tasks():
        asked.append(len(asked))
        return len(asked), 96

    with a_terminal() as lines:
        progress = Progress(is_shown=True, every_s=0.05)
        progress.watch(tasks)
        progress.show("writing the table")
        wait_for(lambda: len(asked) > 2)
        progress.show("making the report of 2026-11-20")
        wait_for(lambda: len(asked) > 4)
        progress.clear()
    assert not any("\n" in line for line in lines)
    assert re.fullmatch(r"writing the table … \(1 of 96 tasks, \d+ s\)", lines[1])
    assert any(line.startswith("making the report of 2026-11-20 … (") for line in lines)
    assert lines[-1] == ""


def test_a_line_is_never_longer_than_the_terminal_which_would_scroll():
    with a_terminal() as lines:
        progress = Progress(is_shown=True)
        progress.show("x" * 200)
        progress.clear()
    assert max(map(len, lines)) == 59


@pytest.mark.parametrize("error", [ConnectionRefusedError, Py4JNetworkError])
def test_a_session_that_ends_meanwhile_is_no_error_of_its_own(error):
    def gone():
        raise error

    with a_terminal() as lines:
        progress = Progress(is_shown=True)
        progress.watch(gone)
        progress.show("reading")
        progress.clear()
    assert lines[1].startswith("reading … (0 s)")


def test_nothing_is_written_if_nobody_looks():
    with a_terminal() as lines:
        progress = Progress(is_shown=False)
        progress.show("reading")
        progress.clear()
    assert lines == [""]
