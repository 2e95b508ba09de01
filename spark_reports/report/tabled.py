"""A frame of which tables (`groups`) are asked: collected if it has few rows, else Spark makes each table."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from pyspark.sql import DataFrame

from spark_reports.log import read
from spark_reports.report import groups, transforms
from spark_reports.report.groups import CLIENT, Grouping, Rows

OfClients = Callable[[DataFrame], Rows]
"""Collects the rows of some clients."""


class Tabled(Protocol):
    """A frame of which tables are asked."""

    def table(self, grouping: Grouping, count: int | None = None) -> Rows:
        """The table, or its first `count` rows."""

    def of_worst_topics(self, count: int) -> Self:
        """The same rows; other topics than the worst ones are null, so that they are added up together."""

    def of_topics(self, topics: Sequence[str]) -> Self:
        """The rows of a few topics."""

    def of_worst_clients(self, count: int) -> tuple[Rows, Self, OfClients]:
        """The worst clients, their rows, and a function for their rows of another frame."""


def tabled(stack: ExitStack, frame: DataFrame, tables: Iterable[Grouping], *, is_few: bool) -> Tabled:
    """`frame`, of which only `tables` will be asked. Frames that Spark keeps for them are kept in `stack`."""
    if is_few:
        return Collected(rows(transforms.flagged(frame, tables)))
    return InSpark(frame, stack)


@dataclass(frozen=True, slots=True)
class Collected:
    """Few rows, with the conditions that the tables name."""

    rows: Sequence[Mapping[str, Any]]

    def table(self, grouping: Grouping, count: int | None = None) -> Rows:
        return groups.of_rows(grouping, self.rows, count)

    def of_worst_topics(self, count: int) -> "Collected":
        worst = {row["topic"] for row in self.table(groups.WORST_TOPICS, count)}
        return Collected([row if row["topic"] in worst else {**row, "topic": None} for row in self.rows])

    def of_topics(self, topics: Sequence[str]) -> "Collected":
        wanted = set(topics)
        return Collected([row for row in self.rows if row["topic"] in wanted])

    def of_worst_clients(self, count: int) -> tuple[Rows, "Collected", OfClients]:
        producers = self.table(groups.PRODUCERS, count)
        worst = {_client(row) for row in producers}

        def only_worst(frame: DataFrame) -> Rows:
            return [row for row in rows(frame) if _client(row) in worst]

        return producers, Collected([row for row in self.rows if _client(row) in worst]), only_worst


@dataclass(frozen=True, slots=True)
class InSpark:
    """A frame of any size."""

    frame: DataFrame
    stack: ExitStack

    def table(self, grouping: Grouping, count: int | None = None) -> Rows:
        return rows(transforms.of_frame(grouping, self.frame, count))

    def of_worst_topics(self, count: int) -> "InSpark":
        worst = transforms.of_frame(groups.WORST_TOPICS, self.frame, count)
        return self._kept(transforms.only_topics(self.frame, worst))

    def of_topics(self, topics: Sequence[str]) -> "InSpark":
        return replace(self, frame=transforms.of_topics(self.frame, topics))

    def of_worst_clients(self, count: int) -> tuple[Rows, "InSpark", OfClients]:
        worst = self._kept(transforms.of_frame(groups.PRODUCERS, self.frame, count)).frame

        def only_worst(frame: DataFrame) -> Rows:
            return rows(transforms.of_clients(frame, worst))

        return rows(worst), self._kept(transforms.of_clients(self.frame, worst)), only_worst

    def _kept(self, frame: DataFrame) -> "InSpark":
        return replace(self, frame=read.kept(self.stack, frame))


def rows(frame: DataFrame) -> Rows:
    """Everything in a small DataFrame, as dicts."""
    return [row.asDict(recursive=True) for row in frame.collect()]


def _client(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in CLIENT)
