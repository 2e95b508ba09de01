"""The decision log as a table, one partition for each day. Later reports read it instead of JSON.

One pass reads the lines, marks the unusable ones and writes all of them: `problem` says what is wrong with a
line, and `file` where it came from. So unusable lines are part of the table, and nothing is lost. Lines of
unknown time belong to the day on which their file was opened. A run replaces the partitions of its own days
and no others, so it may be repeated. If it finds late lines for an earlier day (`late_days`), it also writes
that day again, and if the table lacks such a day, it writes it. It does not replace a partition by a new one
that lacks some of the old one's lines (`lost_on_rewrite`).

Duplicates are looked for in the written table, by three of its columns. If a boot has a repeated line, the
days are written again, with each line once. A reader in between sees duplicates, and `read` removes them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from types import MappingProxyType
from typing import Final

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.exits import LinesWouldVanishError
from spark_reports.log import frames, late_days, lost_on_rewrite, output, read, second_read, sequence
from spark_reports.log.read import Source
from spark_reports.log.schema import IDENTITY, TABLE_COLUMNS, WHOLE_DDL
from spark_reports.log.store import Form, Table
from spark_reports.spark.session import settings
from tsproxy.model.words import many

_LINES_UNTOUCHED: Final[Mapping[str, str]] = MappingProxyType({"spark.sql.codegen.wholeStage": "false"})
"""Steps that Spark compiles into one stage pass a line on column by column. A step that cannot be compiled
puts the line together again. So three steps (count late lines, choose days, sort) made two copies of 82
columns. Steps that are not compiled pass the line on unchanged."""
_ONE_DAY: Final[Mapping[str, str]] = MappingProxyType({"spark.sql.maxConcurrentOutputFileWriters": "2"})
"""If a task may keep two partitions' files open, Spark does not sort by partition. One day has one partition.
If there were a second partition, Spark would sort the remaining lines."""

_DAYS_NAMED: Final = 3
LOOKBACK_DAYS: Final = 7
"""The days before the period for which late files are looked for."""

_NAME_BITS: Final = 28
"""The number of bits for the topic in the 64 bits of `_order`, and also for the client. If two names have the
same bits, their lines are mixed, which does no harm."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """The content of the table for the days, after a run."""

    lines: int
    duplicate_lines: int
    quarantined_lines: dict[str, int]
    """Lines by problem."""
    restated_days: list[str]
    """Days before the period that were written again because of late lines."""
    made_up_days: list[str]
    """Days before the period of which the table held no line: the run that should have written them did not
    run."""
    vanished_lines: dict[str, int]
    """Days before the period with late lines that were not written again: the number of lines that the input
    lacks, by day."""
    missing_days: list[str]
    """Days directly before the look-back window that no run ever wrote."""

    @property
    def corrupt_rate(self) -> float:
        """The share of unusable lines among all lines."""
        unusable = sum(self.quarantined_lines.values())
        return unusable / (self.lines + unusable) if unusable else 0.0


def compact(
    spark: SparkSession,
    inputs: Sequence[str],
    first: date,
    last: date,
    table: Table,
    *,
    may_lose_lines: bool = False,
    lookback_days: int = LOOKBACK_DAYS,
    before_writing: Callable[[date], None] = lambda _: None,
) -> Compacted:
    """Write the days' lines to `table`, and return what it then holds for them. Up to `lookback_days` earlier
    days are written again if lines came late for them; `before_writing` is called before each of them is
    written.

    Raises pyspark's AnalysisException if an input does not exist, and LinesWouldVanishError if the table
    holds lines of the days that the input lacks, unless the run `may_lose_lines`.
    """
    source, day_before = Source(inputs, first, last), first - timedelta(days=1)
    window = first - timedelta(days=lookback_days)
    missing = _missing_before(spark, table, window, first)
    if not may_lose_lines and (vanished := _would_vanish(spark, source, table)):
        raise LinesWouldVanishError(_refusal(vanished))
    lines_before = _write(spark, source, table)
    if may_lose_lines:
        # A write replaces the days of its lines, and leaves those of which the input has no line.
        for day in map(date.fromisoformat, _would_vanish(spark, source, table)):
            # A file of a day that was just written may have been deleted since: its lines stay.
            if _within(_dated(spark, source), day, day).isEmpty():
                table.remove(spark, day)
    days = dict(
        _late(spark, replace(source, first=first - timedelta(days=lookback_days), last=day_before), table)
    )
    if lines_before:
        stored = _days_of(spark, table, day_before, day_before)
        if stored.isEmpty() and _holds_before(spark, table, day_before):
            days[day_before] = True
        elif _holds_fewer(stored, day_before, lines_before):
            days[day_before] = False
    restated: list[str] = []
    made_up: list[str] = []
    not_written: dict[str, int] = {}
    for day, is_missing in sorted(days.items()):
        before = replace(source, first=day, last=day)
        if lacking := _would_vanish(spark, before, table):
            not_written |= lacking
        else:
            before_writing(day)
            _write(spark, before, table)
            (made_up if is_missing else restated).append(day.isoformat())
    return _held(_days_of(spark, table, first, last), restated, made_up, not_written, missing)


def _missing_before(spark: SparkSession, table: Table, window: date, first: date) -> list[str]:
    """The days before `window` that no run has written since the newest one that the table holds before
    `first`."""
    if not table.exists(spark):
        return []
    earlier = _earlier(spark, table, first)
    # Nearly always the table holds such a day. To find the newest day, Spark opens all files.
    if not earlier.where(F.col("event_date") >= (window - timedelta(days=1)).isoformat()).isEmpty():
        return []
    newest = earlier.agg(F.max("event_date")).collect()[0][0]
    if newest is None:
        return []
    days = (window - date.fromisoformat(newest)).days
    return [(window - timedelta(days=n)).isoformat() for n in range(days - 1, 0, -1)]


def _late(spark: SparkSession, source: Source, table: Table) -> Iterator[tuple[date, bool]]:
    """The days of which the table lacks lines of the input, and whether it lacks all of them. Only days with
    new files are compared."""
    stored = table.rows(spark).withColumnRenamed("event_date", "day")
    for day in late_days.days_with_new_files(spark, source.inputs, stored, source.first, source.last):
        own = read.of_period(stored, day, day)
        is_missing = own.isEmpty()
        if is_missing and not _holds_before(spark, table, day):
            continue
        of_day = replace(source, first=day, last=day)
        coming = _dated(spark, of_day).withColumnRenamed("event_date", "day")
        if lost_on_rewrite.would_vanish(coming, own, day, day):
            yield day, is_missing


def _holds_before(spark: SparkSession, table: Table, day: date) -> bool:
    """True if the table holds an earlier day. Days before its first one were never wanted."""
    return not _earlier(spark, table, day).isEmpty()


def _earlier(spark: SparkSession, table: Table, day: date) -> DataFrame:
    """The lines of the table of earlier days."""
    return table.rows(spark).where(F.col("event_date") < day.isoformat())


def _would_vanish(spark: SparkSession, source: Source, table: Table) -> dict[str, int]:
    """The lines of the days that the table holds and the input lacks: a number for each such day.

    Nearly always the table has no line of the days yet. Then the input is not read.
    """
    if not table.exists(spark):
        return {}
    stored = table.lines(spark, _names(source)).withColumnRenamed("event_date", "day")
    if stored.isEmpty():
        return {}
    coming = _dated(spark, source).withColumnRenamed("event_date", "day")
    return lost_on_rewrite.would_vanish(stored, coming, source.first, source.last)


def _refusal(vanished: Mapping[str, int]) -> str:
    days = list(vanished.items())
    named = ", ".join(f"{many(lines, 'line')} of {day}" for day, lines in days[:_DAYS_NAMED])
    more = f" and more of {many(unnamed, 'day')}" if (unnamed := len(days) - _DAYS_NAMED) > 0 else ""
    return (
        f"the table holds {named}{more} that the input lacks; nothing was written. Add the files that hold "
        "them to --input, or give --replace to write the table without these lines"
    )


def _write(spark: SparkSession, source: Source, table: Table) -> int:
    """Write the days, and return how many lines of the day before are in the input. They are written once
    more if a second reading understands unusable lines."""
    first = _first(spark, source)
    lines_before, suspects = _written(spark, source, table, first)
    if suspects and (dated := _with_second(spark, source, first)) is not first:
        lines_before, _ = _written(spark, source, table, dated)
    return lines_before


def _written(spark: SparkSession, source: Source, table: Table, dated: DataFrame) -> tuple[int, int]:
    """Write the days of these lines. The number of lines of the day before, and of those to read again."""
    count = Observation()
    first, last = source.first, source.last
    is_before = F.col("event_date") == (first - timedelta(days=1)).isoformat()
    counted = dated.observe(
        count,
        F.count(F.when(is_before, 1)).alias("lines_before"),
        F.count(F.when(second_read.is_suspect(), 1)).alias("suspects"),
    )
    wanted = output.files(dated)
    _overwrite(_within(counted, first, last), first == last, table, wanted)
    written = read.identified(_days_of(spark, table, first, last))
    spans = sequence.spans(sequence.words(written, sequence.side(first, last)))
    if twice := frames.rows(spans.where("is_repeated").select(*sequence.BOOT)):
        # A literal, because a query that still reads the table cannot replace it.
        dirty = frames.frame_of(spark, twice, sequence.BOOT_DDL)
        # A version of another day stays on its day, as if each day were written alone.
        own = _within(dated, first, last)
        once = read.deduplicated(own, dirty, first, last, by=(*IDENTITY, "event_date"))
        _overwrite(once, first == last, table, wanted)
    return int(count.get["lines_before"]), int(count.get["suspects"])


def _dated(spark: SparkSession, source: Source) -> DataFrame:
    """Every line of the input, with the columns of the table, after both readings."""
    return _with_second(spark, source, _first(spark, source))


def _first(spark: SparkSession, source: Source) -> DataFrame:
    """Every line as it was read first."""
    return _in_table(
        read.json_lines(spark, source, WHOLE_DDL), source, read.marks() | {"file": read.file_name()}
    )


def _with_second(spark: SparkSession, source: Source, first: DataFrame) -> DataFrame:
    """These lines, with what a second reading understands; `first` itself if that is nothing."""
    found = second_read.files(first)
    if not found:
        return first
    again = second_read.lines(spark, source, WHOLE_DDL, found)
    marked = _in_table(again, source, read.marks(is_second=True) | {"file": F.col("file")})
    if marked.where(F.col("problem").isNull()).isEmpty():
        return first
    return second_read.without(first).unionByName(marked)


def _in_table(raw: DataFrame, source: Source, marks: dict[str, Column]) -> DataFrame:
    """The columns of the table. This is one step, because each step copies all lines."""
    marks["event_date"] = _day(marks, source)
    return raw.select(*[marks[name].alias(name) if name in marks else name for name in TABLE_COLUMNS])


def _names(source: Source) -> list[str]:
    """The days of the source, such as `2026-11-20`."""
    days = range((source.last - source.first).days + 1)
    return [(source.first + timedelta(days=n)).isoformat() for n in days]


def _day(marks: Mapping[str, Column], source: Source) -> Column:
    """The day of a line. It is never null, because Spark would sort once more by a column that may be null.

    An unusable line without a day near the period belongs to the day on which its file was opened, so that
    no line is lost.
    """
    first, day = source.first, marks["day"]
    opened_on = F.coalesce(F.nullif(read.opened_on(marks["file"]), F.lit("")), F.lit(first.isoformat()))
    near = [(first + timedelta(days=n)).isoformat() for n in range(-1, (source.last - first).days + 2)]
    # `problem` is computed a second time only for lines of other days.
    is_placed = F.coalesce(day.isin(near), F.lit(False)) | marks["problem"].isNull()
    return F.coalesce(F.when(is_placed, day).otherwise(opened_on), F.lit(""))


def _within(dated: DataFrame, first: date, last: date) -> DataFrame:
    return dated.where(F.col("event_date").between(first.isoformat(), last.isoformat()))


def _overwrite(dated: DataFrame, is_one_day: bool, table: Table, files: int) -> None:
    """Replace the days. Each day is written to at most `files` files.

    Lines of one day are sorted as they are read, 128 MiB at a time, and then put together: to sort all lines
    of a large file, Spark would write them to disk first. Lines of several days are put together and then
    sorted, because Spark writes one day after the other.
    """
    rows = dated.select(*TABLE_COLUMNS)
    if is_one_day and table.form is Form.PARQUET:
        wanted = {**_LINES_UNTOUCHED, **_ONE_DAY}
        rows = rows.sortWithinPartitions(_order()).coalesce(files)
    else:
        wanted = {**_LINES_UNTOUCHED}
        rows = rows.coalesce(files).sortWithinPartitions(F.col("event_date"), _order())
    with settings(rows.sparkSession, {**wanted, **output.WHOLE_RUNS}):
        table.overwrite(rows)


def _order() -> Column:
    """A number that puts lines of the same event side by side, then of the same topic, then of the same
    client.

    Equal names side by side compress well, and reports read one event at a time. Spark sorts by one number
    without reading the lines. To sort by names, it would compare each line some twenty times.
    """
    event, topic, client_id = [F.xxhash64(name) for name in ("event", "topic", "client_id")]
    low = F.lit((1 << _NAME_BITS) - 1)
    named = F.shiftleft(topic.bitwiseAND(low), _NAME_BITS).bitwiseOR(client_id.bitwiseAND(low))
    return F.shiftleft(event, 2 * _NAME_BITS).bitwiseOR(named)


def _days_of(spark: SparkSession, table: Table, first: date, last: date) -> DataFrame:
    stored = table.rows(spark).withColumnRenamed("event_date", "day")
    return read.of_period(stored, first, last)


def _holds_fewer(stored: DataFrame, day: date, delivered: int) -> bool:
    """True if there are lines of the day in the table, but fewer than the `delivered` ones of the input.

    Files that were opened before the day do not count: the input does not hold them.
    """
    opened_on = read.opened_on(F.col("file"))
    counts = stored.agg(
        F.count("*").alias("all"),
        F.sum(F.when((opened_on == "") | (opened_on >= day.isoformat()), F.col("copies"))).alias("known"),
    ).collect()[0]
    return bool(counts["all"]) and delivered > (counts["known"] or 0)


def _held(
    stored: DataFrame, restated: list[str], made_up: list[str], vanished: dict[str, int], missing: list[str]
) -> Compacted:
    counts = stored.groupBy("problem").agg(
        F.count("*").alias("lines"), F.sum(F.col("copies") - 1).alias("duplicates")
    )
    rows = counts.collect()
    return Compacted(
        lines=sum(row["lines"] for row in rows if row["problem"] is None),
        duplicate_lines=sum(row["duplicates"] for row in rows),
        quarantined_lines={row["problem"]: row["lines"] for row in rows if row["problem"] is not None},
        restated_days=restated,
        made_up_days=made_up,
        vanished_lines=vanished,
        missing_days=missing,
    )
