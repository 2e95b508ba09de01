"""report.csv for spreadsheets and scripts: one row for each producer and reason.

RFC 4180, UTF-8, a head with the names of report.json's keys. Text that a spreadsheet would take for a formula
(a client may call itself `=HYPERLINK(…)`) begins with an apostrophe, as spreadsheets themselves mark text.
A part of a text may have an apostrophe of its own, since it is a cell if the semicolon separates cells.
"""

import csv
import re
from collections.abc import Iterator
from io import StringIO
from typing import Final

from spark_reports.report import words
from spark_reports.report.shape import ClientReason, Producer, Report
from tsproxy.decisions.text import bounded

_REASON: Final = (
    *("verdict", "reason", "unit_guess", "error_code", "is_final", "cause", "fix"),
    *("batches", "records", "bad_records", "collateral_records", "drift_min_ms", "drift_max_ms"),
)
HEAD: Final = ("first_day", "last_day", "client_id", "principal", *_REASON, "topics", "addresses", "team")

_FORMULA: Final = re.compile(r"(^|[;,|])(?=[\s'\"]*[=+\-@＝＋－＠﹣﹢﹦﹫])")
"""The beginning of a cell that a spreadsheet would compute, whatever separates its cells. Some take signs of
full width for the usual ones."""


def render(report: Report) -> str:
    """One row for each reason of each producer that the report lists, the worst producer first."""
    text = StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(HEAD)
    for producer in report["producers"]:
        for reason in producer["reasons"]:
            writer.writerow(map(_cell, _row(report, producer, reason)))
    return text.getvalue()


def _row(report: Report, producer: Producer, reason: ClientReason) -> Iterator[object]:
    client_id = producer["client_id"]
    yield from (report["first_day"], report["last_day"])
    yield from (None if client_id is None else words.client(client_id), producer["principal"])
    yield from (reason[name] for name in _REASON)
    yield " ".join(topic["topic"] for topic in producer["topics"])
    yield " ".join(producer["addresses"])
    yield producer["team"]


def _cell(value: object) -> object:
    """An empty cell for null. Text is printable and never a formula."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return value
    return _FORMULA.sub(r"\1'", bounded(value, 2_000))
