"""One line of progress on a terminal, for commands that take longer than two seconds."""

import sys
from types import TracebackType
from typing import Final, Self

from tsproxy.clock import Clock

PATIENCE_MS: Final = 2_000
_BACK: Final = "\r\x1b[K"  # carriage return, erase to the end of the line


class Progress:
    """A callable for progress. It prints nothing if stderr is no terminal."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._due_ms = clock.monotonic_ms() + PATIENCE_MS
        self._has_printed = False

    def __call__(self, text: str) -> None:
        if sys.stderr.isatty() and self._clock.monotonic_ms() >= self._due_ms:
            print(f"{_BACK}{text}", end="", file=sys.stderr, flush=True)
            self._has_printed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._has_printed:
            print(_BACK, end="", file=sys.stderr, flush=True)
