"""The shared part of commands that need Spark: a session, and its failures as one line, with advice."""

import argparse
import logging
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spark_reports import arguments
from spark_reports.errors import SparkUnavailableError, UsageError
from spark_reports.log.inputs import of_day
from spark_reports.log.period import days_between
from spark_reports.report.files import alone, local, require_writable
from spark_reports.spark.session import settings, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_ADVICE: Final = (
    (
        "Permission denied",
        "Give the user of this process the right to read it: files of the decision log are readable by the "
        "proxy's user and its group.",
    ),
    ("Conflicting partition column names", "Two runs wrote a day at the same time: run it again."),
    ("Mkdirs failed|mkdir of", "The user of this process may not write there."),
    (
        "FAILED_READ_FILE",
        "The file was cut, or is not what its name or --input-format says. Copy it again, or skip the parts "
        "that cannot be read by --skip-damaged-files: the log is then incomplete and names them.",
    ),
    (
        "No FileSystem for scheme|FileSystem not found",
        "This Spark does not have that file system: start it by spark-submit with its package "
        "(org.apache.hadoop:hadoop-aws for s3a).",
    ),
    (
        r"NoSuchBucket|Connection refused|AccessDenied|InvalidAccessKeyId|Status Code: 40[013]",
        "Check the name of the place, and the endpoint and the credentials that this Spark has for it.",
    ),
    (
        "ARITHMETIC_OVERFLOW",
        "A sum does not fit into 64 bits, so no proxy wrote all of these lines.",
    ),
)
"""Regular expressions for Spark's text, each with its advice. The first match counts."""

_NOISE: Final = re.compile(
    r"\s*SQLSTATE: \w+|\[[A-Z][A-Z0-9_.]+\]\s*|^([a-z]\w*\.)+[A-Z]\w*: "
    r"|(?<=: )([a-z]\w*\.){2,}\w+Exception: (?=\S+ \S)"
    r"|Service: \w+, (?=Status Code)|, (Extended )?Request ID: [^),]*|\s*\(SDK Attempt Count: \d+\)"
    r"|\s*(Use '?try_\w+|If necessary,? set).*"
)
"""Names of errors and of Java's classes (inside a text, only of those with a sentence behind them), the
numbers of AWS's requests, and Spark's advice to authors of queries: to let them return NULL, or to switch
off the check that found the error."""

_CHARS: Final = 300
"""The most characters of one cause: it may hold the long name of a temporary file."""

_NOT_THERE: Final = "[PATH_NOT_FOUND]"
_GLOB: Final = re.compile(r"[*?\[{\\]")
_MAX_CAUSES: Final = 4
_UNPACKED: Final = {".gz": 12, ".zst": 15}
"""How many times larger a packed log is when it is read, about."""


@contextmanager
def spark_at_work(options: argparse.Namespace, *, writes: Sequence[str] = ()) -> Iterator["SparkSession"]:
    """A Spark session for the input's size, with progress on a terminal unless the command is to be quiet.

    `writes`: the folders that will be written. Folders of this machine are tested before Spark starts, and no
    other run writes there.

    Raises UsageError for an input that does not exist, OSError for a folder of this machine that cannot be
    written, FailedError if another run writes there, and SparkUnavailableError for all other failures of
    Spark.
    """
    _require_there(options)
    for folder in writes:
        require_writable(folder)
    shows_progress = sys.stderr.isatty() and not options.quiet
    size = size_here(options)
    with (
        alone(writes),
        spark_session(options.master, size_bytes=size, shows_progress=shows_progress) as spark,
    ):
        from spark_reports.log.damaged_files import SKIPS

        skips = {SKIPS: "true"} if getattr(options, "skip_damaged_files", False) else {}
        with failures_explained(), _errors_said_once(), settings(spark, skips):
            yield spark


@contextmanager
def failures_explained() -> Iterator[None]:
    """Inside the block, an error of Spark becomes one line: SparkUnavailableError, or UsageError for a path
    that does not exist."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:  # pyspark turns some of Java's errors into its own
        if str(error).startswith(_NOT_THERE):
            raise UsageError(explained([str(error)])) from error
        raise SparkUnavailableError(f"Spark failed: {explained([str(error)])}") from error
    except Py4JJavaError as error:  # for example, a file cannot be read
        raise SparkUnavailableError(f"Spark failed: {explained(_causes(error.java_exception))}") from error


def _require_there(options: argparse.Namespace) -> None:
    """Raises UsageError for an input of this machine that does not exist: Spark needs seconds to find out."""
    for path in getattr(options, "input", ()):
        if not _GLOB.search(path) and (here := local(path)) is not None and not here.exists():
            raise UsageError(f"{path} does not exist")


def size_here(options: argparse.Namespace) -> int | None:
    """About how many bytes of JSON the log of the days has. None for a table, and for another file system."""
    heres = [local(path) for path in options.input]
    if not heres or None in heres or getattr(options, "input_format", "json") != "json":
        return None
    days = days_between(*arguments.period_of(options))
    paths = {of_day(str(here), day) for here in heres for day in days}
    places = {Path(found) for path in paths for found in glob(path)}
    below = {file for place in places for file in place.rglob("decisions-*")}
    names = tuple(f"decisions-{day:%Y%m%d}" for day in days)
    total = 0
    for file in places | {file for file in below if file.name.startswith(names)}:
        with suppress(OSError):  # a proxy renames its open file
            total += file.stat().st_size * _UNPACKED.get(file.suffix, 1) if file.is_file() else 0
    return total or None


@contextmanager
def _errors_said_once() -> Iterator[None]:
    """Inside the block, Python logs no errors. Spark 4 logs each error of a query that it raises, as JSON
    with Java's whole stack."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(before)


def _causes(error: Any) -> list[str]:
    """Java's texts of an exception and of its causes, at most four."""
    texts: list[str] = []
    while error is not None and len(texts) < _MAX_CAUSES:
        texts.append(str(error.toString()))
        error = error.getCause()
    return texts


def explained(texts: Sequence[str]) -> str:
    """One line from the texts of a failure and of its causes, with advice."""
    lines: list[str] = []
    for text in map(_in_a_line, texts):
        # A cause is often a part of the text of what it caused.
        if not any(f": {text}:" in f": {line}:" for line in lines):
            lines.append(text)
    whole = "\n".join(texts)
    advice = next((advice for pattern, advice in _ADVICE if re.search(pattern, whole)), "")
    line = ": ".join(text.removesuffix(".") for text in lines)
    return f"{line}. {advice}" if advice else line


def _in_a_line(text: str) -> str:
    line = _NOISE.sub("", text.strip().partition("\n")[0]).strip()
    return line if len(line) <= _CHARS else f"{line[:_CHARS]}…"
