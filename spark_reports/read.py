"""The decision log as one DataFrame: each line once, and every line that cannot be used set apart.

`lines` reads JSON lines (plain or gzip) of any file system Spark knows, from directories as the
proxy writes them (`decisions-20261120T1000….jsonl`) or from files given by name. Files that are still
written (`.open`) are read too: a torn last line is then quarantined like any other unreadable one.

What is set apart, with its reason in `problem`:

    not_json         the line is not one JSON object with the schema's types
    no_identity      proxy, boot, seq, event or v is missing
    bad_instant      ts or interval_start is not an instant
    bad_count        a count is negative or absurd, and would spoil a sum
    unknown_version  v is not ours: a newer proxy wrote it

Spark's JSON reader accepts `{…}{…}` on one line and drops what follows the first object without a word;
the gap in `seq` shows it (`checks`).
"""

from collections.abc import Sequence
from datetime import date, timedelta
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses
from pyspark.storagelevel import StorageLevel

from spark_reports.schema import COLUMNS, CORRUPT, IDENTITY, READ_DDL, SUMS
from tsproxy.decisions.fields import SCHEMA_VERSION, EventName

LATENESS_DAYS: Final = 1
"""Lines of a day may stand in files opened a day before it (rotation) or a day after (late counters)."""

_ABSURD_COUNT: Final = 10**15
"""A sum of millions of such counts still fits in int64; no proxy counts as many in an interval."""

_RAW_CHARS: Final = 300
_INSTANT: Final = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$"
_FILE_NAMES: Final = (".jsonl", ".json", ".gz", ".zst", ".open")


def lines(spark: SparkSession, inputs: Sequence[str], first: date, last: date) -> DataFrame:
    """Every distinct line that may concern the days, once, with `copies`, `problem`, `day` and `hour`.

    A directory, with all below it, gives its files for those days (and one more day either side), a file
    name or glob all it matches. Columns: those of `schema.COLUMNS`, then `raw`, `file`, `copies` (how
    often the line was delivered), `problem` (null if none), `day` (`2026-11-20`), `hour`
    (`2026-11-20T10`). Raises pyspark's AnalysisException for a path that is not there.
    """
    parts = [_read(spark, path, first, last) for path in inputs]
    return deduplicated(with_problem(reduce(DataFrame.unionByName, parts)))


def _read(spark: SparkSession, path: str, first: date, last: date) -> DataFrame:
    reader = spark.read.schema(READ_DDL).option("columnNameOfCorruptRecord", CORRUPT)
    if not path.endswith(_FILE_NAMES):
        names = f"decisions-{{{','.join(_days(first, last))}}}*"
        reader = reader.option("pathGlobFilter", names).option("recursiveFileLookup", "true")
    return reader.json(path).select(*COLUMNS, CORRUPT, F.col("_metadata.file_name").alias("file"))


def _days(first: date, last: date) -> list[str]:
    """The days in file names that may hold lines of the period, `20261120`."""
    start = first - timedelta(days=LATENESS_DAYS)
    count = (last - first).days + 2 * LATENESS_DAYS + 1
    return [(start + timedelta(days=n)).strftime("%Y%m%d") for n in range(count)]


def with_problem(raw: DataFrame) -> DataFrame:
    """Lines with `problem`, `raw` (the beginning of an unreadable line), `day` and `hour`."""
    problem = (
        F.when(F.col(CORRUPT).isNotNull(), "not_json")
        .when(_any_null("proxy", "boot", "seq", "event", "v"), "no_identity")
        .when(F.col("v") != SCHEMA_VERSION, "unknown_version")
        .when(~_is_instant(F.col("ts")), "bad_instant")
        .when(_has_interval() & ~_is_instant(F.col("interval_start")), "bad_instant")
        .when((F.col("event") == EventName.COUNTERS) & _bad_counts(), "bad_count")
    )
    # A counters line is written when its interval is over, maybe a day later than what it counts.
    when = F.when(_has_interval(), F.col("interval_start")).otherwise(F.col("ts"))
    return raw.select(
        *COLUMNS,
        F.substring(CORRUPT, 1, _RAW_CHARS).alias("raw"),
        "file",
        problem.alias("problem"),
        F.substring(when, 1, 10).alias("day"),
        F.substring(when, 1, 13).alias("hour"),
    )


def _has_interval() -> Column:
    return F.col("event").isin(EventName.COUNTERS.value, EventName.HEARTBEAT.value)


def _any_null(*names: str) -> Column:
    return reduce(Column.__or__, [F.col(name).isNull() for name in names])


def _is_instant(instant: Column) -> Column:
    """True for exactly what the log writes; a 30th of February has the form but is none."""
    formed = F.coalesce(instant.rlike(_INSTANT), F.lit(False))
    return formed & F.try_to_timestamp(instant).isNotNull()


def _bad_counts() -> Column:
    return ~reduce(
        Column.__and__, [F.coalesce(F.col(n).between(0, _ABSURD_COUNT), F.lit(False)) for n in SUMS]
    )


def deduplicated(marked: DataFrame) -> DataFrame:
    """One row a line, however often a log shipper delivered it; `copies` says how often.

    Unreadable lines have no identity: equal ones are one row, their copies counted too. The line
    travels as one struct: forty aggregates of one column each cost a quarter more.
    """
    identity = [*IDENTITY, "raw"]
    rest = [name for name in marked.columns if name not in identity]
    lines_once = marked.groupBy(*identity).agg(
        F.first(F.struct(*rest)).alias("line"), F.count("*").alias("copies")
    )
    flat = lines_once.select(*identity, "copies", "line.*")
    return flat.select(*COLUMNS, "raw", "file", "copies", "problem", "day", "hour")


def usable(all_lines: DataFrame) -> DataFrame:
    """The lines without a problem."""
    return all_lines.where(F.col("problem").isNull())


def identified(all_lines: DataFrame) -> DataFrame:
    """The lines that say which line they are, usable or not: none of them is lost."""
    return all_lines.where(F.col("problem").isNull() | ~F.col("problem").isin("not_json", "no_identity"))


def files(all_lines: DataFrame) -> DataFrame:
    """One row a file and problem: `file`, `problem` (null for usable lines), `lines`, `duplicates`, `raw`.

    `raw` is the beginning of one such line. A line that two files hold counts for one of them.
    """
    return all_lines.groupBy("file", "problem").agg(
        F.sum("copies").alias("lines"),
        F.sum(F.col("copies") - 1).alias("duplicates"),
        F.min("raw").alias("raw"),
    )


def of_period(some_lines: DataFrame, first: date, last: date) -> DataFrame:
    """The lines whose day lies in the period, both ends included."""
    return some_lines.where(F.col("day").between(first.isoformat(), last.isoformat()))


def of_event(some_lines: DataFrame, event: EventName) -> DataFrame:
    """The lines of one event."""
    return some_lines.where(F.col("event") == event.value)


def kept(frame: DataFrame) -> DataFrame:
    """`frame`, computed once and kept for later uses: in memory, what does not fit on disk."""
    return frame.persist(StorageLevel.MEMORY_AND_DISK)
