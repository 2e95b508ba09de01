"""The catalogue in the order of docs/reference/metrics.md."""

from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Final

from tsproxy.proxy.metrics.catalogue import (
    batches,
    brokers,
    clock,
    configuration,
    connections,
    decision_log,
    latency,
    process,
)
from tsproxy.proxy.metrics.described import Described

_IN_ORDER: Final = (batches, latency, connections, brokers, decision_log, clock, configuration, process)


def _rows(section: ModuleType) -> Iterator[Described]:
    yield from (each for each in vars(section).values() if isinstance(each, Described))
    yield from vars(section).get("SESSION_EVENTS", {}).values()


SECTIONS: Final[Mapping[str, tuple[Described, ...]]] = {
    section.TITLE: tuple(_rows(section)) for section in _IN_ORDER
}

ALL: Final = {row.name: row for rows in SECTIONS.values() for row in rows}
"""Metrics by name."""
