"""The catalogue in the order of docs/guide/troubleshooting.md."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Final

from tsproxy.log_events.catalogue import (
    clients,
    clock,
    cluster,
    configuration,
    dead_letters,
    decision_log,
    process,
    rules,
    workers,
)
from tsproxy.log_events.event import LogEvent


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    introduction: str
    rows: tuple[LogEvent, ...]


def _section(module: ModuleType) -> Section:
    rows = tuple(each for each in vars(module).values() if isinstance(each, LogEvent))
    return Section(module.TITLE, vars(module).get("INTRODUCTION", ""), rows)


SECTIONS: Final = tuple(
    map(
        _section,
        (process, workers, cluster, rules, clients, clock, configuration, decision_log, dead_letters),
    )
)

BY_NAME: Final[Mapping[str, LogEvent]] = {row.name: row for section in SECTIONS for row in section.rows}
"""All events. `Note` and `Warn` of a session name theirs as text."""
