"""`daily --store`: all that a scheduler runs after a day, in one session.

1. The table: it writes the days. It writes days before them again if lines came late for them, and
   those that the table lacks, because the run after them did not take place.
2. The reports of the days, of the restated days and of the day before, made again: only the next day's lines
   show that lines at the end of a day are lost. And the reports of the days that the table lacked. Each day
   has a folder, `DIR/2026-11-20`, and one line is printed for it.

3. With `--keep 400d`, after a run that went well: the removal of old days from the store. A day goes only if
   the rollup knows that its report was made, and the rollup forgets it last: the next run goes on where a
   killed one stopped. Nothing goes if `--date` or a clock may be ahead. Only what runs write is removed. A
   folder in which anything else lies stays.

The exit code is that of the worst day: 1 is worse than 3. It is 1 if a day of `--date`, or a day before that
was written again, has no usable line or is of several clusters. Else it is 3 if a gate tripped for a day of
`--date`, or for one that the table lacked, or if such a day has unusable lines. Other days before are not
checked again: the run after each of them has done so.

Only while the table lacks lines of a day, a run finds that its report must be made. So the days are noted
beside the reports (`unmade.json`) before the table has them, until their reports are made. If the run is
killed in between, the next one writes and makes them, and checks their gates. The day before is noted, too:
its report is made again, and nothing else. A day of which no report can be made stays noted, and stops no
other one: its lines are the same in each night.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final

from spark_reports.commands import daily_run, publishing
from spark_reports.commands.publishing import Publication
from spark_reports.commands.spark_run import failures_explained, spark_at_work
from spark_reports.errors import FailedError, LinesWouldVanishError, NothingToReportError, UsageError
from spark_reports.log.inputs import nothing_of
from spark_reports.log.period import days_between, days_named
from spark_reports.report import files, links, teams, words
from tsproxy.model.exits import FAILED, OK, TRIPPED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_reports.log.compact import Compacted
    from spark_reports.log.read import Source
    from spark_reports.log.store import Table

FORMATS: Final = ("html", "json", "prom")
"""The forms of these reports: an alert looks for the one of Prometheus."""
LEAST_DAYS: Final = 32
"""The least of `--keep`. Runs look for late lines and missed days so far back, and pages link to the days
before."""
_TABLE: Final = "lines"
_UNMADE: Final = "unmade.json"
_PLACES: Final = "_places.txt"
"""In the table: the folders of its reports and of its rollup, as options. Spark reads no file of such a
name."""
_REPORT: Final = re.compile(rf"report\.(md|csv|{'|'.join(publishing.FORMATS)})|{links.PAGES.pattern}")
"""The files of a report, also of earlier releases."""
_WORST_FIRST: Final = (FAILED, TRIPPED)


def complete(options: argparse.Namespace) -> None:
    """Name the places and forms that no option names."""
    store = options.store.rstrip("/")
    options.rollup = options.rollup or f"{store}/rollup"
    options.output = options.output or f"{store}/reports"
    options.formats = options.formats or FORMATS


def run(options: argparse.Namespace, first: date, last: date) -> int:
    """Write the table and the reports of the days, and of days before them that changed."""
    complete(options)
    publication = Publication.of(options)
    publishing.require_pyarrow()
    lines = f"{options.store.rstrip('/')}/{_TABLE}"
    with spark_at_work(options, writes=[lines, *publication.places]) as spark:
        from spark_reports.log.read import Source
        from spark_reports.log.store import Table

        publication, table = publication.loaded(spark, options.store), Table(lines)
        _require_own(spark, options, is_new=not table.days(spark))
        days = Days(spark, options, publication, Source(options.input, first, last), table)
        if nested := table.remove_nested(spark):
            days.tell(f"A second copy of {nested} was removed: two runs had written to {lines} at once.\n")
        asked = set(days_between(first, last))
        found = days.left_over()
        left_over = {day for day in found if found[day]} - asked
        missed, late = days.write(asked, left_over)
        checked = asked | left_over | missed
        written = checked | late
        before = {first - timedelta(days=1)} & table.days(spark)  # not in the first run
        again = (before | found.keys()) - written
        days.note_unmade(again, has_lines=True)
        codes, unmade = days.all_reported(written, again, checked)
        days.note_made(unmade)
        code = next((code for code in _WORST_FIRST if code in {codes[day] for day in written | unmade}), OK)
        empty = [day.isoformat() for day in sorted(asked) if codes[day] is None]
        if options.keep is not None and FAILED not in {codes[day] for day in asked} and not empty:
            days.remove_old(first, last)
    if empty:
        raise NothingToReportError(nothing_of(words.days_in_words(empty), options.input))
    return code


def _require_own(spark: "SparkSession", options: argparse.Namespace, *, is_new: bool) -> None:
    """Raises UsageError if the table is written for other folders: a line that came late, or a day that no
    run had written, is noticed once, and only the reports of that run have it."""
    store = options.store.rstrip("/")
    own = f"--output {_seen_from(store, options.output)} --rollup {_seen_from(store, options.rollup)}"
    table = f"{store}/{_TABLE}"
    known = files.read_if_there(spark, table, _PLACES)
    if known is None or is_new:
        files.write(spark, table, _PLACES, f"{own}\n")
    elif known.strip() != own:
        raise UsageError(
            f"{store} is written for {known.strip()} (as seen from it), and not for {own}: give each of them "
            f"a --store of its own. If the folders were moved, delete {table}/{_PLACES}"
        )


def _seen_from(store: str, folder: str) -> str:
    """The path from the store to a folder, however both are spelled."""
    here, there = files.local(store), files.local(folder)
    if here is not None and there is not None:
        return os.path.relpath(there.resolve(), here.resolve())
    return folder.rstrip("/").removeprefix(f"{store}/")


@dataclass(frozen=True, slots=True)
class Days:
    """The days of a run: their lines in the log and in the table, and their reports."""

    spark: "SparkSession"
    options: argparse.Namespace
    publication: Publication
    log: "Source"
    table: "Table"
    noted: dict[date, bool] = field(default_factory=dict)
    """The days that this run noted as unmade, as `left_over`."""

    def tell(self, text: str) -> None:
        """Print a text, unless the command is to be quiet."""
        if not self.options.quiet:
            sys.stdout.write(text)
            sys.stdout.flush()

    def left_over(self) -> dict[date, bool]:
        """The days of a run that was killed, or ended with an error, before it had made their reports. Their
        partitions may be half written. True, if also their lines are to be written, and their gates checked.
        """
        text = files.read_if_there(self.spark, self.publication.output, _UNMADE)
        known = json.loads(text or "{}")
        days = known if isinstance(known, dict) else dict.fromkeys(known, True)  # of an earlier release
        return {date.fromisoformat(day): bool(is_unwritten) for day, is_unwritten in days.items()}

    def note_unmade(self, days: Iterable[date], *, has_lines: bool = False) -> None:
        """Note days whose lines are written to the table, unless it `has_lines` of them, and whose reports
        are not made yet."""
        self.noted.update(dict.fromkeys(days, not has_lines))
        known = self.left_over()
        self._write_unmade({**known, **{day: known.get(day, False) or self.noted[day] for day in self.noted}})

    def note_made(self, unmade: set[date]) -> None:
        """The reports of all noted days are made, but `unmade` ones. On an object store, another run may have
        noted others."""
        made = self.noted.keys() - unmade
        self._write_unmade({day: each for day, each in self.left_over().items() if day not in made})

    def _write_unmade(self, days: Mapping[date, bool]) -> None:
        text = json.dumps({str(day): days[day] for day in sorted(days)})
        files.write(self.spark, self.publication.output, _UNMADE, f"{text}\n")

    def write(self, asked: set[date], left_over: set[date]) -> tuple[set[date], set[date]]:
        """Write the days to the table, and days before them. Return those that no run had written, and those
        for which lines came late."""
        from spark_reports.log import late_days
        from spark_reports.log.compact import compact

        self.note_unmade(asked | left_over)
        done = compact(self.spark, self.log, self.table, may_lose_lines=self.options.may_lose_lines)
        self.tell(_in_words(done))
        held = self.table.days(self.spark)
        late = late_days.days(self.spark, self.log, self.table, done.lines_before, left_over)
        self.note_unmade(asked | left_over | late)
        for day in sorted(late | left_over):
            try:
                compact(self.spark, replace(self.log, first=day, last=day), self.table)
            except (LinesWouldVanishError, NothingToReportError) as error:
                late.discard(day)
                self.tell(f"{day} was not written again: {error}\n")
        for day in sorted(late):
            cause = "Lines came late for" if day in held else "No run had written"
            self.tell(f"{cause} {day}, which was written now.\n")
        return late - held, late & held

    def all_reported(
        self, written: set[date], again: set[date], checked: set[date]
    ) -> tuple[dict[date, int | None], set[date]]:
        """Make the reports of the days that were `written`, and others `again`. Return the code of each day,
        as `reported` or FAILED, and the days whose reports a later run is to make."""
        codes, unmade = dict[date, int | None](), set[date]()
        for day in sorted(written | again):
            try:
                with failures_explained():
                    codes[day] = self.reported(day, is_checked=day in checked)
            except (FailedError, UsageError) as error:
                sys.stderr.write(f"spark_reports: {day}: {error}\n")
                codes[day] = FAILED
                is_final = isinstance(error, NothingToReportError | LinesWouldVanishError)
                # An older day of several clusters has its report: of the one that --cluster named then.
                if not is_final and (day in written or not isinstance(error, UsageError)):
                    unmade.add(day)
        return codes, unmade

    def reported(self, day: date, *, is_checked: bool) -> int | None:
        """Make the report of a day, and write its files. Its gates and its unusable lines count if it
        `is_checked`.

        Return OK, TRIPPED, or None if there is no line. Raises as `daily_run.made`.
        """
        source = replace(self.log, inputs=[self.table.name], first=day, last=day, is_table=True)
        publication = self.publication.of_day(day)
        report = daily_run.made(self.spark, publication, source)
        if report is None:
            return None
        text = f"{report['first_day']}: {report['headline']} {report['log']['sentence']}"
        self.tell(f"{text} Written to {publication.output}.\n")
        return daily_run.ended(report, self.options.fail_on, str(day)) if is_checked else OK

    def remove_old(self, first: date, last: date) -> None:
        """Remove the days that are too old after a run for these days, unless a clock may be ahead."""
        first_kept = last - timedelta(days=self.options.keep)
        if doubt := self._doubt(first, last, first_kept):
            sys.stderr.write(f"spark_reports: nothing before {first_kept} was removed: {doubt}\n")
        elif old := self.remove_before(first_kept):
            self.tell(f"Removed {words.many(len(old), 'day')} before {first_kept}.\n")

    def _doubt(self, first: date, last: date, first_kept: date) -> str:
        """Why a clock, or `--date`, may be ahead; empty if it is not, and if there is no day to remove.

        The days of a store are nearly in a row. If they are not, a wrong clock would remove all that it has.
        """
        days = self._known()
        if not days or days[0] >= first_kept:
            return ""
        if last >= datetime.now(UTC).date():
            return f"{last} is not over"
        for edge in (first_kept, first):
            before = max((day for day in days if day < edge), default=edge)
            after = min((day for day in days if day >= edge), default=edge)
            if (after - before).days > LEAST_DAYS:
                return f"no day between {before} and {after} has a report, so a clock may be wrong"
        return ""

    def _known(self) -> list[date]:
        """The days whose reports were made, in order."""
        from spark_reports.log import folders

        return days_named(folders.names(self.spark, f"{self.options.rollup}/days"), "{}.json")

    def remove_before(self, first_kept: date) -> list[date]:
        """Remove the days before `first_kept` from the table, the rollup and the reports, and return them."""
        from spark_reports.log import folders
        from spark_reports.log.store import Table
        from spark_reports.report import day as evidence
        from spark_reports.report.rollup import TABLES

        spark, publication, rollup = self.spark, self.publication, self.options.rollup
        old = [day for day in self._known() if day < first_kept]
        for day in old:
            for stored in (self.table, *(Table(f"{rollup}/{name}") for name in TABLES)):
                stored.remove(spark, day)
            folder = publication.of_day(day).output
            for name in folders.names(spark, folder):
                if _REPORT.fullmatch(name):
                    folders.delete(spark, f"{folder}/{name}")
            if not folders.names(spark, folder):
                folders.delete(spark, folder)
            folders.delete(spark, f"{rollup}/{evidence.FOLDER}/{day}.json")
        if old:
            self._remove_of_teams(first_kept)
            for day in old:
                folders.delete(spark, f"{rollup}/days/{day}.json")
            publication.of_day(first_kept).keep(spark, ())  # the index lists the days that are left
        return old

    def _remove_of_teams(self, first_kept: date) -> None:
        """Remove the teams' pages of days before `first_kept`, and all files of a team that has no later day:
        it left the file of owners."""
        from spark_reports.log import folders

        place = self.publication.team_folders
        for team, text in files.read_folders(self.spark, place, teams.LATEST).items():
            folder, known = f"{place}/{team}", teams.from_text(text)
            days = days_named(folders.names(self.spark, folder), teams.page_of("{}"))
            old = [teams.page_of(str(day)) for day in days if day < first_kept]
            if known is not None and all(day["day"] < str(first_kept) for day in known["days"]):
                old += [teams.INDEX, teams.FEED, teams.LATEST]
            for name in old:
                folders.delete(self.spark, f"{folder}/{name}")
            if not folders.names(self.spark, folder):
                folders.delete(self.spark, folder)


def _in_words(done: "Compacted") -> str:
    """A text about the lines of the days in the table."""
    apart = ", ".join(f"{count:,} {problem}" for problem, count in sorted(done.quarantined_lines.items()))
    return (
        f"{words.many(done.lines, 'line')}, {words.many(done.duplicate_lines, 'duplicate')} left out, "
        f"set aside: {apart or 'none'}.\n"
    )
