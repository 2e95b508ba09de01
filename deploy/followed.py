"""Runs a command that takes long, and shows how far it is: `followed`."""

import subprocess
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final, TextIO

from tsproxy.testing.jars import Shown

_SHOWN_EVERY_S: Final = 0.2


def followed(
    command: Sequence[str | PathLike[str]],
    so_far: Callable[[str], str],
    timeout_s: float,
    stream: TextIO | None = None,
) -> tuple[int, list[str]]:
    """The exit status of the command and the lines that it printed.

    `so_far` gets each of them as it comes, and returns what is shown now. Raises subprocess.TimeoutExpired
    after `timeout_s`; the command is killed then, and after any other error.
    """
    shown = Shown(stream)
    lines, said = list[str](), ""
    with subprocess.Popen(  # noqa: S603 - the caller's command line
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        try:
            for line in _lines(process):
                if shown.passed_s > timeout_s:
                    raise subprocess.TimeoutExpired(list(map(str, command)), timeout_s)
                if line is not None:
                    lines.append(line)
                    said = so_far(line)
                shown.show(said)
        except BaseException:
            process.kill()
            raise
        finally:
            shown.clear()
    return process.returncode, lines


def _lines(process: "subprocess.Popen[str]") -> Iterator[str | None]:
    """The lines of the process, and None each time that none has come for a moment."""
    queue: SimpleQueue[str | None] = SimpleQueue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            queue.put(line.rstrip("\n"))
        queue.put(None)

    Thread(target=read, daemon=True).start()
    while True:
        try:
            line = queue.get(timeout=_SHOWN_EVERY_S)
        except Empty:
            yield None
        else:
            if line is None:
                return
            yield line
