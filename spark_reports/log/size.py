"""Whether a log is small: known from the list of its files, before any of them is read.

A small log is read by one task, and its queries are neither compiled nor spread out: to plan, compile and
distribute them costs more than to run them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from pyspark.sql import DataFrame

from spark_reports.log.store import Form

_SMALL_BYTES: Final = 32 << 20
"""JSON lines that one task reads in some seconds: about 40,000 counters."""

_FEW_FILES: Final = 200
"""One task opens them one after the other, which takes long on a distant file system."""

_EXPANSION: Final[Mapping[str, int]] = MappingProxyType({".gz": 12, ".zst": 15})
"""The bytes of JSON lines in a byte of a compressed file, about."""
_TABLE_EXPANSION: Final = 30
"""The bytes of JSON lines for a byte of a table of `compact`."""


def is_small(lines: DataFrame, form: Form) -> bool:
    """Whether `lines`, which are not read yet, come from a small log.

    False if Spark does not know it: then the log is read like a large one.
    """
    plan: Any = getattr(lines, "_jdf", None)  # the sizes that Spark knows have no public name
    if plan is None:
        return False
    execution = plan.queryExecution()
    # Only the optimizer leaves out the partitions of other days, which JSON does not have.
    known = execution.analyzed() if form is Form.JSON else execution.optimizedPlan()
    total = int(str(known.stats().sizeInBytes()))
    if total > _SMALL_BYTES:
        return False
    files = lines.inputFiles()
    if form is Form.JSON:
        most = max((_EXPANSION.get(name[name.rfind(".") :], 1) for name in files), default=1)
    else:
        most = _TABLE_EXPANSION
    return len(files) <= _FEW_FILES and total * most <= _SMALL_BYTES
