"""The tables of a report as data: which rows, in groups of which columns, with which sums, in which order.

Each table is a `Grouping`: its one definition. Spark computes it from a large frame (`transforms.of_frame`).
The rows of a small frame are collected once, and `of_rows` computes all tables from them: a query of Spark
costs more than a loop over a few thousand rows. A condition is the name of a column that is true or false.
Spark computes that column for both (`transforms.FLAGS`). Plain Python, no Spark.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final

from spark_reports.log.schema import SUMS

Rows = list[dict[str, Any]]

CLIENT: Final = ("client_id", "principal")
REASON: Final = ("verdict", "reason", "unit_guess", "error_code", "is_final")


class How(Enum):
    """How a measure of a group comes from the values in its rows."""

    SUM = auto()
    """The sum of the values that are not null; 0 if there is none."""
    LEAST = auto()
    GREATEST = auto()
    """The least and the greatest of the values that are not null; null if there is none."""
    DISTINCT = auto()
    """The number of different values. A null is none. A value of several columns may have nulls."""


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
    """A limit holds for each group of these keys; empty: for the whole table."""


def _sums(*names: str, where: str | None = None) -> dict[str, Measure]:
    return {name: Measure(How.SUM, (name,), where) for name in names}


def _least(name: str, where: str | None = None) -> Measure:
    return Measure(How.LEAST, (name,), where)


def _greatest(name: str, where: str | None = None) -> Measure:
    return Measure(How.GREATEST, (name,), where)


_EXTREMES: Final = {
    "first_ms": _least("first_ms"),
    "last_ms": _greatest("last_ms"),
    "drift_min_ms": _least("drift_min_ms"),
    "drift_max_ms": _greatest("drift_max_ms"),
    **_sums("out_of_order_records"),
    "out_of_order_max_ms": _greatest("out_of_order_max_ms"),
}
_JUDGED_AND_REJECTED: Final = {
    **_sums("records", where="is_judged"),
    "rejected_records": Measure(How.SUM, ("records",), "is_rejection"),
}
_COUNTS: Final = _sums("batches", "records", "bad_records", "collateral_records")

SUMMARY: Final = Grouping(
    keys=(),
    measures={
        "producers": Measure(How.DISTINCT, CLIENT),
        "producers_affected": Measure(How.DISTINCT, CLIENT, "is_rejection"),
        "topics": Measure(How.DISTINCT, ("topic",)),
        "producers_with_unit_mistakes": Measure(How.DISTINCT, CLIENT, "is_unit_mistake"),
        "unit_mistake_records": Measure(How.SUM, ("bad_records",), "is_unit_mistake"),
    },
)
"""One row: number of clients, of clients with rejections, of topics, and of records with a wrong unit."""

WORST_TOPICS: Final = Grouping(
    keys=("topic",), measures=_JUDGED_AND_REJECTED, order=("rejected_records", "records")
)
"""The topics with most rejected records, then most records."""

TOPICS: Final = Grouping(
    keys=("topic", "verdict", "is_final"),
    measures={
        **_sums(*SUMS, "records_unread"),
        **_EXTREMES,
    },
)
"""One row for each topic and outcome."""

HOURS: Final = Grouping(keys=("hour", "topic"), measures=_JUDGED_AND_REJECTED)
"""One row for each hour and topic: `records` (judged) and `rejected_records`."""

REASONS: Final = Grouping(
    keys=REASON,
    measures={**_COUNTS, "producers": Measure(How.DISTINCT, CLIENT)},
    where="has_reason",
)
"""One row for each reason of rejections, repairs, batches that producers sent again, and unconfirmed ones."""

WOULD_REJECT: Final = Grouping(
    keys=("rule", "waiver", *CLIENT, "topic", "reason", "unit_guess"),
    measures={**_sums("batches", "records", "bad_records"), **_EXTREMES},
    where="is_only_counted",
    order=("records",),
)
"""The largest groups of batches that only a rule in audit or the candidate limits would reject. They were
forwarded, so none of them is a rejection."""

OUT_OF_ORDER: Final = Grouping(
    keys=("topic",),
    measures={
        **_sums("records", "out_of_order_records"),
        "out_of_order_max_ms": _greatest("out_of_order_max_ms"),
    },
    where="is_accepted",
    having="out_of_order_records",
    order=("out_of_order_records",),
)
"""The topics with most records out of order: `records` are all accepted ones. A topic has such records
only if its rule tracks stream time."""

RULES: Final = Grouping(
    keys=("rule", "mode", "waiver"),
    measures={
        **_sums("batches", "records", "bad_records"),
        "rejected_records": Measure(How.SUM, ("records",), "is_rejection"),
    },
    where="violates_a_rule",
    order=("records",),
)
"""The rules that rejected most, or would have. `batches` and `records` are those that violated the rule."""

PRODUCERS: Final = Grouping(
    keys=CLIENT,
    measures={
        **_JUDGED_AND_REJECTED,
        "rejected_batches": Measure(How.SUM, ("batches",), "is_rejection"),
        **_sums("bad_records", "collateral_records", where="is_rejection"),
        "first_ms": _least("first_ms", "is_rejection"),
        "last_ms": _greatest("last_ms", "is_rejection"),
        "topics": Measure(How.DISTINCT, ("topic",), "is_rejection"),
    },
    having="rejected_batches",
    order=("rejected_records",),
)
"""One row for each client with rejections, the one with most rejected records first."""

CLIENT_REASONS: Final = Grouping(
    keys=(*CLIENT, *REASON), measures={**_COUNTS, **_EXTREMES}, where="is_rejection"
)
"""One row for each client and reason of its rejections."""

CLIENT_TOPICS: Final = Grouping(
    keys=(*CLIENT, "topic"),
    measures={"rejected_records": Measure(How.SUM, ("records",))},
    where="is_rejection",
    order=("rejected_records",),
    per=CLIENT,
)
"""Each client's topics with the most rejected records."""

TOPIC_CLIENTS: Final = Grouping(
    keys=("topic", *CLIENT),
    measures={"rejected_records": Measure(How.SUM, ("records",))},
    where="is_rejection",
    order=("rejected_records",),
    per=("topic",),
)
"""Each topic's clients with the most rejected records."""

CLIENT_HOURS: Final = Grouping(
    keys=(*CLIENT, "hour"),
    measures={"rejected_records": Measure(How.SUM, ("records",))},
    where="is_rejection",
)
"""One row for each client and hour."""

DRAWN: Final = Grouping(
    keys=("side", "bucket", "is_rejected"), measures=_sums("batches", "records"), where="is_own_side"
)
"""The histogram that is drawn. A rejected batch counts on the side for which it was rejected, or on both if
the reason has no side."""

TOTALS: Final = Grouping(keys=("side", "bucket"), measures=_sums("batches", "records"))
"""One row for each side and bucket, the input of `what_if`."""

TOPIC_TOTALS: Final = Grouping(keys=("topic", "side", "bucket"), measures=_sums("batches", "records"))
"""TOTALS of each topic."""

IN_FORCE: Final = Grouping(
    keys=("proxy", "boot", "seq", "kind", "facts"),
    measures={"ts": _greatest("ts")},
    where="is_configuration",
    order=("ts",),
)
"""The last starts and reloads; `facts` is a JSON object as text."""

LIMITS: Final = Grouping(
    keys=("topic", "timestamp_type", "before_max_ms", "after_max_ms"),
    measures={"first_ts": _least("ts")},
    where="is_limits",
)
"""One row for each topic and set of limits in ms (null: unlimited)."""

PLAIN: Final[Mapping[str, Grouping]] = MappingProxyType({"out_of_order": OUT_OF_ORDER})
"""The tables whose rows are shown as they are. The keys are those of `shape.Plain`."""


def of_rows(grouping: Grouping, rows: Iterable[Mapping[str, Any]], count: int | None = None) -> Rows:
    """The table of a few rows, of which each has the columns and conditions that `grouping` names.

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
    return table if count is None else _first_of(table, grouping.per, count)


def _measured(measure: Measure, rows: list[Mapping[str, Any]]) -> Any:
    where, (name, *others) = measure.where, measure.columns
    counted = rows if where is None else [row for row in rows if row[where]]
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


def _first_of(table: Rows, per: tuple[str, ...], count: int) -> Rows:
    """The first `count` rows of each group, in their order."""
    seen: dict[tuple[Any, ...], int] = {}
    first = []
    for row in table:
        key = tuple(row[name] for name in per)
        seen[key] = seen.get(key, 0) + 1
        if seen[key] <= count:
            first.append(row)
    return first
