"""report.csv for spreadsheets and scripts: one row for each client, outcome and reason.

`daily` writes all clients, up to 10,000 of each outcome; `render` knows those of report.json. The client
`(not listed)` has the records of all others. `topics` are the five at which most records of the
client were rejected, whatever the reason of the row; rows of repaired records have none.

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
from spark_reports.report.headline import rejected_records
from spark_reports.report.shape import Producer, Repaired, Report, WouldReject
from tsproxy.decisions.text import bounded

HEAD: Final = (
    *("first_day", "last_day", "client_id", "principal"),
    *("verdict", "reason", "unit_guess", "error_code", "is_final", "cause", "fix"),
    *("batches", "records", "bad_records", "collateral_records", "drift_min_ms", "drift_max_ms"),
    *("topics", "team", "outcome", "rule", "waiver"),
)

_FORMULA: Final = re.compile(r"(^|[;,|])(?=[\s'\"]*[=+\-@＝＋－＠﹣﹢﹦﹫])")
"""The beginning of a cell that a spreadsheet would compute, whatever separates its cells. Some take signs of
full width for the usual ones."""


def render(report: Report) -> str:
    """The rows of clients that were rejected, that would be, that lie far behind, and that were repaired."""
    text = StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(HEAD)
    days = {name: report[name] for name in ("first_day", "last_day")}
    for row in (*_rejected(report), *_watched(report), *_repaired(report)):
        writer.writerow(_cell((row | days).get(name)) for name in HEAD)
    return text.getvalue()


def _rejected(report: Report) -> Iterator[dict[str, object]]:
    for producer in report["producers"]:
        topics = " ".join(topic["topic"] for topic in producer["topics"])
        for reason in producer["reasons"]:
            yield {**_client(producer), **reason, "topics": topics, "outcome": "rejected"}
    listed = sum(producer["rejected_records"] for producer in report["producers"])
    yield from _rest("rejected", rejected_records(report["totals"]) - listed)


def _watched(report: Report) -> Iterator[dict[str, object]]:
    behind, watched = words.far_behind(report["would_reject"])
    for outcome, rows in (("would_reject", watched), ("far_behind", behind)):
        yield from ({**row, **_client(row), "topics": row["topic"], "outcome": outcome} for row in rows)
    totals = report["totals"]
    yield from _rest("would_reject", totals["would_reject_records"] - sum(row["records"] for row in watched))
    left = totals["far_behind_records"] - sum(row["bad_records"] for row in behind)
    yield from _rest("far_behind", left, "bad_records")


def _repaired(report: Report) -> Iterator[dict[str, object]]:
    for row in report["repaired"]:
        yield {**row, **_client(row), "topics": None, "outcome": "repaired"}
    listed = sum(row["records"] for row in report["repaired"])
    yield from _rest("repaired", report["totals"]["records_repaired"] - listed)


def _client(row: Producer | WouldReject | Repaired) -> dict[str, object]:
    client_id = row["client_id"]
    shown = None if client_id is None else words.client(client_id)
    return {"client_id": shown, "principal": row["principal"], "team": row["team"]}


def _rest(outcome: str, records: int, name: str = "records") -> Iterator[dict[str, object]]:
    if records > 0:
        yield {"client_id": words.NOT_LISTED, "outcome": outcome, name: records}


def _cell(value: object) -> object:
    """An empty cell for null. Text is printable and never a formula."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return value
    return _FORMULA.sub(r"\1'", bounded(value, 2_000))
