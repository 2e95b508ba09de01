"""A frame from which tables (`groups`) are made: by Python if it has few rows, else each by Spark."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from pyspark.sql import DataFrame

from spark_reports.log import frames, grouping
from spark_reports.log.grouping import Grouping, Rows
from spark_reports.report import groups, transforms
from spark_reports.report.groups import CLIENT


class Tabled(Protocol):
    """A frame from which tables are made. It has the columns and conditions that the tables name."""

    def table(self, asked: Grouping, count: int | None = None) -> Rows:
        """The table, or its first `count` rows."""

    def of_worst_topics(self, count: int) -> Self:
        """The same rows. All topics but the worst are null, so that they are added up together."""

    def of_clients(self, clients: Rows) -> Self:
        """The rows of these clients."""

    def of_topics(self, topics: Sequence[str]) -> Self:
        """The rows of these topics."""


@dataclass(frozen=True, slots=True)
class Collected:
    """A few rows, collected."""

    rows: Sequence[Mapping[str, Any]]

    def table(self, asked: Grouping, count: int | None = None) -> Rows:
        return grouping.of_rows(asked, self.rows, count)

    def of_worst_topics(self, count: int) -> "Collected":
        worst = {row["topic"] for row in self.table(groups.WORST_TOPICS, count)}
        return Collected([row if row["topic"] in worst else {**row, "topic": None} for row in self.rows])

    def of_clients(self, clients: Rows) -> "Collected":
        known = {_client(row) for row in clients}
        return Collected([row for row in self.rows if _client(row) in known])

    def of_topics(self, topics: Sequence[str]) -> "Collected":
        return Collected([row for row in self.rows if row["topic"] in topics])


@dataclass(frozen=True, slots=True)
class InSpark:
    """A frame of any size. `stack` releases the frames that Spark keeps for its tables."""

    frame: DataFrame
    stack: ExitStack

    def table(self, asked: Grouping, count: int | None = None) -> Rows:
        return frames.rows(frames.of_frame(asked, self.frame, count))

    def of_worst_topics(self, count: int) -> "InSpark":
        worst = frames.of_frame(groups.WORST_TOPICS, self.frame, count)
        return self._kept(transforms.only_topics(self.frame, worst))

    def of_clients(self, clients: Rows) -> "InSpark":
        return self._kept(transforms.of_named_clients(self.frame, clients))

    def of_topics(self, topics: Sequence[str]) -> "InSpark":
        return replace(self, frame=transforms.of_topics(self.frame, topics))

    def _kept(self, frame: DataFrame) -> "InSpark":
        return replace(self, frame=frames.kept(self.stack, frame))


def _client(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in CLIENT)
