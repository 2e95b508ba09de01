"""An installed command, run in this process: the same exit code and texts without a start of Python."""

import io
import signal
import subprocess
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from importlib.metadata import entry_points
from unittest.mock import patch


def run_command(
    command: str, *arguments: object, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """How the installed `command arguments…` ends, as `subprocess.run` returns it.

    Only for what ends before it serves: `tsproxy run` with a mistake, and commands that print something.
    """
    words = [str(each) for each in arguments]
    at_hangup = signal.getsignal(signal.SIGHUP)
    with (
        redirect_stdout(io.StringIO()) as out,
        redirect_stderr(io.StringIO()) as err,
        patch.dict("os.environ", environment or {}),
    ):
        try:
            status: object = _main(command)(words)
        except SystemExit as end:  # argparse
            status = end.code
        finally:
            signal.signal(signal.SIGHUP, at_hangup)  # `run` ignores it while it starts
    assert status is None or isinstance(status, int)
    return subprocess.CompletedProcess([command, *words], status or 0, out.getvalue(), err.getvalue())


def _main(command: str) -> Callable[[list[str]], int | None]:
    (entry,) = entry_points(group="console_scripts", name=command)
    main: Callable[[list[str]], int | None] = entry.load()
    return main
