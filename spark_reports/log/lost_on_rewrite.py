"""Usable lines that a table holds for a day, and that a run would not write again.

A run replaces the partitions of its days. If files of such a day are deleted meanwhile, by the retention of a
proxy or of a shipper, the new partition would lack their lines, and no later report could know. Lines are
compared by their numbers, 64 in a word as in `sequence`, so the cost is that of reading the input once more.
"""

from datetime import date

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log import read
from spark_reports.log.sequence import BOOT


def would_vanish(stored: DataFrame, coming: DataFrame, first: date, last: date) -> dict[str, int]:
    """The number of lines of `stored` that are not in `coming`, for each day of the period with such lines.

    Columns of both: `day`, `problem`, BOOT, `seq`.
    """
    held, new = (_numbers(read.of_period(lines, first, last)) for lines in (stored, coming))
    both = held.join(new.withColumnRenamed("bits", "new_bits"), on=["day", *BOOT, "word"], how="left")
    gone = F.bit_count(F.expr("bits & ~coalesce(new_bits, 0L)"))
    counts = both.groupBy("day").agg(F.sum(gone).alias("lines")).where("lines > 0")
    return {row["day"]: row["lines"] for row in counts.orderBy("day").collect()}


def _numbers(lines: DataFrame) -> DataFrame:
    """The numbers of the usable lines, and of lines in conflict, each of which is usable alone: `day`, BOOT,
    `word`, `bits`."""
    word = F.shiftright("seq", 6).alias("word")
    bits = F.expr("bit_or(shiftleft(1L, cast(seq & 63 as int)))").alias("bits")
    counted = lines.where(F.col("problem").isNull() | (F.col("problem") == read.CONFLICT))
    return counted.groupBy("day", *BOOT, word).agg(bits)
