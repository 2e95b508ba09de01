"""The operators' log: one event a line on stderr, as JSON or, on a terminal, for the eye.

Events are `snake_case_past_tense` with facts as key-values. Errors come without local variables,
which may hold what a client sent. A log that cannot be written to takes no connection down.
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
from tsproxy.proxy.notes import frames_of


class LogFormat(StrEnum):
    AUTO = "auto"
    CONSOLE = "console"
    JSON = "json"


_LEVELS: Final = {
    # Its failures reach us as exceptions and are told in our words; at DEBUG it prints SASL tokens.
    "aiokafka": logging.CRITICAL,
    "asyncio": logging.WARNING,
}


def set_level(level: LogLevel) -> None:
    """From now on tell nothing that is less than this."""
    least = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(least))


def configure_logging(
    log_format: LogFormat, worker: int | None = None, level: LogLevel = LogLevel.INFO
) -> None:
    """Set up structlog, and lead the standard library's logging into it.

    `worker`: the number that every line of this process carries, where it is one of several.
    """
    is_console = log_format is LogFormat.CONSOLE or (log_format is LogFormat.AUTO and sys.stderr.isatty())
    renderer: Processor = (
        # Texts as literals: a line break in what a client sent must not make a line of its own.
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
    """A stream that may be gone (a closed pipe, a full disk): then lines are lost, nothing else."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.flush()


class _IntoStructlog(logging.Handler):
    """What libraries log, as events of ours."""

    def emit(self, record: logging.LogRecord) -> None:
        facts: dict[str, Any] = {"library": record.name, "text": record.getMessage()}
        if record.exc_info and record.exc_info[1]:
            facts |= {"error": type(record.exc_info[1]).__name__, "frames": frames_of(record.exc_info[1])}
        level = logging.ERROR if record.levelno >= logging.ERROR else logging.WARNING
        structlog.get_logger().log(level, "library_complained", **facts)


def _lead(_: Any, __: str, event: EventDict) -> EventDict:
    """What every line has, first."""
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
    except TypeError:  # a text with half a surrogate pair, which a client may well send
        return json.dumps(event, default=str)
