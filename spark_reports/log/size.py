"""The size of a log: known from the list of its files, before any of them is read.

A small log is read by one task, and its queries are neither compiled nor spread out: to plan, compile and
distribute them costs more than to run them. The queries over a larger log are spread over as many tasks as it
has bytes for. The session's own number (200, if nobody has chosen it) is only the limit.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from types import MappingProxyType
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from spark_reports.log.store import Form
from spark_reports.spark.session import settings, small_queries

_SMALL_BYTES: Final = 8 << 20
"""The bytes of JSON lines that one task reads in a few seconds: about 8,000 counters."""

_FEW_FILES: Final = 200
"""The most files of a small log. One task opens them one after the other, which is slow on a distant file
system."""

_BYTES_A_TASK: Final = 8 << 20
"""The bytes of files for each task of a query that puts lines together. The files may be compressed."""
_SPREAD: Final = "spark.sql.shuffle.partitions"

_EXPANSION: Final[Mapping[str, int]] = MappingProxyType({".gz": 12, ".zst": 15})
"""The bytes of JSON lines for a byte of a compressed file, approximately."""
TABLE_EXPANSION: Final = 30
"""The bytes of JSON lines for a byte of a table of `compact`, approximately."""


_NAMES_SEEN: Final = 20


def file_bytes(lines: DataFrame, form: Form) -> int | None:
    """The bytes of the files of `lines`, which are not read yet; None if Spark does not know them."""
    plan: Any = getattr(lines, "_jdf", None)  # the sizes that Spark knows have no public name
    if plan is None:
        return None
    execution = plan.queryExecution()
    # JSON has no partitions. In a table, only the optimizer leaves out the partitions of other days.
    known = execution.analyzed() if form is Form.JSON else execution.optimizedPlan()
    return int(str(known.stats().sizeInBytes()))


@contextmanager
def planned(lines: DataFrame, form: Form) -> Iterator[DataFrame]:
    """Inside the block, the session plans queries for the size of `lines`; yields the lines to ask.

    A small log is one partition, so no query needs a shuffle.
    """
    spark, total = lines.sparkSession, file_bytes(lines, form)
    if is_small(lines, form, total):
        with small_queries(spark):
            yield lines.coalesce(1)
    else:
        with spread(spark, total):
            yield lines


def is_small(lines: DataFrame, form: Form, total: int | None) -> bool:
    """Whether `lines`, in files of `total` bytes, come from a small log. False if the size is unknown."""
    if total is None or total > _SMALL_BYTES:
        return False
    plan: Any = lines  # the list stays in Java, since it may be long; it has no public name there
    files = plan._jdf.inputFiles()
    if len(files) > _FEW_FILES:
        return False
    most = TABLE_EXPANSION
    if form is Form.JSON:
        most = max((_EXPANSION.get(name[name.rfind(".") :], 1) for name in files), default=1)
    return total * most <= _SMALL_BYTES


def spread(spark: SparkSession, total: int | None) -> AbstractContextManager[None]:
    """Inside the block, a query over files of `total` bytes is spread over at most as many tasks as these
    bytes need."""
    configured = int(str(spark.conf.get(_SPREAD)))
    wanted = configured if total is None else min(configured, -(-total // _BYTES_A_TASK) or 1)
    return settings(spark, {_SPREAD: str(wanted)})


def lines_bytes(files: Any, total: int) -> int:
    """The approximate bytes of JSON lines in files of `total` bytes. `files` is a Java array of their names.

    Some of the names show whether the files are compressed. Reading a hundred thousand names from Java is
    slow.
    """
    step = max(1, len(files) // _NAMES_SEEN)
    names = [files[number] for number in range(0, len(files), step)]
    factors = [_EXPANSION.get(name[name.rfind(".") :], 1) for name in names]
    return total * sum(factors) // len(factors) if factors else total
