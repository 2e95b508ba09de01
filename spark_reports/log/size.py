"""The size of a log: known from the list of its files, before any of them is read.

A small log is read by one task, and its queries are neither compiled nor spread out: to plan, compile and
distribute them costs more than to run them. The queries over a larger log are spread over as many tasks as it
has bytes for. The session's own number (200, if nobody has chosen it) is only the limit.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from spark_reports.log.store import Form
from spark_reports.spark.session import settings

_SMALL_BYTES: Final = 8 << 20
"""JSON lines that one task reads in a few seconds: about 8,000 counters. The driver holds them all, in some
fifteen times the memory."""

_FEW_FILES: Final = 200
"""One task opens them one after the other, which takes long on a distant file system."""

_BYTES_A_TASK: Final = 8 << 20
"""The bytes of files for which a query that puts lines together has one task. They may be compressed."""
_SPREAD: Final = "spark.sql.shuffle.partitions"

_EXPANSION: Final[Mapping[str, int]] = MappingProxyType({".gz": 12, ".zst": 15})
"""The bytes of JSON lines in a byte of a compressed file, about."""
TABLE_EXPANSION: Final = 30
"""The bytes of JSON lines for a byte of a table of `compact`."""


_NAMES_SEEN: Final = 20


def file_bytes(lines: DataFrame, form: Form) -> int | None:
    """The bytes of the files of `lines`, which are not read yet; None if Spark does not know them."""
    plan: Any = getattr(lines, "_jdf", None)  # the sizes that Spark knows have no public name
    if plan is None:
        return None
    execution = plan.queryExecution()
    # Only the optimizer leaves out the partitions of other days, which JSON does not have.
    known = execution.analyzed() if form is Form.JSON else execution.optimizedPlan()
    return int(str(known.stats().sizeInBytes()))


def is_small(lines: DataFrame, form: Form, total: int | None) -> bool:
    """Whether `lines`, in files of `total` bytes, come from a small log. False if nobody knows."""
    if total is None or total > _SMALL_BYTES:
        return False
    plan: Any = lines  # the way to the list in Java has no public name: it may be long
    files = plan._jdf.inputFiles()
    if len(files) > _FEW_FILES:
        return False
    most = TABLE_EXPANSION
    if form is Form.JSON:
        most = max((_EXPANSION.get(name[name.rfind(".") :], 1) for name in files), default=1)
    return total * most <= _SMALL_BYTES


def spread(spark: SparkSession, total: int | None) -> AbstractContextManager[None]:
    """Inside, a query over files of `total` bytes is spread over so many tasks as they need, at most."""
    configured = int(str(spark.conf.get(_SPREAD)))
    wanted = configured if total is None else min(configured, -(-total // _BYTES_A_TASK) or 1)
    return settings(spark, {_SPREAD: str(wanted)})


def lines_bytes(files: Any, form: Form, total: int) -> int:
    """The bytes of JSON lines in `files`, an array of Java's with names, which have `total` bytes: about.

    Some names say whether the files are compressed. To ask Java for each of a hundred thousand takes long.
    """
    if form is not Form.JSON:
        return total * TABLE_EXPANSION
    step = max(1, len(files) // _NAMES_SEEN)
    names = [files[number] for number in range(0, len(files), step)]
    factors = [_EXPANSION.get(name[name.rfind(".") :], 1) for name in names]
    return total * sum(factors) // len(factors) if factors else total
