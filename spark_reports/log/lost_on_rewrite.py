"""Lines that a table holds for a day, and that a run would not write again.

A run replaces the partitions of its days. If files of such a day are deleted meanwhile, by the retention of a
proxy or of a shipper, the new partition would lack their lines, and no later report could know. Lines are
compared by their numbers, 64 in a word as in `sequence`, so the cost is that of reading the input once more.
"""

from datetime import date
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log import read
from spark_reports.log.sequence import BOOT

_BITS: Final = ("usable_bits", "known_bits")
"""The usable lines of a word, and all of it, usable or not. A usable line must not be replaced by an unusable
one. An unusable one must not vanish either: it may be all that says that a proxy is of a newer version."""


def would_vanish(stored: DataFrame, coming: DataFrame, first: date, last: date) -> dict[str, int]:
    """The number of lines of `stored` that are not in `coming`, for each day of the period with such lines.

    Columns of both: `day`, `problem`, BOOT, `seq`.
    """
    held, new = (_numbers(read.of_period(lines, first, last)) for lines in (stored, coming))
    renamed = new.withColumnsRenamed({name: f"new_{name}" for name in _BITS})
    both = held.join(renamed, on=["day", *BOOT, "word"], how="left")
    gone = [f"{name} & ~coalesce(new_{name}, 0L)" for name in _BITS]
    counts = both.groupBy("day").agg(F.sum(F.bit_count(F.expr(" | ".join(gone)))).alias("lines"))
    return {row["day"]: row["lines"] for row in counts.where("lines > 0").orderBy("day").collect()}


def _numbers(lines: DataFrame) -> DataFrame:
    """The numbers of the lines: `day`, BOOT, `word`, and _BITS. Lines without an identity have none."""
    word = F.shiftright("seq", 6).alias("word")
    # A line in conflict is usable alone.
    usable = "problem IS NULL OR problem = '" + read.CONFLICT + "'"
    bit = "shiftleft(1L, cast(seq & 63 as int))"
    bits = (f"bit_or(if({usable}, {bit}, 0L))", f"bit_or({bit})")
    named = [F.expr(each).alias(name) for each, name in zip(bits, _BITS, strict=True)]
    return read.identified(lines).groupBy("day", *BOOT, word).agg(*named)
