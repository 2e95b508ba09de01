"""`python -m deploy.spent COMMAND ...`: runs the command, then prints its time, its CPU and the load.

On a machine with other work, the time alone does not say what a run costs. The exit status is the command's.
"""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

_SET_CHILD_SUBREAPER: Final = 36
"""PR_SET_CHILD_SUBREAPER (`linux/prctl.h`): a process whose parent has ended becomes a child of this one."""


def spent(command: Sequence[str]) -> int:
    """The command's exit status; 128 and the signal's number if a signal ended it, as a shell tells it."""
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1)
    began_s = time.monotonic()
    with subprocess.Popen(command) as process:  # noqa: S603 - the caller's command line
        # Ctrl-C reaches the command as well, which ends in its own time.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        status = process.wait()
    took_s = time.monotonic() - began_s
    with suppress(ChildProcessError):  # brokers and Spark's Java, which nobody has waited for
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"Took {took_s:,.0f} s; {used.ru_utime + used.ru_stime:,.0f} s of CPU "
        f"(user {used.ru_utime:,.0f}, system {used.ru_stime:,.0f}); "
        f"load {os.getloadavg()[1]:.1f} in the last 5 minutes, on {os.cpu_count()} cores.",
        flush=True,
    )
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    raise SystemExit(spent(sys.argv[1:]))
