"""A second, lenient reading of the lines that the first could not use (`lenient`).

The first reading costs what Spark's JSON reader costs, and clean days have no other. Only the files with
unusable lines are read again, and of them only these lines are replaced.

gzip is known by its first bytes. Spark goes by names: such a file is a few unreadable lines, so a function of
Python unpacks it. It holds one file at a time.
"""

import zlib
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log import damaged_files, frames, lenient, problems, read
from spark_reports.log.read import Source
from spark_reports.log.schema import CAME_AS, CORRUPT, MISTYPED, READ_DDL

_SUSPECT: Final = ("not_json", "no_identity", "bad_instant")
"""The problems that a lenient reading may solve."""
_FILES_NAMED: Final = 1_000
"""If more files have such lines, all files are read again."""
_NAME: Final = "_metadata.file_name"
_GZIP: Final = "1F8B08"
_OPTIONS: Final = {"columnNameOfCorruptRecord": CORRUPT}
_UTF_16: Final = "00"
"""A lone zero byte is no line. Spark reads UTF-16, and leaves one behind the last line."""

Files = dict[str, bool]
"""The names of files with lines to read again, and whether the file is gzip."""


def marked_lines(spark: SparkSession, source: Source, first: DataFrame) -> DataFrame:
    """`first` (`read.marked_lines`), with its unusable lines as this reading finds them."""
    found = files(first)
    if not found:
        return first
    again = lines(spark, source, READ_DDL, found)
    return without(first).unionByName(read.with_marks(again, read.marks(is_second=True)))


def files(marked: DataFrame) -> Files:
    """The files with such lines; `marked`: lines with `problem`, `raw` and `file`."""
    is_gzip = F.bool_or(F.hex(F.coalesce("raw", F.lit(""))).startswith(_GZIP)).alias("is_gzip")
    rows = frames.rows(marked.where(is_suspect()).groupBy("file").agg(is_gzip))
    return {row["file"]: row["is_gzip"] for row in rows}


def without(marked: DataFrame) -> DataFrame:
    """The other lines, which stay as they were read."""
    return marked.where(~is_suspect())


def is_suspect() -> Column:
    """True for a line that is read again; never null."""
    # A file that was damaged and skipped is not there a second time.
    is_of_file = F.coalesce(F.col("raw") == damaged_files.LINE, F.lit(False))
    return F.coalesce(F.col("problem").isin(*_SUSPECT), F.lit(False)) & ~is_of_file


def lines(spark: SparkSession, source: Source, ddl: str, found: Files) -> DataFrame:
    """The lines of these files that the first reading could not use: the columns of `ddl`, CAME_AS, MISTYPED
    and `file`."""
    texts = _suspects(_texts(spark, source, found), ddl)
    for name, step in lenient.STEPS.items():
        texts = texts.withColumn(name, F.expr(step))
    each = texts.withColumn("is_found", F.size("found") > 0).withColumn("line", F.explode("lines"))
    again = each.select("*", _read(F.expr(lenient.AS_WRITTEN), ddl))
    came = F.concat(F.when(F.col("is_zipped"), F.lit("(gzip) ")).otherwise(""), F.col("text"))
    return again.withColumns(
        {
            CAME_AS: F.when(F.col("is_found") | F.col("proxy").isNull(), came),
            MISTYPED: F.col(CORRUPT).isNotNull(),
            CORRUPT: F.when(F.col("line").isNull(), F.col("text")),
            "ts": F.coalesce("ts", F.expr(lenient.WITHOUT_TS)),
        }
    )


def _texts(spark: SparkSession, source: Source, found: Files) -> DataFrame:
    """The lines of these files as texts: `text`, `file`, `is_zipped`."""
    zipped = [name for name, is_gzip in found.items() if is_gzip]
    name = F.col(_NAME)
    wanted = name.isin(*found) if len(found) <= _FILES_NAMED else F.lit(True)
    parts = []
    for reader, places in read.readers(spark, source):
        plain = reader().text(places).where(wanted & ~name.isin(*zipped))
        parts.append(
            plain.select(F.col("value").alias("text"), name.alias("file"), F.lit(False).alias("is_zipped"))
        )
        if zipped:
            packed = reader().format("binaryFile").load(places).where(name.isin(*zipped))
            unpacked = F.explode(F.udf(_unpacked, "array<string>", useArrow=False)("content")).alias("text")
            parts.append(packed.select(unpacked, name.alias("file"), F.lit(True).alias("is_zipped")))
    return reduce(DataFrame.unionByName, parts)


def _unpacked(content: bytearray) -> list[str]:
    """The lines in the members of a gzip file. If it is damaged, the last one says so."""
    left, parts, is_whole = bytes(content), [], True
    while left and is_whole:
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            parts.append(member.decompress(left))
            is_whole = member.eof
        except zlib.error:
            is_whole = False
        left = member.unused_data
    texts = b"".join(parts).decode("utf-8", "replace").split("\n")
    return texts if is_whole else [*texts, damaged_files.LINE]


def _suspects(texts: DataFrame, ddl: str) -> DataFrame:
    """The texts that the first reading could not use, and all that were packed. An array counts as its
    elements, as for Spark; it gives up the whole array for one element."""
    bare = F.regexp_replace("text", r"^[\s\x00\x{FEFF}\x{FFFD}]+|\x00|\s+$", "")
    some = texts.where(F.col("text").rlike(r"\S") & (F.hex("text") != _UTF_16)).withColumn("text", bare)
    elements = F.when(F.col("text").startswith("["), F.from_json("text", "array<string>"))
    is_bad = F.exists(elements, lambda each: F.from_json(each, ddl, _OPTIONS)[CORRUPT].isNotNull())
    each = some.select(
        "file",
        "is_zipped",
        F.coalesce(is_bad, F.lit(False)).alias("is_bad"),
        F.explode(F.coalesce(elements, F.array("text"))).alias("text"),
    )
    marked = each.select("*", _read(F.col("text"), ddl)).withColumns(
        {"problem": problems.of_line(), "raw": F.col("text")}
    )
    # Spark's reader refuses half a surrogate pair in an object, and its function takes it.
    is_half = F.col("text").rlike(r'"facts" ?: ?[{][^}]*(?<!\\)\\u[dD][89a-fA-F]')
    again = F.col("is_zipped") | F.col("is_bad") | is_half | is_suspect()
    return marked.where(again).select("file", "text", "is_zipped")


def _read(text: Column, ddl: str) -> Column:
    """The columns of a text. They come from an array, past which Spark moves no filter: it would parse a text
    once for each column that the filter names."""
    return F.inline(F.array(F.from_json(text, ddl, _OPTIONS)))
