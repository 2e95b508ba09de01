"""An event of the operators' log, as code calls it to write a line."""

from dataclasses import dataclass
from enum import StrEnum

import structlog

_log = structlog.get_logger()


class Level(StrEnum):
    """How soon somebody is needed: never (debug, info), in the next days (warning), now (error)."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class LogEvent:
    """`fields` are the facts that a line of this event may have."""

    level: Level
    name: str
    fields: tuple[str, ...]

    def __call__(self, **facts: object) -> None:
        getattr(_log, self.level)(self.name, **facts)


def debug(name: str, *fields: str) -> LogEvent:
    return LogEvent(Level.DEBUG, name, fields)


def info(name: str, *fields: str) -> LogEvent:
    return LogEvent(Level.INFO, name, fields)


def warning(name: str, *fields: str) -> LogEvent:
    return LogEvent(Level.WARNING, name, fields)


def error(name: str, *fields: str) -> LogEvent:
    return LogEvent(Level.ERROR, name, fields)
