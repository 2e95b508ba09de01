"""Ends what a cluster started and removes its data, however the owner goes: closed, killed, crashed.

Run as a program of its own: `python guard.py FOLDER`. It leads a process group that the brokers
join, and reads standard input, whose other end only the owner holds. At the end of that input the
owner is done, or dead; either way the group is killed and FOLDER removed. That is the only way a
cluster ends, so the path for accidents is the one that every test has walked.

Killed, not asked: the data goes too, and a broker whose quorum is gone would wait for minutes.
Standard library only, so that it starts in no time.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

_TRIES: Final = 500
_BETWEEN_TRIES_S: Final = 0.01


def start_guard(folder: Path) -> "subprocess.Popen[bytes]":
    """A guard over `folder`; its pid is the process group for others to join.

    `communicate()` ends it, and returns when the group is dead and the folder gone.
    """
    return subprocess.Popen(  # noqa: S603 - this very file
        [sys.executable, "-I", "-S", __file__, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,  # carries nothing: its end is the news that all is done
        process_group=0,
    )


def _guard(folder: Path) -> None:
    for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signal_number, signal.SIG_IGN)  # the owner's end is the only reason to end
    sys.stdin.buffer.read()
    group = os.getpgrp()
    # Who kills the group must stand outside it, and a group's leader cannot leave: its child can.
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.setsid()
    os.killpg(group, signal.SIGKILL)
    for _ in range(_TRIES):
        # A process that was just killed may still finish the write it was in.
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(_BETWEEN_TRIES_S)


if __name__ == "__main__":
    _guard(Path(sys.argv[1]))
