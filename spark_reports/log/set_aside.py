"""Lines that were set aside: whether they may hold totals of the period, and what is wrong with them.

A line that cannot be used makes the log incomplete if it holds totals (counters, heartbeats) or may hold
them. Otherwise a day on which all counters are unusable would look like a day without traffic. Decisions
are examples and lifecycle lines are notes: they hold no totals. The event of a torn line is read from the
part that is left of it (`raw`).
"""

from datetime import date, timedelta
from functools import reduce
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log.schema import OPTIONAL_SUMS, SUMS
from tsproxy.decisions.drift import EDGES, HISTOGRAM_NAME
from tsproxy.decisions.fields import EventName
from tsproxy.model.outcome import VerdictName

_HOLD_NO_TOTALS: Final = (EventName.DECISION.value, EventName.LIFECYCLE.value, EventName.CLIENT.value)
PROBLEMS_WITHOUT_IDENTITY: Final = ("not_json", "no_identity")
IDENTIFYING: Final = ("proxy", "boot", "seq", "event", "v")
"""A line in which one of these fields is missing has no identity, or none that can be read."""

COUNTS: Final = (*SUMS, *OPTIONAL_SUMS)

ABSURD_COUNT: Final = 10**15
"""A sum of thousands of such counts still fits in int64. No proxy counts so many in an interval."""

KEY_FIELDS: Final = ("topic", "verdict", "error_code", "is_final")
"""The fields of their key that all counters have. Tables are sorted by them."""
_HISTOGRAMS: Final = ("ahead", "behind")
BEATEN: Final = ("lines_dropped", "decisions_suppressed", "batches_folded")
"""The counts of heartbeats."""

_VALUE_CHARS: Final = 60
_EXAMPLE_CHARS: Final = 300
_HOUR: Final = r"^\d{4}-\d\d-\d\dT\d\d"


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


def what_is_wrong() -> Column:
    """The beginning of a line that was changed or is unreadable. For any other unusable line: its name, and
    the wrong part."""
    problem = F.col("problem")
    interval = [F.when(has_interval(), _named(name)) for name in ("interval_start", "interval_ms")]
    part = (
        F.when(problem == "no_identity", F.concat_ws(", ", *[_named(name) for name in IDENTIFYING]))
        .when(problem == "unknown_version", _named("v"))
        .when(problem == "bad_instant", F.concat_ws(", ", _named("ts"), *interval))
        .when(
            problem == "bad_key",
            F.concat_ws(", ", *[F.when(~is_of_key(name), _named(name)) for name in KEY_FIELDS]),
        )
        .when(problem == "conflict", F.lit("delivered with different contents"))
        .when(problem == "bad_count", F.concat_ws(", ", *[_wrong(name, good) for name, good in _counts()]))
    )
    line = F.concat_ws(" ", "proxy", F.lit("boot"), "boot", F.lit("line"), "seq")
    named = F.when(problem == "no_identity", part).otherwise(F.concat_ws(": ", line, part))
    is_shown = F.coalesce(problem.isin("not_json", "no_identity", "bad_type"), F.lit(True))
    return F.substring(F.coalesce(F.when(is_shown, F.col("raw")), named), 1, _EXAMPLE_CHARS)


def _named(name: str) -> Column:
    """`ts yesterday`; `ts missing` for null."""
    value = F.substring(F.coalesce(F.col(name).cast("string"), F.lit("missing")), 1, _VALUE_CHARS)
    return F.concat_ws(" ", F.lit(name), value)


def _wrong(name: str, is_good: Column) -> Column:
    return F.when(~is_good, _named(name))


def bad_key() -> Column:
    """True for counters that lack a field of their key, or have a verdict that nobody gives; never null."""
    is_counters = F.col("event") == EventName.COUNTERS.value
    return is_counters & reduce(Column.__or__, [~is_of_key(name) for name in KEY_FIELDS])


def is_of_key(name: str) -> Column:
    """True if the field may be part of a key of counters; never null."""
    is_there = F.col(name).isNotNull()
    if name != "verdict":
        return is_there
    return is_there & F.col(name).isin(*[verdict.value for verdict in VerdictName])


def bad_count() -> Column:
    """True for counters and heartbeats with a count that would spoil a sum."""
    return reduce(Column.__or__, [~is_good for _, is_good in _counts()])


def _counts() -> list[tuple[str, Column]]:
    """The fields of counters and heartbeats that hold counts, and whether they are good; true for lines of
    other kinds, never null."""
    is_counters, is_beat = [
        F.col("event") == event.value for event in (EventName.COUNTERS, EventName.HEARTBEAT)
    ]
    return [
        *((name, ~is_counters | is_count(name)) for name in COUNTS),
        *((name, ~is_counters | _is_histogram(name)) for name in _HISTOGRAMS),
        *((name, ~is_beat | is_count(name)) for name in BEATEN),
    ]


def is_count(name: str) -> Column:
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


def _hour_of(name: str) -> Column:
    """The hour of an instant of the line, `2026-11-20T10`, or null. It is read from the column, else from the
    line's beginning."""
    text = F.coalesce(F.col(name), _in_raw(name, '[^"]+'))
    return F.when(text.rlike(_HOUR), F.substring(text, 1, 13))


def _in_raw(name: str, value: str) -> Column:
    """The first text of that name in the beginning of an unreadable line; null if there is none."""
    return F.nullif(F.regexp_extract("raw", f'"{name}" ?: ?"({value})"', 1), F.lit(""))
