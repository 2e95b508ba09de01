"""The days of a rollup as files, `DIR/days/2026-11-20.json`: this module reads and writes them, `history`
defines their form.

They are files and not a table: a query of Spark costs more than these few bytes.
"""

from collections.abc import Iterable
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from spark_reports.log.period import days_between
from spark_reports.report import files, history
from spark_reports.report.history import DayFacts
from spark_reports.report.shape import to_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DAYS_READ: Final = 31
NO_ROLLUP: Final = "`daily` writes it, a day each time, to --rollup or to DIR/rollup of --store DIR"


def around(first: date, last: date) -> tuple[date, date]:
    """The days to read for the report of a period: also the day after it, the seven days before it, and
    those that show whether the rollup lacks days of these."""
    return first - timedelta(days=_DAYS_READ), last + timedelta(days=1)


def read(spark: "SparkSession", rollup: str, first: date, last: date) -> dict[str, DayFacts]:
    """The facts by day: of the days of the period that the rollup holds."""
    return of_texts(files.read_texts(spark, f"{rollup}/days", names(first, last)))


def read_all(spark: "SparkSession", rollup: str) -> dict[str, DayFacts]:
    """The facts by day: of the last days of the rollup, at most `files.MAX_FILES`."""
    return of_texts(files.read_texts(spark, f"{rollup}/days"))


def names(first: date, last: date) -> list[str]:
    """The names of the files of these days."""
    return [f"{day}.json" for day in days_between(first, last)]


def of_texts(texts: Iterable[str]) -> dict[str, DayFacts]:
    """The facts by day, of the texts of files."""
    return {facts["day"]: facts for text in texts if (facts := history.from_text(text)) is not None}


def keep(spark: "SparkSession", rollup: str, facts: Iterable[DayFacts]) -> None:
    for day in facts:
        files.write(spark, f"{rollup}/days", f"{day['day']}.json", to_json(day))
