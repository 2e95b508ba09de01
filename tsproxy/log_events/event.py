"""The description of one event of the operators' log, for the code that writes it and for the documents."""

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final

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

    level: Level
    name: str
    fields: tuple[str, ...]
    meaning: str
    action: str = "Nothing."

    def __call__(self, **facts: object) -> None:
        getattr(_log, self.level)(self.name, **facts)


debug: Final = partial(LogEvent, Level.DEBUG)
info: Final = partial(LogEvent, Level.INFO)
warning: Final = partial(LogEvent, Level.WARNING)
error: Final = partial(LogEvent, Level.ERROR)


def crashed(name: str, meaning: str) -> LogEvent:
    """An error in our own code, which was survived."""
    return error(name, ("error", "frames"), meaning, "Report it.")
