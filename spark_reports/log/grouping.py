"""Tables as data: which rows, in groups of which columns, with which sums, in which order.

Each table is a `Grouping`: its one definition. Spark computes it from a large frame (`frames.of_frame`). The
rows of a small frame are collected once, and `of_rows` computes all tables from them: a query of Spark costs
more than a loop over a few thousand rows. A condition is the name of a column that is true or false; null
counts as false. Plain Python, no Spark.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from operator import itemgetter
from typing import Any

Rows = list[dict[str, Any]]


class How(Enum):
    """How a measure of a group comes from the values in its rows."""

    SUM = auto()
    """The sum of the values that are not null; 0 if there is none."""
    LEAST = auto()
    GREATEST = auto()
    """The least and the greatest of the values that are not null; null if there is none."""
    COUNT = auto()
    """The number of rows. It has no columns."""
    DISTINCT = auto()
    """The number of different values. A null is not counted, but a value of several columns may have
    nulls."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of each group."""

    how: How
    columns: tuple[str, ...]
    where: str | None = None
    """The condition that a row must meet to count; None for no condition."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """A table: one row for each group of rows with equal `keys` (nulls are equal), with its measures.

    It is ordered by `order`, the largest first, then by the keys, nulls first.
    """

    keys: tuple[str, ...]
    measures: Mapping[str, Measure]
    where: str | None = None
    """The condition that rows must meet to be in a group."""
    having: str | None = None
    """The measure that must be above 0."""
    order: tuple[str, ...] = ()
    """Measures."""
    per: tuple[str, ...] = ()
    """A limit on the number of rows holds for each group of these keys; if empty, for the whole table."""


def of_rows(grouping: Grouping, rows: Iterable[Mapping[str, Any]], count: int | None = None) -> Rows:
    """The table of a few rows. Each row has the columns and conditions that `grouping` names.

    `count`: the number of rows that are returned, at most.
    """
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {} if grouping.keys else {(): []}
    where, keys = grouping.where, grouping.keys
    for row in rows:
        if where is None or row[where]:
            groups.setdefault(tuple([row[key] for key in keys]), []).append(row)
    table = [
        dict(zip(keys, key, strict=True))
        | {name: _measured(measure, own) for name, measure in grouping.measures.items()}
        for key, own in groups.items()
    ]
    if grouping.having is not None:
        table = [row for row in table if row[grouping.having] > 0]
    table.sort(key=lambda row: tuple((row[key] is not None, row[key]) for key in keys))
    for name in reversed(grouping.order):
        table.sort(key=itemgetter(name), reverse=True)
    return table if count is None else first_of(table, grouping.per, count)


def _measured(measure: Measure, rows: list[Mapping[str, Any]]) -> Any:
    where = measure.where
    counted = rows if where is None else [row for row in rows if row[where]]
    if measure.how is How.COUNT:
        return len(counted)
    name, *others = measure.columns
    if others:
        return len({tuple(row[column] for column in measure.columns) for row in counted})
    values = [value for row in counted if (value := row[name]) is not None]
    match measure.how:
        case How.SUM:
            return sum(values)
        case How.LEAST:
            return min(values, default=None)
        case How.GREATEST:
            return max(values, default=None)
        case How.DISTINCT:
            return len(set(values))


def first_of(table: Rows, per: tuple[str, ...], count: int) -> Rows:
    """The first `count` rows of each group, in their order."""
    seen: dict[tuple[Any, ...], int] = {}
    first = []
    for row in table:
        key = tuple(row[name] for name in per)
        seen[key] = seen.get(key, 0) + 1
        if seen[key] <= count:
            first.append(row)
    return first
