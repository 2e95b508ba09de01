"""Lines that were set aside: what is wrong with them (`problem`; `read` lists all), and whether they may hold
totals of the period.

A line that cannot be used makes the log incomplete if it holds totals (counters, heartbeats) or may hold
them. Otherwise a day on which all counters are unusable would look like a day without traffic. Decisions
are examples and lifecycle lines are notes: they hold no totals. The event of a torn line is read from the
part that is left of it (`raw`).
"""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from functools import reduce
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log.schema import CORRUPT, OPTIONAL_SUMS, SUMS
from tsproxy.decisions.drift import EDGES, HISTOGRAM_NAME
from tsproxy.decisions.fields import SCHEMA_VERSION, EventName
from tsproxy.model.outcome import VerdictName

_HOLD_NO_TOTALS: Final = (EventName.DECISION.value, EventName.LIFECYCLE.value, EventName.CLIENT.value)
PROBLEMS_WITHOUT_IDENTITY: Final = ("not_json", "no_identity")
IDENTIFYING: Final = ("proxy", "boot", "seq", "event", "v")
"""A line in which one of these fields is missing has no identity, or none that can be read."""

ABSURD_COUNT: Final = 10**15
"""A sum of thousands of such counts still fits in int64. No proxy counts so many in an interval."""

KEY_FIELDS: Final = ("topic", "verdict", "error_code", "is_final")
"""The fields of their key that all counters have. Tables are sorted by them."""
_HISTOGRAMS: Final = ("ahead", "behind")
_BEATEN: Final = ("lines_dropped", "decisions_suppressed", "batches_folded")
"""The counts of heartbeats."""

_ABSURD_INTERVAL_MS: Final = 10**12
"""This is thirty years. Spark can still compute with an instant plus this length."""
_INSTANT_CHARS: Final = len("2026-11-20T10:00:00.086Z")
_VALUE_CHARS: Final = 60
_EXAMPLE_CHARS: Final = 300
_HOUR: Final = r"^\d{4}-\d\d-\d\dT\d\d"


def of_line() -> Column:
    """The problem of a line as it was read; null if it has none."""
    return F.when(F.col(CORRUPT).isNotNull(), "not_json").otherwise(_of_fields())


def of_second_read() -> Column:
    """The problem of a line of the second reading; null if it has none.

    If a value is of another type, Spark still reads the other fields. If a text is no JSON, Spark reads none.
    """
    is_corrupt, is_there = F.col(CORRUPT).isNotNull(), [F.col(name).isNotNull() for name in IDENTIFYING]
    is_known = reduce(Column.__and__, is_there) & (F.col("v") == SCHEMA_VERSION)
    return (
        F.when(is_corrupt & ~reduce(Column.__or__, is_there), "not_json")
        .when(is_corrupt & is_known, "bad_type")
        .otherwise(_of_fields())
    )


def _of_fields() -> Column:
    problems = [F.when(~reduce(Column.__and__, fields.values()), name) for name, fields in _checks().items()]
    return F.coalesce(*problems)


def _checks() -> dict[str, dict[str, Column]]:
    """The fields that each problem is about, and whether they are good. A line has the first problem of which
    a field is not good. Null only in a line that has a problem before."""
    is_counters, is_beat = [
        F.col("event") == event.value for event in (EventName.COUNTERS, EventName.HEARTBEAT)
    ]
    has_no_facts = F.col("facts").isNull() | (F.col("event") != EventName.LIFECYCLE.value)
    is_length = F.coalesce(F.col("interval_ms").between(0, _ABSURD_INTERVAL_MS), F.lit(False))
    return {
        "no_identity": {name: F.col(name).isNotNull() for name in IDENTIFYING}
        | {"seq": F.coalesce(F.col("seq").between(0, ABSURD_COUNT), F.lit(False))},
        "unknown_version": {"v": F.col("v") == SCHEMA_VERSION},
        "bad_instant": {
            "ts": _is_instant("ts"),
            "interval_start": ~has_interval() | _is_instant("interval_start"),
            "interval_ms": ~has_interval() | is_length,
        },
        "bad_type": {"facts": has_no_facts | F.from_json("facts", "MAP<STRING,STRING>").isNotNull()},
        "bad_key": {name: ~is_counters | _is_of_key(name) for name in KEY_FIELDS},
        "bad_count": {name: ~is_counters | _is_count(name) for name in (*SUMS, *OPTIONAL_SUMS)}
        | {name: ~is_counters | _is_histogram(name) for name in _HISTOGRAMS}
        | {name: ~is_beat | _is_count(name) for name in _BEATEN},
    }


def what_is_wrong() -> Column:
    """The beginning of a line that was changed or is unreadable. For any other unusable line: its name, and
    the wrong part."""
    problem = F.col("problem")
    part = F.when(problem == "conflict", F.lit("delivered with different contents"))
    for name, fields in _checks().items():
        part = part.when(problem == name, F.concat_ws(", ", *_named(name, fields)))
    line = F.concat_ws(" ", "proxy", F.lit("boot"), "boot", F.lit("line"), "seq")
    named = F.when(problem == "no_identity", part).otherwise(F.concat_ws(": ", line, part))
    is_shown = F.coalesce(problem.isin("not_json", "no_identity", "bad_type"), F.lit(True))
    return F.substring(F.coalesce(F.when(is_shown, F.col("raw")), named), 1, _EXAMPLE_CHARS)


def _named(problem: str, fields: Mapping[str, Column]) -> Iterator[Column]:
    """`ts yesterday`; `ts missing` for null. Keys and counts are named only if they are not good."""
    for name, is_good in fields.items():
        value = F.substring(F.coalesce(F.col(name).cast("string"), F.lit("missing")), 1, _VALUE_CHARS)
        named = F.concat_ws(" ", F.lit(name), value)
        if problem in ("bad_key", "bad_count"):
            named = F.when(~is_good, named)
        yield F.when(has_interval(), named) if name.startswith("interval_") else named


def _is_instant(name: str) -> Column:
    """True for exactly the form that the log writes, if it is a real date: not for a 30th of February.

    There is no regular expression: it would run for every line, and would be a fifth of all the work.
    """
    instant = F.col(name)
    formed = (F.length(instant) == _INSTANT_CHARS) & instant.between("1", "9999-12-31T23:59:59.999Z")
    written = (F.substring(instant, 11, 1) == "T") & instant.endswith("Z")
    return F.coalesce(formed & written, F.lit(False)) & F.try_to_timestamp(instant).isNotNull()


def _is_of_key(name: str) -> Column:
    """True if the field may be part of a key of counters; never null."""
    is_there = F.col(name).isNotNull()
    if name != "verdict":
        return is_there
    return is_there & F.col(name).isin(*[verdict.value for verdict in VerdictName])


def _is_count(name: str) -> Column:
    """True if the field is a count that spoils no sum, or if it is optional and missing; never null."""
    return F.expr(f"coalesce({name} BETWEEN 0 AND {ABSURD_COUNT}, {name in OPTIONAL_SUMS})")


def _is_histogram(name: str) -> Column:
    """True if the buckets are counts, and together no more than the line counts; never null.

    Nobody knows what the numbers of another version's histogram are. It is not read, so it spoils nothing.

    The numbers are cast to doubles for speed alone. Spark does not compile a lambda. When a lambda reads a
    line's bucket, Spark 4.2 looks up a setting for each number. The cast copies the buckets without that.
    Doubles are exact far above ABSURD_COUNT.
    """
    return F.expr(
        f"""
        coalesce(
            hist <> '{HISTOGRAM_NAME}'
            OR hist IS NOT NULL AND aggregate(
                cast({name} AS ARRAY<ARRAY<DOUBLE>>), 0D, (so_far, bucket) -> CASE
                    WHEN size(bucket) = 3
                        AND get(bucket, 0) BETWEEN {-len(EDGES)} AND {len(EDGES)}
                        AND get(bucket, 1) BETWEEN 0 AND batches
                        AND get(bucket, 2) BETWEEN 0 AND records
                    THEN so_far + get(bucket, 2) ELSE {2 * ABSURD_COUNT}D END
            ) <= records,
            false
        )
        """
    )


def may_hold_totals(first: date, last: date) -> Column:
    """True for a line set aside that may hold totals of the period; never null.

    Counters belong to the hour in which their interval began. If only the time of writing is known,
    that is the same hour or the one before, since an interval ends with its hour at the latest
    (`decisions.interval`). If no time is known, the line may be of the period.
    """
    event = F.coalesce(F.col("event"), _in_raw("event", "[a-z_]+"))
    is_other = F.coalesce(event.isin(*_HOLD_NO_TOTALS), F.lit(False))
    began, written = [_hour_of(name) for name in ("interval_start", "ts")]
    start, after = f"{first}T00", f"{last + timedelta(days=1)}T00"
    in_period = F.coalesce(
        began.between(start, f"{last}T23"),
        # The hour after midnight holds the last interval of the day before.
        written.between(start, after),
        F.lit(True),
    )
    return ~is_other & in_period


def has_interval() -> Column:
    return F.col("event").isin(EventName.COUNTERS.value, EventName.HEARTBEAT.value, EventName.CLIENT.value)


def _hour_of(name: str) -> Column:
    """The hour of an instant of the line, `2026-11-20T10`, or null. It is read from the column, else from the
    line's beginning."""
    text = F.coalesce(F.col(name), _in_raw(name, '[^"]+'))
    return F.when(text.rlike(_HOUR), F.substring(text, 1, 13))


def _in_raw(name: str, value: str) -> Column:
    """The first text of that name in the beginning of an unreadable line; null if there is none."""
    return F.nullif(F.regexp_extract("raw", f'"{name}" ?: ?"({value})"', 1), F.lit(""))
