"""A command that downloads says how far it is, in a line that changes or a line now and then."""

import os
import pty
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from deploy.followed import followed
from deploy.install import SoFar
from tsproxy.testing import jars

ROOT = Path(__file__).parents[2]
SLOW = "import time\nfor each in 'abc': print(each, flush=True); time.sleep(0.3)\nraise SystemExit(3)"


def test_a_command_without_a_terminal_gets_whole_lines_and_its_status_and_lines_come_back(monkeypatch):
    monkeypatch.setattr(jars, "_PRINT_INTERVAL_S", 0.1)
    seen = StringIO()

    status, lines = followed([sys.executable, "-c", SLOW], lambda line: f"at {line}", 60, seen)

    assert (status, lines) == (3, ["a", "b", "c"])
    assert re.search(r"^  at b, \d+ s$", seen.getvalue(), re.MULTILINE)
    assert "\x1b" not in seen.getvalue()


def test_on_a_terminal_one_line_changes_and_is_gone_at_the_end():
    main, other = pty.openpty()
    with open(other, "w") as terminal, open(main, "rb", buffering=0) as screen:
        followed([sys.executable, "-c", SLOW], lambda line: f"at {line}", 60, terminal)
        seen = os.read(screen.fileno(), 65_536)
        while not seen.endswith(b"\r\x1b[K") or b"at c" not in seen:  # the terminal hands it over in parts
            seen += os.read(screen.fileno(), 65_536)

    assert re.search(rb"\r\x1b\[K  at a, \d+ s", seen)
    assert b"\n" not in seen


def test_a_command_that_takes_too_long_is_killed():
    with pytest.raises(subprocess.TimeoutExpired):
        followed([sys.executable, "-c", "import time; time.sleep(60)"], str, 0.1, StringIO())


def test_pips_lines_become_packages_and_megabytes():
    so_far = SoFar(packages=2, modules=0)

    for line in (
        "Collecting lz4==4.4.5 (from -r requirements.lock (line 3))",
        "  Downloading lz4-4.4.5-cp311-cp311-manylinux_2_28_x86_64.whl (1.4 MB)",
        "Requirement already satisfied: pip in /somewhere",
        "Collecting pyspark==4.0.1 (from -r requirements.lock (line 9))",
    ):
        so_far(line)

    assert so_far("  Downloading pyspark-4.0.1.tar.gz (434.2 MB)") == (
        "2 of 2 packages, 436 MB, now pyspark (434.2 MB)"
    )
    assert so_far("Building wheels for collected packages: pyspark").endswith(" MB, building pyspark")
    assert so_far("Installing collected packages: pyspark, lz4").endswith(" MB, unpacking")


def test_the_modules_that_pip_compiles_are_counted_by_its_own_words():
    so_far = SoFar(packages=0, modules=18)

    assert so_far("Obtaining file:///work/tsproxy") == ""
    so_far("  building 'tsproxy.fastpath._native.counts' extension")
    so_far("  building 'tsproxy.wire.readers._native.zstd' extension")
    assert so_far("  gcc -Wsign-compare -DNDEBUG -O3 -c zstd.c -o zstd.o") == (
        "compiling native module 2 of 18, tsproxy.wire.readers._native.zstd"
    )


def test_make_setup_installs_nothing_in_silence():
    """Compiling took two minutes without a word on a slow machine, and so did the package of a compiler."""
    recipe = (ROOT / "Makefile").read_text().partition("\n.venv/stamp:")[2].partition("\n\n")[0]
    assert recipe.count("-m deploy.install ") == 3
    assert "-m pip" not in recipe
