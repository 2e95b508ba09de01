"""Tables as data: which rows, in groups of which columns, with which sums, in which order.

Spark computes those that come from the lines of a log (`frames.of_frame`), pyarrow those of a report
(`table_source`). A condition is the name of a column that is true or false; null counts as false.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
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
    VALUES = auto()
    """The different values that are not null, in no order."""
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
