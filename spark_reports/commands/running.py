"""What commands that need Spark share: a session, its failures in a sentence, and a line of progress."""

import argparse
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final

from spark_reports.problems import SparkUnavailableError, UsageError
from spark_reports.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_NOT_THERE: Final = ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND")
_SKIPS_DAMAGED: Final = "spark.sql.files.ignoreCorruptFiles"
_WHAT_TO_DO: Final = (
    (
        "FAILED_READ_FILE",
        "The file was cut, or is not what its name or --input-format says. Bring it again, or pass over "
        "what cannot be read of it by --skip-damaged-files: its lines are then named as lost.",
    ),
    (
        "data source: kafka",
        "Start it by spark-submit with --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0, or "
        "whichever version of Spark it is.",
    ),
    (
        "FileSystem",
        "This Spark does not have that file system: start it by spark-submit with its package "
        "(org.apache.hadoop:hadoop-aws for s3a).",
    ),
)
"""By a word of what Spark says, for those failures that a user can end."""


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
            text = _in_a_line(str(error))
            if error.getCondition() in _NOT_THERE:
                raise UsageError(_and(text, not_there)) from error
            raise SparkUnavailableError(_and(f"Spark failed: {text}", _what_to_do(str(error)))) from error
        except Py4JJavaError as error:  # of a file that cannot be read, for example
            causes = list(_causes(error.java_exception))
            said = ": ".join(dict.fromkeys(_in_a_line(cause) for cause in causes))
            what_to_do = next(filter(None, map(_what_to_do, causes)), "")
            raise SparkUnavailableError(_and(f"Spark failed: {said}", what_to_do)) from error
        finally:
            progress.done()


@contextmanager
def _skipping(spark: "SparkSession") -> Iterator[None]:
    """While the work is done, a file is read as far as it can be."""
    before = str(spark.conf.get(_SKIPS_DAMAGED))
    spark.conf.set(_SKIPS_DAMAGED, "true")
    yield
    spark.conf.set(_SKIPS_DAMAGED, before)


def _what_to_do(said: str) -> str:
    return next((advice for word, advice in _WHAT_TO_DO if word in said), "")


def _in_a_line(text: str) -> str:
    """Without the names that Spark gives its errors, for whoever looks them up by other means."""
    first = text.strip().partition("\n")[0]
    return re.sub(r"\s*SQLSTATE: \w+|\[[A-Z][A-Z0-9_.]+\]\s*|^([a-z]\w*\.)+\w+: ", "", first).strip()


def _and(said: str, more: str) -> str:
    return f"{said.removesuffix('.')}. {more}" if more else said


def _causes(error: Any) -> Iterator[str]:
    """What Java says of an exception and of those behind it, the last one first met at most four deep."""
    for _ in range(4):
        if error is None:
            return
        yield str(error.toString())
        error = error.getCause()


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
