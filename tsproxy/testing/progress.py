"""Shows how far a command is that downloads: one line that changes on a terminal, a line every few seconds
elsewhere."""

import sys
import time
from typing import Final, TextIO

_PRINT_INTERVAL_S: Final = 5.0
"""The time between two lines where output is no terminal."""
_TERMINAL_INTERVAL_S: Final = 0.2


class Shown:
    """The text about something that takes long: on a terminal in one line, elsewhere every few seconds."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._is_terminal = self._stream.isatty()
        self._began_s = time.monotonic()
        self._next_s = self._began_s + (0 if self._is_terminal else _PRINT_INTERVAL_S)

    @property
    def passed_s(self) -> float:
        return time.monotonic() - self._began_s

    def show(self, said: str) -> None:
        """Shows `said` and the seconds that have passed, if it is time."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._next_s = now_s + (_TERMINAL_INTERVAL_S if self._is_terminal else _PRINT_INTERVAL_S)
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
