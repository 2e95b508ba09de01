"""Rows from which tables (`groups`) are made, by pyarrow: those of a rollup, or of its histograms.

Spark has added up the lines of the log by then. A rollup of 10,000 producers has some hundred thousand rows,
and its tables take a second. Plain Python, no Spark.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import pyarrow as pa
from pyarrow import compute as pc

from spark_reports.log.grouping import Grouping, How, Measure, Rows
from spark_reports.report import groups
from spark_reports.report.groups import CLIENT, KAFKA_4_AFTER_MS, NO_UNIT
from tsproxy.model.outcome import VerdictName
from tsproxy.model.policy import CANDIDATE, FAR_BEHIND_MS, TOPIC_LIMITS
from tsproxy.model.verdict import Reason

_AGGREGATES: Final = {
    How.SUM: "sum",
    How.LEAST: "min",
    How.GREATEST: "max",
    How.DISTINCT: "count_distinct",
    How.VALUES: "distinct",
}
"""The names by which pyarrow knows the measures of `groups`. Like Spark, it passes over nulls."""


@dataclass(frozen=True, slots=True)
class TableSource:
    """Rows with the columns and conditions that the tables name."""

    rows: pa.Table

    @classmethod
    def of_rollup(cls, rows: pa.Table) -> Self:
        """From the rows of `transforms.ROLLUP`. `instance` stays the client's id (`of_applications`)."""
        rows = rows.append_column("instance", as_text(rows["client_id"]))
        for name, condition in _conditions(rows).items():
            rows = rows.append_column(name, condition)
        return cls(rows)

    def table(self, asked: Grouping, count: int | None = None) -> Rows:
        """The table, or its first `count` rows."""
        return list(self._grouped(asked, count).to_pylist())

    def grouped(self, asked: Grouping) -> "TableSource":
        """The table, to make others of it."""
        return TableSource(self._grouped(asked, None))

    def _grouped(self, asked: Grouping, count: int | None) -> pa.Table:
        chosen = self.rows if asked.where is None else self.rows.filter(self.rows[asked.where])
        columns = {key: chosen[key] for key in asked.keys}
        columns |= {name: _counted(chosen, measure) for name, measure in asked.measures.items()}
        asked_of = [(name, _AGGREGATES[measure.how]) for name, measure in asked.measures.items()]
        options = {"distinct": pc.CountOptions(mode="only_valid")}
        aggregates = [(name, how, options.get(how)) for name, how in asked_of]
        grouped = pa.table(columns).group_by([*asked.keys]).aggregate(aggregates)
        results = {key: as_text(grouped[key]) for key in asked.keys}
        for name, how in asked_of:
            measured = grouped[f"{name}_{how}"]
            results[name] = measured.fill_null(0) if how == "sum" else measured
        table = pa.table(results)
        if asked.having is not None:
            table = table.filter(pc.greater(table[asked.having], 0))
        if asked.keys:
            # Backwards, since pyarrow puts nulls last, and its releases differ in how to ask for them first.
            last_first = [(name, "ascending") for name in asked.order]
            last_first += [(key, "descending") for key in asked.keys]
            places = pc.sort_indices(table, last_first)
            table = table.take(places.take(pa.array(range(len(places) - 1, -1, -1), pa.int64())))
        if count is not None:
            table = _first_of_each(table, asked.per, count) if asked.per else table.slice(0, count)
        return table

    def of_worst_topics(self, count: int) -> "TableSource":
        """The same rows. All topics but the worst are null, so that they are added up together."""
        worst = [row["topic"] for row in self.table(groups.WORST_TOPICS, count)]
        topic = self.rows["topic"]
        shown = pc.if_else(_is_one_of(topic, worst), topic, pa.scalar(None, topic.type))
        return TableSource(self.rows.set_column(self.rows.column_names.index("topic"), "topic", shown))

    def of_clients(self, clients: Rows) -> "TableSource":
        """The rows of these clients."""
        known = {_client(row) for row in clients}
        return self.where(lambda *client: client in known)

    def where(self, is_asked: Callable[[str | None, str | None], bool]) -> "TableSource":
        """The rows of the clients that are asked for, by id and principal."""
        number = _numbers(self.rows, CLIENT)
        pairs = self.rows.select(CLIENT).append_column("number", number).group_by(["number", *CLIENT])
        wanted = [row["number"] for row in pairs.aggregate([]).to_pylist() if is_asked(*_client(row))]
        return TableSource(self.rows.filter(_is_one_of(number, wanted)))

    def of_applications(self, name_of: Callable[[str | None], str | None]) -> "TableSource":
        """The same rows with the name of its application in place of each client's id."""
        ids = self.rows["client_id"]
        coded = _coded(ids)
        names = pa.array(map(name_of, coded.dictionary.to_pylist()), pa.string()).dictionary_encode()
        places = names.indices.take(coded.indices)
        named = pa.DictionaryArray.from_arrays(places, names.dictionary).cast(ids.type)
        place = self.rows.column_names.index("client_id")
        return TableSource(self.rows.set_column(place, "client_id", named))

    def of_days(self, first: str, last: str) -> "TableSource":
        """The rows of the days of a rollup."""
        day = self.rows["day"]
        return TableSource(self.rows.filter(pc.and_(pc.greater_equal(day, first), pc.less_equal(day, last))))

    def of_topics(self, topics: Sequence[str]) -> "TableSource":
        """The rows of these topics."""
        return TableSource(self.rows.filter(_is_one_of(self.rows["topic"], topics)))

    def beyond(self, ahead: int | None, behind: int | None) -> "TableSource":
        """The rows of histograms from these buckets on. None: no bucket of that side."""
        bucket = self.rows["bucket"]
        sides = [(bucket, ahead), (pc.negate(bucket), behind)]
        past = [pc.greater_equal(values, first) for values, first in sides if first is not None]
        return TableSource(self.rows.filter(pc.or_(past[0], past[-1])) if past else self.rows.slice(0, 0))


def _conditions(rows: pa.Table) -> dict[str, Any]:
    """The conditions of `groups` about the rows of a rollup, by name. Null counts as false."""
    verdict, rule, is_judged = rows["verdict"], rows["rule"], rows["is_final"]
    is_of = {name: pc.equal(verdict, name.value) for name in VerdictName}
    is_open = pc.and_(is_of[VerdictName.UNCONFIRMED], pc.not_equal(rows["error_code"], 0))
    is_rejecting = pc.or_(is_of[VerdictName.REJECTED], is_of[VerdictName.BROKER_REJECTED])
    is_rejection = pc.and_(is_rejecting, is_judged)
    is_only_counted = pc.and_(is_judged, rows["would_reject"])
    is_too_old = pc.and_kleene(pc.equal(rule, CANDIDATE), pc.equal(rows["reason"], Reason.TOO_OLD.value))
    is_behind = pc.less(rows["drift_max_ms"], -FAR_BEHIND_MS).fill_null(True)
    is_far_behind = pc.and_(is_only_counted, pc.and_kleene(is_too_old, is_behind).fill_null(False))
    is_too_far_ahead = pc.and_(
        pc.equal(rows["reason"], Reason.TOO_FAR_AHEAD.value),
        pc.greater(rows["drift_max_ms"], KAFKA_4_AFTER_MS),
    )
    is_by_candidate = pc.and_(is_only_counted, pc.equal(rule, CANDIDATE))
    has_unit = pc.invert(_is_one_of(rows["unit_guess"], NO_UNIT))
    return {
        "is_judged": is_judged,
        "is_rejection": is_rejection,
        "is_unit_mistake": pc.and_(is_rejection, has_unit),
        "has_reason": pc.or_(pc.or_(is_rejecting, is_of[VerdictName.REPAIRED]), is_open),
        "is_by_topic": pc.or_kleene(is_of[VerdictName.BROKER_REJECTED], pc.equal(rule, TOPIC_LIMITS)),
        "is_only_counted": is_only_counted,
        "would_be_rejected": pc.and_(is_only_counted, pc.invert(is_far_behind)),
        "is_only_counted_and_stored": pc.and_(is_only_counted, is_of[VerdictName.ACCEPTED]),
        "is_far_behind": is_far_behind,
        "is_ahead_of_kafka_4": pc.and_kleene(is_by_candidate, is_too_far_ahead),
        **{f"ended_{name}": pc.and_(is_judged, is_of[name]) for name in VerdictName},
        **{f"retried_{name}": pc.and_not(is_of[name], is_judged) for name in groups.RETRIED},
        "violates_a_rule": pc.and_(is_judged, pc.or_(rule.is_valid(), rows["waiver"].is_valid())),
    }


def as_text(column: Any) -> Any:
    """The column without a dictionary, by which pyarrow does not sort."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _is_one_of(values: Any, some: Collection[Any]) -> Any:
    """True where a value is one of these; so may null be."""
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    return pc.is_in(values, pa.array(some, kind))


def _counted(rows: pa.Table, measure: Measure) -> Any:
    """The values of a measure; null where a row does not count."""
    one, *others = measure.columns
    values = _numbers(rows, measure.columns) if others else rows[one]
    if measure.how is How.VALUES:
        values = as_text(values)
    if measure.where is None:
        return values
    return pc.if_else(rows[measure.where], values, pa.scalar(None, values.type))


def _numbers(rows: pa.Table, names: Sequence[str]) -> Any:
    """A number for each row: the same for rows with equal values of these columns. Nulls are equal."""
    numbers = pa.repeat(pa.scalar(0, pa.int64()), len(rows))
    for name in names:
        coded = _coded(rows[name])
        number = pc.add(coded.indices.cast(pa.int64()).fill_null(-1), 1)
        numbers = pc.add(pc.multiply(numbers, len(coded.dictionary) + 1), number)
    return numbers


def _coded(column: Any) -> Any:
    """The column as numbers of its different values."""
    one = column.combine_chunks()
    return one if pa.types.is_dictionary(one.type) else one.dictionary_encode()


def _first_of_each(table: pa.Table, per: Sequence[str], count: int) -> pa.Table:
    """The first `count` rows of each group, in their order."""
    seen: Counter[int] = Counter()
    first = []
    for place, number in enumerate(_numbers(table, per).to_pylist()):
        seen[number] += 1
        if seen[number] <= count:
            first.append(place)
    return table.take(pa.array(first, pa.int64()))


def _client(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in CLIENT)
