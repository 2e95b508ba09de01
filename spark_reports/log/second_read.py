"""A second, lenient reading of the files with lines that the first could not use (`lenient`).

The first reading costs what Spark's JSON reader costs, and clean days have no other. Files with unusable
lines are read again, and all their lines replace those of the first reading, so that no line is read by both
or by neither.

gzip and zstandard are known by their first bytes. Spark goes by names: such a file is a few unreadable lines,
so a function of Python unpacks it. It holds one file at a time.
"""

from functools import reduce
from typing import Final

from pyspark import cloudpickle
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log import damaged_files, frames, lenient, packed_files, read
from spark_reports.log.read import Source
from spark_reports.log.schema import CAME_AS, CORRUPT, READ_DDL

_SUSPECT: Final = ("not_json", "no_identity", "bad_instant")
"""The problems that a lenient reading may solve."""
_FILES_NAMED: Final = 1_000
"""If more files have such lines, all files are read again."""
_UTF_16: Final = "00"
"""A lone zero byte is no line. Spark reads UTF-16, and leaves one behind the last line."""
_MARKS: Final = r"[\x00\x{FEFF}\x{FFFD}]+"

# Python on an executor may lack spark_reports: without this, Spark sends the names of these functions alone.
for module in (lenient, packed_files):
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # bundled, without types

Files = dict[str, bool]
"""The names of files to read again, and whether one of that name is packed."""


def marked_lines(spark: SparkSession, source: Source, first: DataFrame) -> DataFrame:
    """`first` (`read.marked_lines`), with the lines of the files to read again as this reading finds them."""
    again = files(first)
    if not again:
        return first
    second = read.with_marks(lines(spark, source, READ_DDL, again), read.marks(is_second=True))
    return without(first, again).unionByName(second)


def files(marked: DataFrame) -> Files:
    """The files with such lines; `marked`: lines with `problem`, `raw` and `file`."""
    is_packed = F.bool_or(packed_files.is_packed(F.coalesce("raw", F.lit("")))).alias("is_packed")
    rows = frames.rows(marked.where(is_suspect()).groupBy("file").agg(is_packed))
    return {row["file"]: row["is_packed"] for row in rows}


def without(marked: DataFrame, again: Files) -> DataFrame:
    """The lines of the other files. A file that was damaged and skipped keeps its line: it is not there a
    second time."""
    return marked.where(_is_of_damaged_file() | ~_is_named(F.col("file"), again))


def is_suspect() -> Column:
    """True for a line for which its file is read again; never null."""
    return F.coalesce(F.col("problem").isin(*_SUSPECT), F.lit(False)) & ~_is_of_damaged_file()


def _is_of_damaged_file() -> Column:
    return F.coalesce(F.col("raw") == damaged_files.LINE, F.lit(False))


def _is_named(name: Column, again: Files) -> Column:
    return name.isin(*again) if len(again) <= _FILES_NAMED else F.lit(True)


def lines(spark: SparkSession, source: Source, ddl: str, again: Files) -> DataFrame:
    """The lines of these files: the columns of `ddl`, CAME_AS and `file`."""
    texts = _texts(spark, source, again).where(F.col("text").rlike(r"\S") & (F.hex("text") != _UTF_16))
    opened = F.udf(lenient.lines, "array<string>", useArrow=False)(F.col("text").cast("binary"))
    single = texts.withColumn("opened", opened).select(
        "file",
        "packing",
        "text",
        (F.col("opened").isNull() & (F.col("packing") == "")).alias("is_as_it_came"),
        F.explode(F.coalesce("opened", F.array("text"))).alias("line"),
    )
    # The columns come from an array, past which Spark moves no filter: it would parse a text once for each
    # column that the filter names.
    columns = F.inline(F.array(F.from_json("line", ddl, {"columnNameOfCorruptRecord": CORRUPT})))
    is_usable = F.col(CORRUPT).isNull() & F.col("proxy").isNotNull()
    bare = F.regexp_replace("text", _MARKS, "")
    came_as = F.when(~(F.col("is_as_it_came") & is_usable), F.concat("packing", bare))
    return single.select("*", columns).withColumn(CAME_AS, came_as)


def _texts(spark: SparkSession, source: Source, again: Files) -> DataFrame:
    """The lines of these files as texts: `text`, `file`, and `packing`, which is empty or says how the file
    is packed."""
    packed = [name for name, is_packed in again.items() if is_packed]
    name = F.col("_metadata.file_name")
    parts = []
    for reader, places in read.readers(spark, source):
        plain = reader().text(places).where(damaged_files.is_read() & _is_named(name, again))
        if packed and (paths := packed_files.paths(plain.where(name.isin(*packed)))):
            plain = plain.where(~F.col(damaged_files.PATH).isin(paths))
            parts.append(packed_files.texts(reader(), places, name, paths))
        parts.append(
            plain.select(F.col("value").alias("text"), name.alias("file"), F.lit("").alias("packing"))
        )
    return reduce(DataFrame.unionByName, parts)
