"""Lines set aside of which totals may be missing: counters, heartbeats, and what is not known to be neither.

A day all of whose counters cannot be used looks like a day on which nothing came. So such a line makes the
log incomplete, as a lost one does. A decision is an example and a lifecycle line is news: neither is missed
in any total. The beginning of a torn line (`raw`) says what it was, as far as it goes.
"""

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.words import NEWER
from tsproxy.decisions.fields import EventName

_UNKNOWN_VERSION: Final = "unknown_version"
_HOLD_NO_TOTALS: Final = (EventName.DECISION.value, EventName.LIFECYCLE.value)
_HOUR: Final = r"^\d{4}-\d\d-\d\dT\d\d"


def may_hold_totals(first: date, last: date) -> Column:
    """True for a line set apart that may hold totals of the period; never null.

    Counters belong to the hour in which their interval began. Where only the time of writing is known, that
    is the same hour or the one before, since an interval ends with its hour at the latest
    (`decisions.interval`). Where no time is known, the line may be of the period.
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
    """`2026-11-20T10` of an instant of the line, or null: read as a column, else out of its beginning."""
    said = F.coalesce(F.col(name), _in_raw(name, '[^"]+'))
    return F.when(said.rlike(_HOUR), F.substring(said, 1, 13))


def _in_raw(name: str, value: str) -> Column:
    """The first text of that name in the beginning of an unreadable line; null where there is none."""
    return F.nullif(F.regexp_extract("raw", f'"{name}" ?: ?"({value})"', 1), F.lit(""))


def by_problem(files: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """The unusable lines by problem, of rows of `read.files`; no problem has none."""
    sums: dict[str, int] = {}
    for row in files:
        if row["unusable"]:
            sums[row["problem"]] = sums.get(row["problem"], 0) + row["unusable"]
    return sums


def said(unusable: Mapping[str, int]) -> str:
    """`12 lines set aside that may hold totals (…)`, with the cure where one is known; empty for none.

    `unusable`: lines by problem.
    """
    lines = sum(unusable.values())
    if not lines:
        return ""
    newer = unusable.get(_UNKNOWN_VERSION, 0)
    cure = f" ({NEWER})" if newer == lines else f" ({newer:,} {NEWER})" if newer else ""
    return f"{lines:,} {'line' if lines == 1 else 'lines'} set aside that may hold totals{cure}"


def nothing_usable(first: date, last: date, unusable: Mapping[str, int]) -> str:
    """The error text where lines of the period are there and none can be used; `unusable` as for `said`."""
    days = f"{first}" if first == last else f"{first}..{last}"
    return f"nothing of {days} can be used: {said(unusable)}; `spark_reports doctor` shows examples"
