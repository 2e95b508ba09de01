"""Damaged files that a session skips (`--skip-damaged-files`): one unreadable line stands for each of them.

Spark skips the rest of a damaged file, and says nothing. Line numbers show the loss only if other files have
lines of the same process: a process whose only file is damaged would be missing without a word. So the files
are read once more, without skipping: Spark then names a damaged file. That is repeated without the files that
are already known.
"""

import re
from collections.abc import Sequence
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, DataFrameReader
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log.schema import CORRUPT
from spark_reports.spark.session import settings

SKIPS: Final = "spark.sql.files.ignoreCorruptFiles"
"""Spark's setting with which it skips what it cannot read of a file."""

LINE: Final = "(damaged file: it is unknown how many lines were skipped)"
"""The text of the line that stands for a damaged file."""

_NOT_READ: Final = r"\.(lz4|snappy)$"
"""Hadoop's codecs for these names ask for memory until Spark ends, or read nothing of what others packed."""

PATH: Final = "_metadata.file_path"
"""The column of Spark with a file's path."""
_NAMED: Final = re.compile(r"error while reading file (\S+?)\.?\s")
"""The file in the text of Spark's error FAILED_READ_FILE. Spaces in names are encoded."""


def is_read() -> Column:
    """True for a file with a name that Spark may read, as a condition of its listing."""
    return ~F.col("_metadata.file_name").rlike(_NOT_READ)


def not_read(lines: DataFrame, reader: DataFrameReader, places: list[str]) -> list[str]:
    """The files of `lines` that Spark must not read, in the form of PATH. None of them is read here."""
    if not lines.where(~is_read()).select(F.lit(1)).rdd.getNumPartitions():
        return []
    files = reader.format("binaryFile").load(places).where(~is_read()).select(PATH)
    return [row[0] for row in files.collect()]


def paths(lines: DataFrame) -> list[str]:
    """The damaged files among those of `lines`, which Spark reads as text, in the form of PATH. Raises Java's
    errors if a file cannot be read for another reason."""
    damaged: list[str] = []
    while True:
        try:
            with settings(lines.sparkSession, {SKIPS: "false"}):
                lines.where(~F.col(PATH).isin(damaged)).agg(F.sum(F.length("value"))).collect()
            return damaged
        except (Py4JJavaError, PySparkException) as error:
            named = _NAMED.search(str(error))
            # Spark has two forms for a file of this machine; that of PATH is `file:/…`.
            path = None if named is None else named[1].replace("file:///", "file:/", 1)
            if path is None or path in damaged:
                raise
            damaged.append(path)


def as_lines(
    reader: DataFrameReader, places: list[str], damaged: list[str], more: Sequence[Column]
) -> DataFrame:
    """For each of these files a line that Spark could not read, CORRUPT, and `more`. They are not read."""
    files = reader.format("binaryFile").load(places).where(F.col(PATH).isin(damaged))
    return files.select(F.lit(LINE).alias(CORRUPT), *more)
