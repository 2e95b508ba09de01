"""What commands that need Spark share: a session, its failures in a sentence, and a line of progress."""

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, Final

from spark_reports.commands.failures import told
from spark_reports.problems import SparkUnavailableError, UsageError
from spark_reports.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_NOT_THERE: Final = ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND")
_SKIPS_DAMAGED: Final = "spark.sql.files.ignoreCorruptFiles"
_DEEP: Final = 4


@contextmanager
def spark_at_work(
    options: argparse.Namespace, doing: str, *, is_brief: bool = True, not_there: str = ""
) -> Iterator["SparkSession"]:
    """A session while the work is done; `doing` is said where somebody is looking, `is_brief` as its own.

    Raises UsageError for an input that is not there (`not_there` says what makes it), SparkUnavailableError
    for anything else that Spark gives up at.
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
                raise UsageError(told([str(error)], not_there)) from error
            raise SparkUnavailableError(f"Spark failed: {told([str(error)])}") from error
        except Py4JJavaError as error:  # of a file that cannot be read, for example
            raise SparkUnavailableError(f"Spark failed: {told(_causes(error.java_exception))}") from error
        finally:
            progress.done()


@contextmanager
def _skipping(spark: "SparkSession") -> Iterator[None]:
    """While the work is done, a file is read as far as it can be."""
    before = str(spark.conf.get(_SKIPS_DAMAGED))
    spark.conf.set(_SKIPS_DAMAGED, "true")
    try:
        yield
    finally:
        with suppress(Exception):  # a JVM that has ended has no settings; why it did is being told already
            spark.conf.set(_SKIPS_DAMAGED, before)


def _causes(error: Any) -> list[str]:
    """What Java says of an exception and of those behind it, at most four deep."""
    said: list[str] = []
    while error is not None and len(said) < _DEEP:
        said.append(str(error.toString()))
        error = error.getCause()
    return said


class Progress:
    """What is being done, on one line of standard error, where somebody is looking."""

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
