"""`daily --store --keep 400d`: the removal of old days from the store, after a run that went well.

A day goes only if the rollup knows that its report was made, and the rollup forgets it last: the next run
goes on where a killed one stopped. Only what runs write is removed. A folder in which anything else lies
stays.
"""

import re
from datetime import date
from typing import TYPE_CHECKING, Final

from spark_reports.commands.publishing import Publication
from spark_reports.commands.render import FORMATS
from spark_reports.report import links, teams

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_reports.log.store import Table

LEAST_DAYS: Final = 32
"""Runs look for late lines and missed days so far back, and pages link to the days before."""
_FACTS: Final = re.compile(r"(\d{4}-\d\d-\d\d)\.json")
_REPORT: Final = re.compile(rf"report\.({'|'.join(FORMATS)})|{links.PAGES.pattern}")


def remove_before(
    spark: "SparkSession", publication: Publication, rollup: str, table: "Table", first_kept: date
) -> list[date]:
    """Remove the days before `first_kept` from the table, the rollup and the reports, and return them."""
    from spark_reports.log import folders
    from spark_reports.log.store import Table
    from spark_reports.report import day as evidence
    from spark_reports.report.rollup import TABLES

    known = [_FACTS.fullmatch(name) for name in folders.names(spark, f"{rollup}/days")]
    days = [date.fromisoformat(name[1]) for name in known if name is not None]
    old = [day for day in days if day < first_kept]
    team_names = folders.names(spark, publication.team_folders) if old else []
    for day in old:
        for stored in (table, *(Table(f"{rollup}/{name}") for name in TABLES)):
            stored.remove(spark, day)
        folder = publication.of_day(day).output
        for name in folders.names(spark, folder):
            if _REPORT.fullmatch(name):
                folders.delete(spark, f"{folder}/{name}")
        if not folders.names(spark, folder):
            folders.delete(spark, folder)
        for team in team_names:
            folders.delete(spark, f"{publication.team_folders}/{team}/{teams.page_of(str(day))}")
        folders.delete(spark, f"{rollup}/{evidence.FOLDER}/{day}.json")
        folders.delete(spark, f"{rollup}/days/{day}.json")
    if old:
        publication.keep(spark, ())  # the index lists the days that are left
    return old
