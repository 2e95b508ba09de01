"""Lines that were set aside and may hold totals of the period.

A line that cannot be used makes the log incomplete if it holds totals (counters, heartbeats) or may hold
them. Otherwise a day on which all counters are unusable would look like a day without traffic. Decisions
are examples and lifecycle lines are notes: they hold no totals. The event of a torn line is read from the
part that is left of it (`raw`).
"""

from datetime import date, timedelta
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from tsproxy.decisions.fields import EventName

_HOLD_NO_TOTALS: Final = (EventName.DECISION.value, EventName.LIFECYCLE.value)
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


def _hour_of(name: str) -> Column:
    """`2026-11-20T10` of an instant of the line, or null: from the column, else from the line's beginning."""
    text = F.coalesce(F.col(name), _in_raw(name, '[^"]+'))
    return F.when(text.rlike(_HOUR), F.substring(text, 1, 13))


def _in_raw(name: str, value: str) -> Column:
    """The first text of that name in the beginning of an unreadable line; null if there is none."""
    return F.nullif(F.regexp_extract("raw", f'"{name}" ?: ?"({value})"', 1), F.lit(""))
