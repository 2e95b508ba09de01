"""The decision log as a DataFrame: unusable lines are marked.

`marked_lines` reads JSON lines (plain, gzip; zstandard with Spark 4.1 and later) from any file system that
Spark knows: directories as the proxy writes them (`decisions-20261120T1000….jsonl`), or files by name. It
also reads a table of `compact`. It reads files that are still being written (`.open`), too: a torn last
line is set aside like any other unreadable line.

Lines are set aside for these reasons (`problem`):

    not_json         the line is not one JSON object, and none is found in it (`lenient`)
    bad_type         a field has a value that is not of its type
    no_identity      proxy, boot, seq, event or v is missing, or seq is no line number
    bad_instant      ts or interval_start is no instant, or interval_ms no length
    bad_key          counters lack topic, verdict, error_code or is_final, or have a verdict nobody gives
    bad_count        a count is negative or absurdly large, and would spoil a sum; or a histogram counts more
                     than its line
    unknown_version  v is unknown: a newer proxy wrote the line
    conflict         lines of one identity differ: nobody knows which of them the proxy wrote

A line that was changed on its way is found out by a second reading (`second_read`).

Spark's JSON reader accepts `{…}{…}` on one line and silently drops everything after the first object. The
gap in `seq` shows it (`sequence`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import reduce
from types import MappingProxyType
from typing import Final

from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.errors import FailedError, NothingToReportError, UsageError
from spark_reports.log import damaged_files, inputs, set_aside
from spark_reports.log.grouping import Grouping, How, Measure
from spark_reports.log.period import days_between, period_text
from spark_reports.log.schema import CAME_AS, COLUMNS, CORRUPT, IDENTITY, READ_DDL
from spark_reports.log.sequence import BOOT
from spark_reports.log.store import Table
from tsproxy.model.verdict import Reason, UnitGuess

LATENESS: Final = timedelta(days=1)
"""A day's lines may be in files opened a day before it (rotation) or a day after it (late counters)."""

_WORDS: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {"reason": [word.value for word in Reason], "unit_guess": [word.value for word in UnitGuess]}
)
"""The lists of words that may grow within a version of the log."""

FILES: Final = Grouping(
    keys=("file", "problem"),
    measures={
        "lines": Measure(How.SUM, ("copies",)),
        "once": Measure(How.COUNT, ()),
        "inside": Measure(How.COUNT, (), "is_inside"),
        "unusable": Measure(How.COUNT, (), "may_hold_totals"),
        "changed": Measure(How.COUNT, (), "is_changed"),
    },
)
"""One row for each file and problem (null for usable lines): `lines` counts a line as often as it was
delivered, `once` counts it once. A line that is in two files counts for one of them. `inside` counts usable
lines of the period. `unusable` counts lines set aside that hold totals of the period or may hold them
(`set_aside`), `changed` usable lines that only the second reading understood (`second_read`)."""

CONFLICT: Final = "conflict"
OF_A_COPY: Final = ("raw", "file", "hour", "day", "event_date")
"""Columns in which copies of one line may differ, or which follow from others."""
FIRST_OF_COPIES: Final = ("ts", "interval_start", "file")
"""The order of the copies of a line."""

_RAW_CHARS: Final = 300
_NOT_READ: Final = (
    "is in a form that Spark does not read: pack it as .gz or .zst, or skip it by --skip-damaged-files: the "
    "log is then incomplete and names it"
)


@dataclass(frozen=True, slots=True)
class Source:
    """The place of the log, and the days that are read."""

    inputs: Sequence[str]
    first: date
    last: date
    is_table: bool = False
    """True for tables of `compact`, false for JSON as the proxy writes it."""

    def __post_init__(self) -> None:
        """Raises UsageError for `{date}` in the path of a table."""
        if self.is_table and (dated := [path for path in self.inputs if inputs.has_date(path)]):
            raise UsageError(f"{dated[0]} is to be a table, which holds all its days: leave {{date}} out")

    @property
    def days_of_files(self) -> list[date]:
        """The days whose files may hold lines of the period."""
        return days_between(self.first - LATENESS, self.last + LATENESS)


def marked_lines(spark: SparkSession, source: Source) -> DataFrame:
    """The lines that may concern the days, as often as they were delivered.

    A directory selects the files below it that are named for the days, and for one day on either side. A
    file name or glob selects all that it matches. Columns: `schema.COLUMNS`, then `raw`, `file`, `copies`
    (how often the line was delivered), `problem` (null if none), `day` (`2026-11-20`) and `hour`
    (`2026-11-20T10`).
    """
    if not source.is_table:
        raw = json_lines(spark, source, READ_DDL, F.col("_metadata.file_name").alias("file"))
        return with_marks(raw, marks())
    days = source.first - LATENESS, source.last + LATENESS
    rows = reduce(DataFrame.unionByName, [Table(name).rows(spark, *days) for name in source.inputs])
    return _of_columns(rows.withColumnRenamed("event_date", "day"))


def with_marks(raw: DataFrame, marked: Mapping[str, Column]) -> DataFrame:
    """`marked_lines` of lines as they were read, with `file`."""
    return _of_columns(raw.select("*", *[mark.alias(name) for name, mark in marked.items()]))


def _of_columns(marked: DataFrame) -> DataFrame:
    columns = [_known_words(name) if name in _WORDS else F.col(name) for name in COLUMNS]
    return marked.select(*columns, "raw", "file", "copies", "problem", "day", "hour")


def _known_words(name: str) -> Column:
    """The column, with `other` for each word of a newer tsproxy, as the log's documentation promises."""
    word = F.col(name)
    return F.when(word.isNull() | word.isin(*_WORDS[name]), word).otherwise(Reason.OTHER.value).alias(name)


def json_lines(spark: SparkSession, source: Source, ddl: str, *more: Column) -> DataFrame:
    """JSON lines that may concern the days: the columns of `ddl`, which ends in CORRUPT, and `more`.

    Raises NothingToReportError if no folder of the days exists.
    """
    parts = [_of_input(spark, *reader, ddl, more) for reader in readers(spark, source)]
    if not parts:
        raise NothingToReportError(inputs.nothing_of(period_text(source.first, source.last), source.inputs))
    return reduce(DataFrame.unionByName, parts)


def readers(spark: SparkSession, source: Source) -> Iterator[tuple[Callable[[], DataFrameReader], list[str]]]:
    """For the files and for the folders of each input of JSON lines: a reader, and its places."""
    days = source.days_of_files

    def of_days() -> DataFrameReader:
        return spark.read.option("pathGlobFilter", names_of(days)).option("recursiveFileLookup", "true")

    for path in source.inputs:
        files, folders = inputs.split(spark, inputs.of_days(spark, path, days))
        if files:
            yield lambda: spark.read, files
        if folders:
            yield of_days, folders


def marks(*, is_second: bool = False) -> dict[str, Column]:
    """The columns added to a line as it was read. `raw` is the beginning of an unreadable line, or of a line
    that only the second reading understood."""
    return {
        "raw": F.substring(CAME_AS if is_second else CORRUPT, 1, _RAW_CHARS),
        "copies": F.lit(1).cast("bigint"),
        "problem": set_aside.of_second_read() if is_second else set_aside.of_line(),
        "day": F.substring(_time(), 1, 10),
        "hour": F.substring(_time(), 1, 13),
    }


def file_name() -> Column:
    """The name of the line's file. Use it only in the step directly after the reading.

    `_metadata.file_name` works in later steps too, but makes Spark copy every line twice.
    """
    name = F.substring_index(F.input_file_name(), "/", -1)
    decoded = F.url_decode(F.replace(name, F.lit("+"), F.lit("%2B")))
    return F.when(name.contains("%"), decoded).otherwise(name)


def opened_on(file: Column) -> Column:
    """The day in the name of a line's file, `2026-11-20`; empty if there is none."""
    return F.regexp_replace(F.regexp_extract(file, r"decisions-(\d{8})", 1), r"(....)(..)(..)", "$1-$2-$3")


def _of_input(
    spark: SparkSession,
    reader: Callable[[], DataFrameReader],
    places: list[str],
    ddl: str,
    more: Sequence[Column],
) -> DataFrame:
    """The lines of one input and, if the session skips damaged files, a line for each of them. Raises
    FailedError for a file that Spark cannot unpack, if it does not."""
    lines = reader().schema(ddl).option("columnNameOfCorruptRecord", CORRUPT).json(places)
    damaged = damaged_files.not_read(lines, reader(), places)
    if spark.conf.get(damaged_files.SKIPS) == "true":
        damaged += damaged_files.paths(reader().text(places).where(damaged_files.is_read()))
    elif damaged:
        raise FailedError(f"{damaged[0]} {_NOT_READ}")
    if not damaged:
        return lines.select("*", *more)
    of_damaged = damaged_files.as_lines(reader(), places, damaged, more)
    good = lines.where(damaged_files.is_read()).select("*", *more)
    return good.unionByName(of_damaged, allowMissingColumns=True)


def names_of(days: Sequence[date]) -> str:
    """A glob for the files that are named for one of the days."""
    return f"decisions-{{{','.join(day.strftime('%Y%m%d') for day in days)}}}*"


def _time() -> Column:
    """The time to which a line belongs. Counters are written after their interval, perhaps a day later."""
    return F.when(set_aside.has_interval(), F.col("interval_start")).otherwise(F.col("ts"))


def deduplicated(
    marked: DataFrame, dirty: DataFrame, first: date, last: date, by: Sequence[str] = IDENTITY
) -> DataFrame:
    """Each line once, even if a log shipper delivered it several times; `copies` says how often. If the
    copies differ, none of them counts (`conflict`). The copy that stays is one that may hold totals of the
    period from `first` to `last`, if there is one, so that the line makes the log of each such period
    incomplete. If several may, it is the first one, whichever file is read first.

    `by`: the columns that the copies of a line have in common. `dirty`: the boots with a repeated line
    (BOOT). Only their lines are shuffled; all others, nearly always all lines, stay where they are. A line is
    aggregated as one struct: forty aggregates of one column each cost a quarter more.
    """
    boots = F.broadcast(dirty)
    known = identified(marked)
    rest = [name for name in marked.columns if name not in (*by, "copies", "problem")]
    content = F.xxhash64(F.to_json(F.struct(*[name for name in rest if name not in OF_A_COPY])))
    order = F.struct(~set_aside.may_hold_totals(first, last), *FIRST_OF_COPIES)
    once = (
        known.join(boots, on=list(BOOT), how="left_semi")
        .withColumn("content", content)
        .groupBy(*by)
        .agg(
            F.min_by(F.struct(*rest), order).alias("line"),
            F.when(F.min("content") != F.max("content"), CONFLICT)
            .otherwise(F.max("problem"))
            .alias("problem"),
            F.sum("copies").alias("copies"),
        )
        .select(*by, "copies", "problem", "line.*")
    )
    clean = known.join(boots, on=list(BOOT), how="left_anti")
    unidentified = marked.where(F.col("problem").isin(*set_aside.PROBLEMS_WITHOUT_IDENTITY))
    return clean.unionByName(unidentified).unionByName(once)


def identified(all_lines: DataFrame) -> DataFrame:
    """The lines with an identity, usable or not: none of them is lost."""
    return all_lines.where(
        F.col("problem").isNull() | ~F.col("problem").isin(*set_aside.PROBLEMS_WITHOUT_IDENTITY)
    )


def facts(first: date, last: date) -> dict[str, Column]:
    """The facts about a line that FILES counts."""
    is_usable = F.col("problem").isNull()
    return {
        "is_inside": is_usable & F.col("day").between(first.isoformat(), last.isoformat()),
        "may_hold_totals": F.when(~is_usable, set_aside.may_hold_totals(first, last)),
        "is_changed": is_usable & F.col("raw").isNotNull(),
    }
