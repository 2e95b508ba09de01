"""The problems that make a line unusable (`problem`; `read` lists them).

A table keeps the problem of each line, and the number of the checks that found it. Lines that an earlier
release checked less are checked again when they are read: one absurd count would bend each sum, or end a
report.
"""

from functools import reduce
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log import set_aside
from spark_reports.log.schema import CORRUPT
from tsproxy.decisions.fields import SCHEMA_VERSION

CHECKS: Final = 1
"""The number of these checks. One more whenever they find a problem that they did not find before."""

_ABSURD_INTERVAL_MS: Final = 10**12
"""This is thirty years. Spark can still compute with an instant plus this length."""

_INSTANT_CHARS: Final = len("2026-11-20T10:00:00.086Z")


def of_line() -> Column:
    """The problem of a line as it was read; null if it has none."""
    return F.when(F.col(CORRUPT).isNotNull(), "not_json").otherwise(_of_fields())


def of_second_read() -> Column:
    """The problem of a line of the second reading; null if it has none.

    If a value is of another type, Spark still reads the other fields. If a text is no JSON, Spark reads none.
    """
    is_corrupt, has_none = F.col(CORRUPT).isNotNull(), ~_any_not_null(*set_aside.IDENTIFYING)
    is_known = ~_any_null(*set_aside.IDENTIFYING) & (F.col("v") == SCHEMA_VERSION)
    return (
        F.when(is_corrupt & has_none, "not_json")
        .when(is_corrupt & is_known, "bad_type")
        .otherwise(_of_fields())
    )


def is_to_check() -> Column:
    """True for a stored line that an earlier release has checked, or none; never null."""
    return F.coalesce(F.col("checks") < CHECKS, F.lit(True))


def of_stored() -> Column:
    """The problem of a stored line; null if it has none."""
    return F.coalesce("problem", F.when(is_to_check(), _of_fields()))


def _of_fields() -> Column:
    return (
        F.when(_any_null(*set_aside.IDENTIFYING), "no_identity")
        .when(~F.col("seq").between(0, set_aside.ABSURD_COUNT), "no_identity")
        .when(F.col("v") != SCHEMA_VERSION, "unknown_version")
        .when(~_is_instant(F.col("ts")), "bad_instant")
        .when(
            set_aside.has_interval() & ~(_is_instant(F.col("interval_start")) & _is_length()), "bad_instant"
        )
        .when(set_aside.bad_key(), "bad_key")
        .when(set_aside.bad_count(), "bad_count")
    )


def _any_not_null(*names: str) -> Column:
    return reduce(Column.__or__, [F.col(name).isNotNull() for name in names])


def _any_null(*names: str) -> Column:
    return reduce(Column.__or__, [F.col(name).isNull() for name in names])


def _is_instant(instant: Column) -> Column:
    """True for exactly the form that the log writes, if it is a real date: not for a 30th of February.

    There is no regular expression: it would run for every line, and would be a fifth of all the work.
    """
    formed = (F.length(instant) == _INSTANT_CHARS) & instant.between("1", "9999-12-31T23:59:59.999Z")
    written = (F.substring(instant, 11, 1) == "T") & instant.endswith("Z")
    return F.coalesce(formed & written, F.lit(False)) & F.try_to_timestamp(instant).isNotNull()


def _is_length() -> Column:
    return F.coalesce(F.col("interval_ms").between(0, _ABSURD_INTERVAL_MS), F.lit(False))
