"""The description of one event of the operators' log, for the code that writes it and for the documents."""

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
    """One event. `fields` are the facts that its lines may have. `meaning` says what happened, and `action`
    what to do: both are Markdown for operators. Links are as in a page of `docs`."""

    name: str
    level: Level
    fields: tuple[str, ...]
    meaning: str
    action: str

    def __call__(self, **facts: object) -> None:
        getattr(_log, self.level)(self.name, **facts)


def debug(name: str, fields: tuple[str, ...], meaning: str, action: str) -> LogEvent:
    return LogEvent(name, Level.DEBUG, fields, meaning, action)


def info(name: str, fields: tuple[str, ...], meaning: str, action: str) -> LogEvent:
    return LogEvent(name, Level.INFO, fields, meaning, action)


def warning(name: str, fields: tuple[str, ...], meaning: str, action: str) -> LogEvent:
    return LogEvent(name, Level.WARNING, fields, meaning, action)


def error(name: str, fields: tuple[str, ...], meaning: str, action: str) -> LogEvent:
    return LogEvent(name, Level.ERROR, fields, meaning, action)
