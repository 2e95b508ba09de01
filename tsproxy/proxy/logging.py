"""The operators' log: one event per line on stderr, as JSON or, on a terminal, as readable text.

Events are `snake_case_past_tense` with facts as key-values. Errors come without local variables, which may
hold a client's data. If the log cannot be written, connections still work.
"""

import contextlib
import json
import logging
import sys
import threading
import time
from collections import deque
from enum import StrEnum
from typing import Any, Final, TextIO, cast

import orjson
import structlog
from structlog.typing import EventDict, Processor

from tsproxy.config.settings import LogLevel
from tsproxy.log_events.catalogue import LIBRARY_COMPLAINED, LOG_LINES_LOST
from tsproxy.proxy.notes import frames_of

MAX_WAITING: Final = 1 << 20
"""The characters that may wait to be written."""


WRITE_S: Final = 0.05
SLOW_S: Final = 0.01


class LogFormat(StrEnum):
    AUTO = "auto"
    CONSOLE = "console"
    JSON = "json"


class LineWriter:
    """Writes lines to a stream, in order, in a thread: nobody waits for a pipe that is not read.

    Usually a line is written before `write` returns: other processes write there, too, and whoever sees an
    effect finds its line. After a slow line nobody waits for a second, so a slow reader costs the loop at
    most WRITE_S a second.

    If the stream fails (a closed pipe, a full disk), lines are lost, and nothing else fails. Lines beyond
    MAX_WAITING are lost, and counted in the next line (`log_lines_lost`).
    """

    def __init__(self, stream: TextIO) -> None:
        self._changed = threading.Condition()
        self._lost = 0
        self._may_wait_s = 0.0
        self._size = 0
        self._stream = stream
        self._waiting = deque[str]()
        threading.Thread(target=self._run, name="log", daemon=True).start()

    def write(self, line: str) -> None:
        with self._changed:
            if self._size + len(line) > MAX_WAITING:
                self._lost += 1
                return
            is_first = self._size == 0
            self._size += len(line)
            self._waiting.append(line)
            self._changed.notify_all()
            began_s = time.monotonic()
            if is_first and began_s >= self._may_wait_s:
                self._changed.wait_for(lambda: self._size == 0, WRITE_S)
                if time.monotonic() - began_s > SLOW_S:
                    self._may_wait_s = began_s + 1.0

    def flush(self) -> None:
        """Structlog calls this after each line. It does nothing: the thread flushes."""

    def finish(self, patience_s: float = 2.0) -> None:
        """Wait until all lines are written, for `patience_s` at most."""
        with self._changed:
            self._changed.wait_for(lambda: self._size == 0, patience_s)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                line = self._waiting.popleft()
            with contextlib.suppress(OSError, ValueError):
                self._stream.write(line)
                self._stream.flush()
            with self._changed:
                lost, self._lost = self._lost, 0
            if lost:
                LOG_LINES_LOST(lines=lost)
            with self._changed:
                self._size -= len(line)
                self._changed.notify_all()


_LEVELS: Final = {
    # aiokafka's failures reach us as exceptions, and we log these. At DEBUG aiokafka prints SASL tokens.
    "aiokafka": logging.CRITICAL,
    "asyncio": logging.WARNING,
}


def set_level(level: LogLevel) -> None:
    """From now on, log nothing below this level."""
    least = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(least))


def configure_logging(
    log_format: LogFormat, worker: int | None = None, level: LogLevel = LogLevel.INFO
) -> LineWriter:
    """Set up structlog, and redirect the standard library's logging to it. Call `finish` of the result before
    the process ends.

    `worker` is the number of this process if it is one of several. Every line then contains this number.
    """
    is_console = log_format is LogFormat.CONSOLE or (log_format is LogFormat.AUTO and sys.stderr.isatty())
    renderer: Processor = (
        # Texts as literals: a line break in a client's text must not begin a new line.
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback, repr_native_str=True)
        if is_console
        else structlog.processors.JSONRenderer(_encode)
    )
    writer = LineWriter(sys.stderr)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _lead,
            *([] if worker is None else [_number(worker)]),
            renderer,
        ],
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", writer)),
        cache_logger_on_first_use=False,
    )
    set_level(level)
    root = logging.getLogger()
    root.handlers[:] = [_IntoStructlog()]
    root.setLevel(logging.WARNING)
    for name, least in _LEVELS.items():
        logging.getLogger(name).setLevel(least)
    return writer


class _IntoStructlog(logging.Handler):
    """Turns log records of libraries into our events."""

    def emit(self, record: logging.LogRecord) -> None:
        facts: dict[str, Any] = {"library": record.name, "text": record.getMessage()}
        if record.exc_info and record.exc_info[1]:
            facts |= {"error": type(record.exc_info[1]).__name__, "frames": frames_of(record.exc_info[1])}
        level = logging.ERROR if record.levelno >= logging.ERROR else logging.WARNING
        structlog.get_logger().log(level, LIBRARY_COMPLAINED.name, **facts)


def _lead(_: Any, __: str, event: EventDict) -> EventDict:
    """Move the fields that every line has to the beginning of the line."""
    return {
        "timestamp": event.pop("timestamp"),
        "level": event.pop("level"),
        "event": event.pop("event"),
        **event,
    }


def _number(worker: int) -> Processor:
    def add(_: Any, __: str, event: EventDict) -> EventDict:
        event["worker"] = worker
        return event

    return add


def _encode(event: Any, **_: Any) -> str:  # structlog's signature for serializers
    try:
        return orjson.dumps(event, default=str).decode()
    except TypeError:  # a text with half a surrogate pair, which a client may send
        return json.dumps(event, default=str)
