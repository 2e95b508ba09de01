"""A period as Spark leaves it: its rollup, and the few other rows that a report needs.

Everything that comes after is plain Python: the tables (`tables`), the report (`assemble`), its pages.
"""

import json
from dataclasses import dataclass, replace
from datetime import date
from typing import Final, Self

from spark_reports.log.completeness import Evidence
from spark_reports.log.grouping import Rows
from spark_reports.report.table_source import TableSource


@dataclass(frozen=True, slots=True)
class Day:
    """One day, nearly always, or a few."""

    first: date
    last: date
    counters: TableSource
    """The rows of `transforms.ROLLUP`."""
    buckets: TableSource
    """`rollup.topic_drift`."""
    evidence: Evidence
    clocks: tuple[Rows, Rows]
    """`wrong_clocks.times` and `harmed`."""
    addresses: Rows
    """`transforms.client_addresses`, and `examples`, of the MAX_CLIENTS worst clients."""
    examples: Rows
    """`transforms.examples`."""
    limits: Rows
    """`transforms.limits`."""
    refused: Rows
    """`transforms.refused_by_kafka_4`."""

    def without_addresses(self) -> Self:
        """The day without clients' addresses, and without texts of unusable lines, which may have some."""
        examples, refused = (
            [{**row, "client_address": None} for row in rows] for rows in (self.examples, self.refused)
        )
        log = replace(self.evidence, files=[{**row, "example": None} for row in self.evidence.files])
        return replace(self, addresses=[], examples=examples, refused=refused, evidence=log)


FOLDER: Final = "evidence"
"""The folder of the days' files in a rollup."""
_AS_THEY_ARE: Final = ("clocks", "addresses", "examples", "limits", "refused")


def to_text(day: Day, now_ms: int) -> str:
    """The text of a day's file in the rollup: all but the rows of its tables. `now_ms`: when the log was
    read."""
    rows = {name: getattr(day, name) for name in _AS_THEY_ARE}
    log = {"boots": day.evidence.boots, "gaps": day.evidence.gaps, "files": day.evidence.files}
    facts = {"day": day.first.isoformat(), "now_ms": now_ms, "records": _records(day.counters)}
    return json.dumps({**facts, "log": log, **rows}) + "\n"


def from_text(text: str, counters: TableSource, buckets: TableSource) -> tuple[Day, int]:
    """The day of `to_text`, with the rows of its tables, and `now_ms`. Raises ValueError or KeyError for
    another text, and for the rows of another run."""
    facts = json.loads(text)
    if facts["records"] != _records(counters):
        raise ValueError("its tables are of another run")
    rows, first = {name: facts[name] for name in _AS_THEY_ARE}, date.fromisoformat(facts["day"])
    return Day(first, first, counters, buckets, Evidence(**facts["log"]), **rows), facts["now_ms"]


def _records(counters: TableSource) -> int:
    return sum(counters.rows["records"].to_pylist())
