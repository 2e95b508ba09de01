"""Shared by commands that need Spark: a session, its failures as one sentence, and a line of progress."""

import argparse
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from spark_reports.commands.failures import explained
from spark_reports.exits import SparkUnavailableError, UsageError
from spark_reports.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_NOT_THERE: Final = ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND")
_SKIPS_DAMAGED: Final = "spark.sql.files.ignoreCorruptFiles"
_DEEP: Final = 4


@contextmanager
def spark_at_work(
    options: argparse.Namespace, doing: str, *, is_brief: bool = True, not_there: str = ""
) -> Iterator["SparkSession"]:
    """A Spark session. On a terminal, `doing` is shown as progress; `is_brief` as for `spark_session`.

    Raises UsageError for an input that does not exist (`not_there` says how to make it),
    SparkUnavailableError for all other failures of Spark.
    """
    progress = Progress(shown=sys.stderr.isatty() and not options.quiet)
    progress.say("starting Spark")
    with spark_session(options.master, is_brief=is_brief) as spark:
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        progress.say(doing)
        try:
            with _skipping(spark) if getattr(options, "skip_damaged_files", False) else nullcontext():
                yield spark
        except PySparkException as error:
            if error.getCondition() in _NOT_THERE:
                raise UsageError(explained([str(error)], not_there)) from error
            raise SparkUnavailableError(f"Spark failed: {explained([str(error)])}") from error
        except Py4JJavaError as error:  # of a file that cannot be read, for example
            raise SparkUnavailableError(
                f"Spark failed: {explained(_causes(error.java_exception))}"
            ) from error
        finally:
            progress.done()


@contextmanager
def _skipping(spark: "SparkSession") -> Iterator[None]:
    """Meanwhile, a damaged file is read as far as possible."""
    before = str(spark.conf.get(_SKIPS_DAMAGED))
    spark.conf.set(_SKIPS_DAMAGED, "true")
    try:
        yield
    finally:
        with suppress(Exception):  # a JVM that has ended has no settings; its error is reported anyway
            spark.conf.set(_SKIPS_DAMAGED, before)


def _causes(error: Any) -> list[str]:
    """Java's texts of an exception and of its causes, at most four."""
    said: list[str] = []
    while error is not None and len(said) < _DEEP:
        said.append(str(error.toString()))
        error = error.getCause()
    return said


def missing_days(first: date, last: date, there: Collection[str]) -> list[str]:
    """The days from `first` to `last`, such as `2026-11-20`, that are not in `there`."""
    days = (first + timedelta(days=n) for n in range((last - first).days + 1))
    return [day.isoformat() for day in days if day.isoformat() not in there]


def days_in_words(days: Sequence[str]) -> str:
    """`2026-11-14 to 2026-11-19, 2026-11-21`: days in their order, consecutive ones as one span."""
    spans: list[list[str]] = []
    for day in days:
        if spans and date.fromisoformat(day) - date.fromisoformat(spans[-1][-1]) == timedelta(days=1):
            spans[-1] = [spans[-1][0], day]
        else:
            spans.append([day])
    return ", ".join(" to ".join(span) for span in spans)


class Progress:
    """Progress on one line of standard error, if that is a terminal."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._began = time.monotonic()

    def say(self, doing: str) -> None:
        if self._shown:
            sys.stderr.write(f"\r\x1b[K{doing} … ({time.monotonic() - self._began:.0f} s)")
            sys.stderr.flush()

    def done(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
