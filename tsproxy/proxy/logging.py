"""The operators' log: one event per line on stderr, as JSON or, on a terminal, as readable text.

Events are `snake_case_past_tense` with facts as key-values. Errors come without local variables, which may
hold a client's data. If the log cannot be written, connections still work.
"""

import contextlib
import json
import logging
import sys
from enum import StrEnum
from typing import Any, Final, TextIO, cast

import orjson
import structlog
from structlog.typing import EventDict, Processor

from tsproxy.config.settings import LogLevel
from tsproxy.log_events.catalogue import LIBRARY_COMPLAINED
from tsproxy.proxy.notes import frames_of


class LogFormat(StrEnum):
    AUTO = "auto"
    CONSOLE = "console"
    JSON = "json"


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
) -> None:
    """Set up structlog, and redirect the standard library's logging to it.

    `worker` is the number of this process if it is one of several. Every line then contains this number.
    """
    is_console = log_format is LogFormat.CONSOLE or (log_format is LogFormat.AUTO and sys.stderr.isatty())
    renderer: Processor = (
        # Texts as literals: a line break in a client's text must not begin a new line.
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback, repr_native_str=True)
        if is_console
        else structlog.processors.JSONRenderer(_encode)
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _lead,
            *([] if worker is None else [_number(worker)]),
            renderer,
        ],
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", _Forgiving(sys.stderr))),
        cache_logger_on_first_use=False,
    )
    set_level(level)
    root = logging.getLogger()
    root.handlers[:] = [_IntoStructlog()]
    root.setLevel(logging.WARNING)
    for name, least in _LEVELS.items():
        logging.getLogger(name).setLevel(least)


class _Forgiving:
    """A stream that may fail (a closed pipe, a full disk). Then lines are lost, and nothing else fails."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.flush()


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
