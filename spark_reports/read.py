"""The decision log as one DataFrame: each line once, and every line that cannot be used set apart.

`opened` reads JSON lines (plain, gzip, and zstandard where Spark can: 4.1 and later) of any file system
Spark knows, from directories as the proxy writes them (`decisions-20261120T1000….jsonl`) or from files
given by name; or a table as `compact` writes it. Files that are still written (`.open`) are read too: a
torn last line is then quarantined like any other unreadable one.

What is set apart, with its reason in `problem`:

    not_json         the line is not one JSON object with the schema's types
    no_identity      proxy, boot, seq, event or v is missing, or seq is no such number
    bad_instant      ts or interval_start is not an instant, or interval_ms no length
    bad_count        a count is negative or absurd, and would spoil a sum
    unknown_version  v is not ours: a newer proxy wrote it

Spark's JSON reader accepts `{…}{…}` on one line and drops what follows the first object without a word;
the gap in `seq` shows it (`sequence`).
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses
from pyspark.storagelevel import StorageLevel

from spark_reports import sequence, set_aside
from spark_reports.schema import COLUMNS, CORRUPT, READ_DDL, SUMS
from spark_reports.sequence import BOOT
from spark_reports.store import Form, Table
from tsproxy.decisions.fields import SCHEMA_VERSION, EventName

LATENESS_DAYS: Final = 1
"""Lines of a day may stand in files opened a day before it (rotation) or a day after (late counters)."""

PROBLEMS_WITHOUT_IDENTITY: Final = ("not_json", "no_identity")

_ABSURD_COUNT: Final = 10**15
"""A sum of millions of such counts still fits in int64; no proxy counts as many in an interval."""

_ABSURD_INTERVAL_MS: Final = 10**12
"""Thirty years; an instant and as much more is still one that Spark can compute with."""

_RAW_CHARS: Final = 300
_INSTANT_CHARS: Final = len("2026-11-20T10:00:00.086Z")
_FILE_NAMES: Final = (".jsonl", ".json", ".gz", ".zst", ".open")


@dataclass(frozen=True, slots=True)
class Source:
    """Where the log is, in what form, and which days of it matter."""

    inputs: Sequence[str]
    first: date
    last: date
    form: Form = Form.JSON


@dataclass(frozen=True, slots=True)
class Log:
    """The log, opened: every distinct line that may concern the days, once, and the numbers of its lines.

    Columns of `lines`: those of `schema.COLUMNS`, then `raw`, `file`, `copies` (how often the line was
    delivered), `problem` (null if none), `day` (`2026-11-20`), `hour` (`2026-11-20T10`).
    """

    lines: DataFrame
    words: DataFrame
    """`sequence.words` of the identified ones, duplicates included."""


@contextmanager
def opened(spark: SparkSession, source: Source) -> Iterator[Log]:
    """The log, while it is open; JSON is parsed once and kept. Raises AnalysisException for a missing path.

    A directory, with all below it, gives its files for the days (and one more day either side), a file
    name or glob all it matches.
    """
    with ExitStack() as stack:
        marked = marked_lines(spark, source)
        if source.form is Form.JSON:
            stack.callback(kept(marked).unpersist)
        worded = kept(sequence.words(identified(marked), sequence.side(source.first, source.last)))
        stack.callback(worded.unpersist)
        dirty, lines = sequence.repeated(worded), marked
        if not dirty.isEmpty():
            lines = kept(deduplicated(marked, dirty))
            stack.callback(lines.unpersist)
        yield Log(lines, worded)


def marked_lines(spark: SparkSession, source: Source) -> DataFrame:
    """Every line that may concern the days, as often as it was delivered: as `Log.lines`."""
    if source.form is Form.JSON:
        marked = marked_json(spark, source.inputs, READ_DDL, source.first, source.last)
    else:
        days = [day.isoformat() for day in _days(source.first, source.last)]
        parts = [Table(name, source.form).rows(spark) for name in source.inputs]
        stored = reduce(DataFrame.unionByName, parts).where(F.col("event_date").isin(days))
        marked = stored.withColumnRenamed("event_date", "day")
    return marked.select(*COLUMNS, "raw", "file", "copies", "problem", "day", "hour")


def marked_json(spark: SparkSession, inputs: Sequence[str], ddl: str, first: date, last: date) -> DataFrame:
    """Lines of JSON that may concern the days: the columns of `ddl`, which ends in CORRUPT, and the marks."""
    name = F.col("_metadata.file_name").alias("file")
    parts = [_of_input(spark, path, ddl, first, last).select("*", name) for path in inputs]
    return with_marks(reduce(DataFrame.unionByName, parts))


def json_lines(spark: SparkSession, inputs: Sequence[str], ddl: str, first: date, last: date) -> DataFrame:
    """The same as they were read, with the columns of `ddl` alone."""
    parts = [_of_input(spark, path, ddl, first, last) for path in inputs]
    return reduce(DataFrame.unionByName, parts)


def with_marks(raw: DataFrame) -> DataFrame:
    """Lines as they were read, and their `file`: with their marks."""
    others = [name for name in raw.columns if name != CORRUPT]
    return raw.select(*others, *[mark.alias(name) for name, mark in marks().items()])


def marks() -> dict[str, Column]:
    """What is said of a line as it was read, by name; `raw` is the beginning of an unreadable one."""
    return {
        "raw": F.substring(CORRUPT, 1, _RAW_CHARS),
        "copies": F.lit(1).cast("bigint"),
        "problem": problem(),
        "day": F.substring(when(), 1, 10),
        "hour": F.substring(when(), 1, 13),
    }


def file_name() -> Column:
    """The name of the file that a line is read from, asked in the very step that follows the reading.

    `_metadata.file_name` says the same, later too, but for it Spark copies every line twice.
    """
    name = F.substring_index(F.input_file_name(), "/", -1)
    decoded = F.url_decode(F.replace(name, F.lit("+"), F.lit("%2B")))
    return F.when(name.contains("%"), decoded).otherwise(name)


def _of_input(spark: SparkSession, path: str, ddl: str, first: date, last: date) -> DataFrame:
    """The lines of one input with the columns of `ddl`, which ends in CORRUPT."""
    reader = spark.read.schema(ddl).option("columnNameOfCorruptRecord", CORRUPT)
    if not path.endswith(_FILE_NAMES):
        names = f"decisions-{{{','.join(day.strftime('%Y%m%d') for day in _days(first, last))}}}*"
        reader = reader.option("pathGlobFilter", names).option("recursiveFileLookup", "true")
    return reader.json(path)


def _days(first: date, last: date) -> list[date]:
    """The days whose files may hold lines of the period."""
    start = first - timedelta(days=LATENESS_DAYS)
    count = (last - first).days + 2 * LATENESS_DAYS + 1
    return [start + timedelta(days=n) for n in range(count)]


def problem() -> Column:
    """Of a line as it was read: what is wrong with it, null where nothing is."""
    is_counters = F.col("event") == EventName.COUNTERS.value
    return (
        F.when(F.col(CORRUPT).isNotNull(), "not_json")
        .when(_any_null("proxy", "boot", "seq", "event", "v"), "no_identity")
        .when(~F.col("seq").between(0, _ABSURD_COUNT), "no_identity")
        .when(F.col("v") != SCHEMA_VERSION, "unknown_version")
        .when(~_is_instant(F.col("ts")), "bad_instant")
        .when(_has_interval() & ~(_is_instant(F.col("interval_start")) & _is_length()), "bad_instant")
        .when(is_counters & _bad_counts(), "bad_count")
    )


def when() -> Column:
    """When a line belongs to: counters are written when their interval is over, maybe a day later."""
    return F.when(_has_interval(), F.col("interval_start")).otherwise(F.col("ts"))


def _has_interval() -> Column:
    return F.col("event").isin(EventName.COUNTERS.value, EventName.HEARTBEAT.value)


def _any_null(*names: str) -> Column:
    return reduce(Column.__or__, [F.col(name).isNull() for name in names])


def _is_instant(instant: Column) -> Column:
    """True for exactly what the log writes; a 30th of February has the form but is none.

    No regular expression: this is asked of every line, and would be a fifth of all the work on it.
    """
    formed = (F.length(instant) == _INSTANT_CHARS) & instant.between("1", "9999-12-31T23:59:59.999Z")
    written = (F.substring(instant, 11, 1) == "T") & instant.endswith("Z")
    return F.coalesce(formed & written, F.lit(False)) & instant.try_cast("timestamp").isNotNull()


def _is_length() -> Column:
    return F.coalesce(F.col("interval_ms").between(0, _ABSURD_INTERVAL_MS), F.lit(False))


def _bad_counts() -> Column:
    always = [F.coalesce(F.col(n).between(0, _ABSURD_COUNT), F.lit(False)) for n in SUMS]
    out_of_order = F.coalesce(F.col("out_of_order_records"), F.lit(0)).between(0, _ABSURD_COUNT)
    return ~reduce(Column.__and__, [*always, out_of_order])


def deduplicated(marked: DataFrame, dirty: DataFrame) -> DataFrame:
    """One row a line, however often a log shipper delivered it; `copies` says how often.

    `dirty`: the boots of which a line came twice (BOOT). Only their lines are moved to be compared: the
    others, nearly always all, stay where they are. A line travels as one struct: forty aggregates of one
    column each cost a quarter more.
    """
    theirs = F.broadcast(dirty)
    known = F.coalesce(~F.col("problem").isin(*PROBLEMS_WITHOUT_IDENTITY), F.lit(True))
    identity = [*BOOT, "seq"]
    rest = [name for name in marked.columns if name not in (*identity, "copies")]
    once = (
        marked.where(known)
        .join(theirs, on=list(BOOT), how="left_semi")
        .groupBy(*identity)
        .agg(F.first(F.struct(*rest)).alias("line"), F.sum("copies").alias("copies"))
        .select(*identity, "copies", "line.*")
    )
    clean = marked.where(known).join(theirs, on=list(BOOT), how="left_anti")
    nameless = marked.where(~known)
    return clean.unionByName(nameless).unionByName(once)


def usable(all_lines: DataFrame) -> DataFrame:
    """The lines without a problem."""
    return all_lines.where(F.col("problem").isNull())


def identified(all_lines: DataFrame) -> DataFrame:
    """The lines that say which line they are, usable or not: none of them is lost."""
    return all_lines.where(F.col("problem").isNull() | ~F.col("problem").isin(*PROBLEMS_WITHOUT_IDENTITY))


def files(all_lines: DataFrame, first: date, last: date) -> DataFrame:
    """One row a file and problem: `file`, `problem` (null for usable lines), `lines`, `duplicates`, `raw`,
    `inside` and `unusable`.

    `raw` is the beginning of one such line. A line that two files hold counts for one of them. `inside` are
    its usable lines of the period; `unusable` those of the lines set apart that hold totals of the period, or
    may (`set_aside`).
    """
    is_usable = F.col("problem").isNull()
    inside = F.when(is_usable & F.col("day").between(first.isoformat(), last.isoformat()), 1)
    unusable = F.when(~is_usable, F.when(set_aside.may_hold_totals(first, last), 1))
    # Apart, as the least of texts cannot be found by hashing: it would have all lines sorted for a few.
    examples = (
        all_lines.where(F.col("raw").isNotNull()).groupBy("file", "problem").agg(F.min("raw").alias("raw"))
    )
    return (
        all_lines.groupBy("file", "problem")
        .agg(
            F.sum("copies").alias("lines"),
            F.sum(F.col("copies") - 1).alias("duplicates"),
            F.count(inside).alias("inside"),
            F.count(unusable).alias("unusable"),
        )
        .join(examples, on=["file", "problem"], how="left")
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
