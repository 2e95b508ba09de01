"""The targets: a bound for each figure that a user plans with, or that a change must not make worse.

A figure is a cell of a section's table. A cell with a spread counts by its median.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from benchmarks.measurements import MEASUREMENTS
from benchmarks.page import REPORTS_TITLE, MissingFigureError, number, table

_TITLES: Final = {each.name: each.title for each in MEASUREMENTS} | {"reports": REPORTS_TITLE}
WORST: Final = "the worst"
"""Stands for the row of a table that has the largest figure."""


@dataclass(frozen=True, slots=True)
class Target:
    """The upper bound of a cell, in the unit of its column."""

    measurement: str
    row: str
    column: str
    at_most: float

    def measured(self, page: str) -> str:
        """The cell. Raises MissingFigureError."""
        rows = table(page, _TITLES[self.measurement])
        try:
            if self.row == WORST:
                return max((row[self.column] for row in rows.values()), key=number)
            return rows[self.row][self.column]
        except KeyError as error:
            raise MissingFigureError(f"{_TITLES[self.measurement]}: no {error}") from None

    def is_met(self, page: str) -> bool:
        """Raises MissingFigureError."""
        return number(self.measured(page)) <= self.at_most


TARGETS: Final[Mapping[str, tuple[Target, ...]]] = {
    "What does the proxy cost where haproxy, which reads nothing, costs 1?": (
        Target("relay", "1 KB, 8×5", "tsproxy", 1.15),
        Target("relay", "100 KB, 8×5", "tsproxy", 1.15),
        Target("relay", "1 MB, 8×5", "tsproxy", 1.1),
        Target("relay", "1 KB, 64×5", "tsproxy", 1.25),
    ),
    "And with TLS?": (
        Target("relay", "1 KB, 8×5, TLS", "tsproxy", 1.1),
        Target("relay", "100 KB, 8×5, TLS", "tsproxy", 1),
        Target("relay", "1 MB, 8×5, TLS", "tsproxy", 1),
    ),
    "What do consumers cost?": (
        Target("consume", "1 MB, sink", "tsproxy", 1.1),
        Target("consume", "16 KB, broker", "tsproxy", 1.1),
        Target("consume", "1 MB, broker", "tsproxy", 1.1),
        Target("consume", "1 MB, broker, TLS", "tsproxy", 1.1),
    ),
    "And compressed batches, by default?": (
        Target("adaptive", "100 KB lz4, 8×5", "`adaptive`", 1.4),
        Target("adaptive", "100 KB zstd, 8×5", "`adaptive`", 1.4),
    ),
    "If each of them is read: what comes on top of decompressing and reading?": (
        Target("codecs", "gzip", "decompressing and reading = 1", 1.1),
        Target("codecs", "snappy", "decompressing and reading = 1", 1.1),
        Target("codecs", "zstd", "decompressing and reading = 1", 1.1),
    ),
    "What does a record cost, in ns?": (
        Target("walk", "100 KB", "tsproxy's fast path, ns", 4),
        Target("walk", "values of 8 B to 16 KiB", "tsproxy's fast path, ns", 7),
    ),
    "And with a real producer?": (
        Target("clients", "Java, plain", "tsproxy", 1.25),
        Target("clients", "librdkafka, plain", "tsproxy", 1.25),
        Target("clients", "librdkafka, lz4", "tsproxy", 1.4),
    ),
    "How much later is a record acknowledged?": (
        Target("end-to-end", "tsproxy", "p99, haproxy = 1", 1.2),
        Target("end-to-end", "tsproxy, 4 workers", "p99, haproxy = 1", 1.2),
    ),
    "Do many rules, or a candidate limit, cost more?": (
        Target("policy", "a candidate that all lies within", "ratio", 1.05),
        Target("policy", "1,000 rules against 10", "ratio", 1.05),
    ),
    "Does it cost more to reject than to forward?": (
        Target("reject", "1 KB, 8×5", "rejecting / relaying", 3),
        Target("reject", "100 KB, 8×5", "rejecting / relaying", 3),
    ),
    "Does a storm of rejections fill memory or disk?": (
        Target("storm", WORST, "decision log", 6),
        Target("storm", WORST, "memory", 64),
        Target("storm", WORST, "CPU", 2),
    ),
    "How much memory does a process need, in MiB?": (
        Target("idle", "tsproxy", "in all", 80),
        Target("stuck", "tsproxy", "growth", 64),
        Target("partitions", WORST, "growth by 20 slow clients", 256),
    ),
    "How soon does a start serve, in ms?": (
        Target("start", "the first client is served", "ms", 500),
        Target("start", "the first client is served, no file is in memory", "ms", 500),
    ),
    "How long can one client hold up the others, in ms?": (
        Target("worst", WORST, "ms a MiB", 50),
        Target("worst", WORST, "longest step, ms", 100),
        Target("found", WORST, "ms a MiB", 50),
        Target("found", WORST, "longest step, ms", 100),
    ),
    "What does a night's report cost, where a hand-written job costs 1?": (
        Target("reports", "`daily` over 4,000,000 lines", "× the row before", 1.5),
    ),
}


def lines(page: str) -> Iterator[tuple[str, ...]]:
    """(question, figure, bound, measured, met or missed) of each target whose section the page has."""
    for question, targets in TARGETS.items():
        for target in targets:
            try:
                measured, is_met = target.measured(page), target.is_met(page)
            except MissingFigureError:
                continue
            figure = f"{target.measurement}: {target.row}, {target.column}"
            yield question, figure, f"≤ {target.at_most:g}", measured, "met" if is_met else "**missed**"
            question = ""


def counted(page: str) -> str:
    """How many of the targets are met."""
    found = [line[-1] for line in lines(page)]
    return f"{found.count('met')} of {len(found)} targets are met."
