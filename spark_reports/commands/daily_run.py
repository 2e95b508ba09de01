"""One report within a session of Spark: its files, its rollup, its gates.

`daily` makes one, `daily --store` makes one for each day.
"""

import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from spark_reports.commands.publishing import Publication
from spark_reports.errors import LinesWouldVanishError
from spark_reports.log.period import days_between
from spark_reports.report import files, gates, kept_days
from spark_reports.report.history import DayFacts
from spark_reports.report.shape import DAYS_BEFORE, Report
from tsproxy.decisions.text import bounded
from tsproxy.model.exits import OK, TRIPPED
from tsproxy.model.words import many

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_reports.log.read import Source
    from spark_reports.report.sums import Sums


def made(spark: "SparkSession", publication: Publication, source: "Source") -> Report | None:
    """Make the report of `source`, and publish it. With a rollup, its days are stored there first. None if
    the log holds no line of the period.

    Raises NothingToReportError if the lines of the period are all unusable, and LinesWouldVanishError if the
    rollup holds a day of another log.
    """
    from spark_reports.report import day, rollup, stored
    from spark_reports.report.sums import summed

    now_ms = int(datetime.now(UTC).timestamp() * 1000)
    first, last = source.first, source.last
    with summed(spark, source, publication.cluster) as sums:
        if sums is None:
            return None
        known, before = None, {}
        if publication.rollup is not None:
            if not publication.may_lose_lines:
                kept = kept_days.read(spark, publication.rollup, first, last)
                _require_same_log(kept, sums, publication.rollup)
            drifts = sums.drifts.unionByName(rollup.left_out(sums.rolled))
            written = (rollup.hours(sums.rolled), rollup.producers(sums.rolled), drifts)
            for name, rows in zip(rollup.TABLES, written, strict=True):
                rollup.store(rows, publication.rollup, name, first, last)
            week_before = last - timedelta(days=DAYS_BEFORE)
            days = [f"{rollup.PRODUCERS}/event_date={each}" for each in days_between(week_before, last)]
            with files.copied_here(spark, publication.rollup, days) as here:
                known = stored.producers(here, week_before, last)
            before = kept_days.read(spark, publication.rollup, *kept_days.around(first, last))
        the_day, processes = sums.day(), {} if known is None else sums.processes
    the_day = the_day if publication.has_addresses else the_day.without_addresses()
    if publication.rollup is not None and first == last:
        text = day.to_text(the_day, now_ms)
        files.write(spark, f"{publication.rollup}/{day.FOLDER}", f"{last}.json", text)
    report, everybody, facts = publication.completed(the_day, now_ms, known, before, processes)
    publication.publish(spark, report, everybody)
    publication.keep(spark, facts)
    return report


def _require_same_log(kept: Mapping[str, DayFacts], sums: "Sums", folder: str) -> None:
    """Raises LinesWouldVanishError if a day of the rollup has processes of which the log has no line.

    The rollup holds sums, so single lines cannot be compared. Unusable lines still count as present.
    """
    for day, facts in kept.items():
        missing = {(proxy, boot) for proxy, boot in facts["processes"]} - sums.processes.get(day, set())
        if missing and (missing := sums.without_a_line(missing)):
            named = "/".join(map(bounded, min(missing)))
            raise LinesWouldVanishError(
                f"the input lacks lines that the rollup {folder} counts for {day}, such as those of {named}; "
                "nothing was written. If it is of another log, give each log a --store of its own, or a "
                "--rollup; if files were deleted, --replace writes the day without them"
            )


def ended(report: Report, fail_on: Iterable[gates.Gate], day: str = "") -> int:
    """As `status`. TRIPPED, and one more line, also if lines that may hold totals are unusable: nobody
    has to ask for that gate, since the numbers are only a lower bound."""
    code = status(report, fail_on, day)
    if not (unusable := report["log"]["lines_unusable"]):
        return code
    text = f"{many(unusable, 'line')} that may hold totals cannot be read: the numbers are a lower bound"
    sys.stderr.write(f"spark_reports: {day and f'{day}: '}{text}\n")
    return TRIPPED


def status(report: Report, fail_on: Iterable[gates.Gate], day: str = "") -> int:
    """TRIPPED, and a line on standard error for each gate that trips. `day` is part of the line."""
    tripped = [text for gate in fail_on if (text := gate.tripped_by(report)) is not None]
    for text in tripped:
        sys.stderr.write(f"spark_reports: quality gate: {day and f'{day}: '}{text}\n")
    return TRIPPED if tripped else OK
