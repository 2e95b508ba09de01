"""What commands that need Spark share: a session, its failures in a sentence, and a line of progress."""

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from spark_reports.problems import SparkUnavailableError, UsageError
from spark_reports.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_NOT_THERE: Final = ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND")


@contextmanager
def spark_at_work(
    options: argparse.Namespace, doing: str, *, is_brief: bool = True
) -> Iterator["SparkSession"]:
    """A session while the work is done; `doing` is said where somebody is looking, `is_brief` as its own.

    Raises UsageError for an input that is not there, SparkUnavailableError for anything else that Spark
    gives up at.
    """
    progress = Progress(shown=sys.stderr.isatty() and not options.quiet)
    progress.say("starting Spark")
    with spark_session(options.master, is_brief=is_brief) as spark:
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        progress.say(doing)
        try:
            yield spark
        except PySparkException as error:
            condition = error.getCondition() or "Spark failed"
            text = str(error).strip().partition("\n")[0]
            if condition in _NOT_THERE:
                raise UsageError(text) from error
            raise SparkUnavailableError(f"{condition}: {text}") from error
        except Py4JJavaError as error:  # of a class that does not fit this Spark, for example
            raise SparkUnavailableError(f"Spark failed: {error.java_exception}") from error
        finally:
            progress.done()


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
