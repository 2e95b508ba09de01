"""The tables of a report, as data (`log.grouping`). Plain Python, no Spark.

The conditions are columns of the rollup's rows, and of their histograms (`table_source`). `client_id` is the
name of an application, `instance` the id of one of its clients (`applications`).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from spark_reports.log.grouping import Grouping, How, Measure
from spark_reports.log.schema import KEY, OPTIONAL_SUMS, SUMS
from tsproxy.decisions.fields import FIELDS, FieldType
from tsproxy.model.outcome import VerdictName
from tsproxy.model.verdict import UnitGuess

CLIENT: Final = ("client_id", "principal")
REASON: Final = ("verdict", "reason", "unit_guess", "error_code", "is_final")
RETRIED: Final = (VerdictName.REJECTED, VerdictName.BROKER_REJECTED, VerdictName.UNCONFIRMED)
"""The verdicts of batches that their producers may send again."""
NO_UNIT: Final = (None, UnitGuess.ZERO.value, UnitGuess.NEVER_SET.value)
"""The guesses that are no wrong unit: a time that was never set is none."""
KAFKA_4_AFTER_MS: Final = 3_600_000
"""Kafka 4's own default of message.timestamp.after.max.ms (KIP-1030)."""


_Row = TypeVar("_Row")
_Key = TypeVar("_Key")


def grouped(rows: Iterable[_Row], key: Callable[[_Row], _Key]) -> dict[_Key, list[_Row]]:
    """The rows by their key."""
    by_key: dict[_Key, list[_Row]] = {}
    for row in rows:
        by_key.setdefault(key(row), []).append(row)
    return by_key


def _sums(*names: str, where: str | None = None) -> dict[str, Measure]:
    return {name: Measure(How.SUM, (name,), where) for name in names}


def _records(where: str | None = None) -> Measure:
    return Measure(How.SUM, ("records",), where)


def _least(name: str, where: str | None = None) -> Measure:
    return Measure(How.LEAST, (name,), where)


def _greatest(name: str, where: str | None = None) -> Measure:
    return Measure(How.GREATEST, (name,), where)


_EXTREMES: Final = {
    "first_ms": _least("first_ms"),
    "last_ms": _greatest("last_ms"),
    "drift_min_ms": _least("drift_min_ms"),
    "drift_max_ms": _greatest("drift_max_ms"),
}

ROLLUP: Final = Grouping(
    keys=("hour", "cluster_id", *(name for name in KEY if name != "folded")),
    measures={
        **_sums(*SUMS, *OPTIONAL_SUMS, "left_out_records"),
        **_EXTREMES,
    },
)
"""The rollup of counters, from which all others are made. Its table `hours` is a contract with other readers
(docs/reference/rollup.schema.json): columns are only added."""

MEANINGS: Final[Mapping[str, str]] = {
    "hour": "the hour in which the outcomes of the batches were known, 2026-11-20T10 (UTC)",
    "left_out_records": "judged records whose histograms are of another version: no bucket has them",
    "first_ms": "the first outcome, in ms since 1970; null for accepted batches that no rule would reject",
    "last_ms": "the last outcome",
    "event_date": "the day of the hour; the partition",
}
"""The columns of `hours` that are no field of the log."""

TYPES: Final[Mapping[str, FieldType]] = {
    **{field.name: field.type for field in FIELDS},
    **dict.fromkeys(("hour", "event_date"), FieldType.TEXT),
}
"""The types of columns of `ROLLUP`; all others are numbers."""

_JUDGED_AND_REJECTED: Final = {
    "records": _records("is_judged"),
    "rejected_records": _records("is_rejection"),
}
_COUNTS: Final = {
    **_sums("batches", "records", "bad_records", "collateral_records"),
    "topic_limit_records": _records("is_by_topic"),
}
_ENDED: Final = {
    "records_judged": _records("is_judged"),
    **{f"records_{verdict}": _records(f"ended_{verdict}") for verdict in VerdictName},
    **{f"records_{verdict}_retried": _records(f"retried_{verdict}") for verdict in RETRIED},
    **_sums("bad_records", "collateral_records", where="is_rejection"),
    **_sums("records_unread", "records_limits_unknown", where="is_judged"),
}
"""The columns of `shape.Counts`."""


def _instances(where: str | None = None) -> dict[str, Measure]:
    """The number of an application's clients, and one of them: its owner is the application's."""
    return {
        "clients": Measure(How.DISTINCT, ("instance",), where),
        "instance": Measure(How.LEAST, ("instance",), where),
    }


def _rejected_by(*keys: str, per: tuple[str, ...] = ()) -> Grouping:
    """The sums of `rejected_records` by these keys, the largest first."""
    measures = {"rejected_records": _records()}
    return Grouping(keys, measures, where="is_rejection", order=("rejected_records",), per=per)


SUMMARY: Final = Grouping(
    keys=(),
    measures={
        **_ENDED,
        "producers": Measure(How.DISTINCT, CLIENT),
        "producers_affected": Measure(How.DISTINCT, CLIENT, "is_rejection"),
        "topics": Measure(How.DISTINCT, ("topic",)),
        "unit_mistake_records": Measure(How.SUM, ("bad_records",), "is_unit_mistake"),
        **_sums("left_out_records"),
        "would_reject_producers": Measure(How.DISTINCT, CLIENT, "would_be_rejected"),
        "would_reject_records": _records("would_be_rejected"),
        "repaired_producers": Measure(How.DISTINCT, CLIENT, "ended_repaired"),
        "far_behind_records": Measure(How.SUM, ("bad_records",), "is_far_behind"),
        "cluster_id": _least("cluster_id"),
    },
)
"""One row, with the columns of `shape.Totals`, and the cluster: there is one (`sums.summed`)."""

WORST_TOPICS: Final = Grouping(
    keys=("topic",), measures=_JUDGED_AND_REJECTED, order=("rejected_records", "records")
)
"""The topics with most rejected records, then most records."""

TOPICS: Final = Grouping(
    keys=("topic",),
    measures={
        **_ENDED,
        "drift_min_ms": _least("drift_min_ms"),
        "drift_max_ms": _greatest("drift_max_ms"),
    },
)
"""One row for each topic, with the columns of `shape.Topic`."""

REASONS: Final = Grouping(
    keys=REASON,
    measures={**_COUNTS, "producers": Measure(How.DISTINCT, CLIENT)},
    where="has_reason",
)
"""One row for each reason of rejections, repairs, batches that producers sent again, and unconfirmed ones."""

REASON_HOURS: Final = _rejected_by("hour", *REASON)
"""One row for each hour and reason of rejections."""

WOULD_REJECT: Final = Grouping(
    keys=("rule", "waiver", *CLIENT, "topic", "reason", "unit_guess", "is_far_behind"),
    measures={**_sums("batches", "records", "bad_records"), **_EXTREMES, **_instances()},
    where="is_only_counted",
    order=("records",),
)
"""The largest groups of batches that only a rule in audit or the candidate limits would reject. They were
forwarded, so none of them is a rejection."""

AHEAD_OF_KAFKA_4: Final = Grouping(keys=CLIENT, measures={}, where="is_ahead_of_kafka_4")
"""The clients with forwarded records that Kafka 4 would reject."""

REPAIRED: Final = Grouping(
    keys=("rule", *CLIENT, "unit_guess", "reason"),
    measures={
        **_sums("records", "bad_records"),
        **_instances(),
        "topics": Measure(How.VALUES, ("topic",)),
        "first_ms": _least("first_ms"),
    },
    where="ended_repaired",
    order=("records",),
)
"""The largest groups of repaired batches; `bad_records` are the records that were rewritten."""

RULES: Final = Grouping(
    keys=("rule", "mode", "waiver"),
    measures={
        **_sums("batches", "records", "bad_records"),
        "rejected_records": _records("is_rejection"),
    },
    where="violates_a_rule",
    order=("records",),
)
"""The rules that rejected most, or would have. The counts are those of batches that violated the rule."""

ROLLED_PRODUCERS: Final = Grouping(keys=("event_date", *CLIENT), measures=_JUDGED_AND_REJECTED)
"""One row for each day and client: the rollup's table `producers`."""

PRODUCERS: Final = Grouping(
    keys=CLIENT,
    measures={
        **_JUDGED_AND_REJECTED,
        "rejected_batches": Measure(How.SUM, ("batches",), "is_rejection"),
        **_sums("bad_records", "collateral_records", where="is_rejection"),
        **_instances("is_rejection"),
        "instances": Measure(How.VALUES, ("instance",), "is_rejection"),
        "first_ms": _least("first_ms", "is_rejection"),
        "last_ms": _greatest("last_ms", "is_rejection"),
        "topics": Measure(How.VALUES, ("topic",), "is_rejection"),
    },
    having="rejected_batches",
    order=("rejected_records",),
)
"""One row for each client with rejections, the one with most rejected records first."""

CLIENT_INSTANCES: Final = _rejected_by(*CLIENT, "instance", per=CLIENT)
"""Each application's clients with the most rejected records."""

CLIENT_REASONS: Final = Grouping(
    keys=(*CLIENT, *REASON), measures={**_COUNTS, **_EXTREMES}, where="is_rejection"
)
"""One row for each client and reason of its rejections."""

CLIENT_TOPICS: Final = _rejected_by(*CLIENT, "topic", per=CLIENT)
"""Each client's topics with the most rejected records."""

TOPIC_CLIENTS: Final = _rejected_by("topic", *CLIENT, per=("topic",))
"""Each topic's clients with the most rejected records."""

CLIENT_HOURS: Final = _rejected_by(*CLIENT, "hour")
"""One row for each client and hour."""

TOTALS: Final = Grouping(keys=("side", "bucket"), measures=_sums("batches", "records"))
"""One row for each side and bucket, the input of `what_if`."""

TOPIC_TOTALS: Final = Grouping(keys=("topic", "side", "bucket"), measures=_sums("batches", "records"))
"""TOTALS of each topic."""
