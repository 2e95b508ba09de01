"""Ends a cluster's processes and removes its data when the owner ends: normally, killed or crashed.

It runs as a program of its own: `python guard.py FOLDER`. It leads a process group that the brokers join. It
reads standard input, whose other end only the owner holds. When that input ends, the owner has finished or
died. Then the guard kills the group and removes FOLDER. Every cluster ends in this way, so every test has
tested the case of a crash.

The guard sends SIGKILL: the data is deleted anyway, and a broker without a quorum would wait for minutes.
It uses only the standard library, so that it starts quickly.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

_TRIES: Final = 500
_BETWEEN_TRIES_S: Final = 0.01


def start_guard(folder: Path) -> "subprocess.Popen[bytes]":
    """Starts a guard for `folder`. Its pid is the process group that others join.

    `communicate()` ends it, and returns when the group has ended and the folder is removed.
    """
    return subprocess.Popen(  # noqa: S603 - this very file
        [sys.executable, "-I", "-S", __file__, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,  # carries nothing: its end says that the guard has finished
        process_group=0,
    )


def _guard(folder: Path) -> None:
    for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signal_number, signal.SIG_IGN)  # the owner's end is the only reason to end
    sys.stdin.buffer.read()
    group = os.getpgrp()
    # A process outside the group must kill it. The leader cannot leave its group, but its child can.
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


@asynccontextmanager
async def guarded_folder(prefix: str) -> AsyncIterator[tuple[Path, int]]:
    """A new temporary folder whose name begins with `prefix`, and a process group for its users.

    When the block ends, or this process dies, the guard kills the group and removes the folder.
    """
    import asyncio  # not above: the guard itself starts quickly
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix=prefix))
    guard = start_guard(folder)
    try:
        yield folder, guard.pid
    finally:
        # Started at once, so that not even a second cancellation can prevent the end.
        ending = asyncio.get_running_loop().run_in_executor(None, guard.communicate)
        await asyncio.shield(ending)


if __name__ == "__main__":
    _guard(Path(sys.argv[1]))
