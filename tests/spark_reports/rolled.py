"""A day without Spark: the rows of a rollup, of which `tables.collect` makes its tables."""

import pyarrow as pa

from spark_reports.log import schema
from spark_reports.log.completeness import Evidence
from spark_reports.report import owners, tables
from spark_reports.report.assemble import assemble, everybody
from spark_reports.report.day import Day
from spark_reports.report.groups import ROLLUP, TYPES
from spark_reports.report.table_source import TableSource
from tests.spark_reports.day import DAY_MS, FRIDAY, MIDNIGHT_MS

_NUMBERS = (*schema.SUMS, *schema.OPTIONAL_SUMS, "left_out_records", "first_ms", "last_ms")
_NULLS = (*schema.KEY, "drift_min_ms", "drift_max_ms")
_ARROW = {"text": pa.string(), "int": pa.int64(), "bool": pa.bool_()}


def row(client_id, records=1_000, **changes):
    """Accepted records of a client: all are good, in batches of ten."""
    return {
        **dict.fromkeys(_NULLS),
        **dict.fromkeys(_NUMBERS, 0),
        "hour": "2026-11-20T10",
        "topic": "orders",
        "verdict": "accepted",
        "error_code": 0,
        "client_id": client_id,
        "records": records,
        "batches": records // 10,
        "is_final": True,
        "would_reject": False,
        "first_ms": MIDNIGHT_MS,
        "last_ms": MIDNIGHT_MS,
    } | changes


def rejected(client_id, records=1_000, bad=None, **changes):
    """Rejected records, of which `bad` are bad: all of them, if nothing is said."""
    bad = records if bad is None else bad
    return row(client_id, records) | {
        "verdict": "rejected",
        "reason": "too_far_ahead",
        "error_code": 32,
        "rule": "topic-limits",
        "bad_records": bad,
        "collateral_records": records - bad,
        **changes,
    }


def watched(client_id, records=1_000, **changes):
    """Forwarded records that a rule in audit would reject."""
    return row(client_id, records) | {
        "rule": "week",
        "mode": "audit",
        "reason": "too_old",
        "would_reject": True,
        "bad_records": records,
        **changes,
    }


def repaired(client_id, records=1_000, **changes):
    """Records in microseconds, all of which a rule repaired."""
    return row(client_id, records) | {
        "verdict": "repaired",
        "rule": "sensors",
        "reason": "too_far_ahead",
        "unit_guess": "microseconds",
        "bad_records": records,
        **changes,
    }


def source_of(*rows):
    """The rows, to make tables of them."""
    columns = {name: _ARROW[TYPES.get(name, "int")] for name in (*ROLLUP.keys, *ROLLUP.measures)}
    return TableSource.of_rollup(pa.Table.from_pylist(rows, pa.schema(columns)))


def known(days):
    """The days of clients that a rollup knows. `days`: day, client id, records, rejected records."""
    names = ("day", "client_id", "records", "rejected_records")
    rows = [dict(zip(names, day, strict=True)) | {"affected": int(day[-1] > 0)} for day in days]
    texts = dict.fromkeys(("day", "client_id", "principal"), pa.string())
    numbers = dict.fromkeys(("records", "rejected_records", "affected"), pa.int64())
    return TableSource(pa.Table.from_pylist(rows, pa.schema(texts | numbers)))


def day_of(*rows):
    """A day of these rows: nothing is known of addresses, examples, histograms and processes."""
    texts = dict.fromkeys(("topic", "side"), pa.string())
    numbers = dict.fromkeys(("bucket", "batches", "records"), pa.int64())
    buckets = TableSource(pa.schema(texts | numbers).empty_table())
    none = {name: [] for name in ("addresses", "examples", "limits", "refused")}
    return Day(FRIDAY, FRIDAY, source_of(*rows), buckets, Evidence([], [], []), ([], []), **none)


def reported(rows, file="", top=50, week=None):
    """The report of these rows. `file`: the owners, as the text of a file; `week`: as `known` makes it."""
    return both(rows, file, top, week)[0]


def both(rows, file="", top=50, week=None):
    """The report of these rows, and that of which the sheet is made."""
    known = owners.parse(file, "owners.toml") if file else None
    found = tables.collect(day_of(*rows), top, week, known)
    report = assemble(found, FRIDAY, FRIDAY, MIDNIGHT_MS + DAY_MS + 1)
    names = ("json", "csv", "index", "day_before", "day_after", "teams", "address")
    report |= {"links": dict.fromkeys(names)}
    whole = everybody(report, found)
    if known is None:
        return report, whole
    return owners.assigned(report, known, found.clients, found.watched, found.repaired), whole
