"""Shows how far a command is that downloads: one line that changes on a terminal, a line every few seconds
elsewhere."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final, TextIO

_EVERY_S: Final = 5.0
"""The time between two lines where output is no terminal."""
_TERMINAL_EVERY_S: Final = 0.2


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
            line = queue.get(timeout=_TERMINAL_EVERY_S)
        except Empty:
            yield None
        else:
            if line is None:
                return
            yield line


class Shown:
    """The text about something that takes long: on a terminal in one line, elsewhere every few seconds."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._is_terminal = self._stream.isatty()
        self._began_s = time.monotonic()
        self._next_s = self._began_s + (0 if self._is_terminal else _EVERY_S)

    @property
    def passed_s(self) -> float:
        return time.monotonic() - self._began_s

    def show(self, said: str) -> None:
        """Shows `said` and the seconds that have passed, if it is time."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._next_s = now_s + (_TERMINAL_EVERY_S if self._is_terminal else _EVERY_S)
        text = f"  {said}{', ' if said else ''}{now_s - self._began_s:.0f} s"
        print(
            f"\r\x1b[K{text}" if self._is_terminal else text,
            end="" if self._is_terminal else "\n",
            file=self._stream,
            flush=True,
        )

    def clear(self) -> None:
        """Removes the line from a terminal."""
        if self._is_terminal:
            print("\r\x1b[K", end="", file=self._stream, flush=True)
