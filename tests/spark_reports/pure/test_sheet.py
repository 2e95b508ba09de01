"""report.csv as a spreadsheet or a script reads it."""

import csv
from collections import Counter
from io import StringIO

import pytest

from spark_reports.render import sheet
from tests.spark_reports import reports
from tests.spark_reports.rolled import both, rejected, repaired, watched


def rows_of(report):
    return list(csv.DictReader(StringIO(sheet.render(report), newline="")))


def test_each_reason_of_each_producer_is_a_row():
    report = reports.fixed()
    rows = [row for row in rows_of(report) if row["outcome"] == "rejected"]
    assert len(rows) == sum(len(producer["reasons"]) for producer in report["producers"])
    first = report["producers"][0]
    assert (rows[0]["client_id"], rows[0]["principal"]) == (first["client_id"], first["principal"])
    assert (rows[0]["cause"], rows[0]["fix"]) == ("timestamps are in nanoseconds", "divide by 1,000,000")
    assert int(rows[0]["records"]) == first["rejected_records"]


MANY = [
    each
    for n in range(60)
    for each in (
        rejected(f"a-{n:02}", 100 + n),
        rejected(f"a-{n:02}", 50, unit_guess="microseconds"),
        watched(f"b-{n:02}", 30 + n),
        watched(f"c-{n:02}", 20 + n, rule="candidate"),
        repaired(f"d-{n:02}", 10 + n),
    )
]


@pytest.mark.parametrize("file", ["", '[[owners]]\nteam = "A"\nclient_ids = ["a-*"]'])
def test_the_sheet_has_each_client_and_cause_and_not_only_those_of_the_page(file):
    """A team with 18 producers found two of them."""
    report, everybody = both(MANY, file, top=2)
    rows = rows_of(everybody)
    outcomes = {"rejected": 120, "would_reject": 60, "far_behind": 60, "repaired": 60}
    assert Counter(row["outcome"] for row in rows) == outcomes
    assert len({(row["client_id"], row["cause"]) for row in rows}) == 300
    assert {row["team"] for row in rows if row["client_id"][0] == "a"} == {"A" if file else ""}
    assert not any(row["client_id"] == "(not listed)" for row in rows)
    for name, whole in sums(everybody).items():
        assert sums(report)[name] == whole, name
    assert len(rows_of(report)) < 30  # `render` knows those of report.json, and one row for the others


def sums(report):
    """The records of each outcome."""
    found = Counter()
    for row in rows_of(report):
        found[row["outcome"]] += int(row["bad_records" if row["outcome"] == "far_behind" else "records"])
    return found


@pytest.mark.parametrize(("client_id", "cell"), [(None, ""), ("", "(empty client id)")])
def test_a_client_without_an_id_has_an_empty_cell(client_id, cell):
    report = reports.fixed()
    report["producers"][0]["client_id"] = client_id
    assert rows_of(report)[0]["client_id"] == cell


@pytest.mark.parametrize("sign", "=+-@＝＋－＠")  # signs of full width
@pytest.mark.parametrize("before", ["", " ", "x;", "x; ", "x|", 'x";', "x;'", "x;y;"])
def test_no_cell_begins_with_a_formula_whatever_separates_cells(before, sign):
    """In many countries, spreadsheets read a file with the semicolon as separator."""
    text = sheet.render(reports.hostile(f"{before}{sign}cmd|' /C calc'!A0;y"))
    for separator in ",;|\t":
        for row in csv.reader(StringIO(text, newline=""), delimiter=separator):
            starts = [cell.strip(' "')[:1] for cell in row if not cell.lstrip("-").isdigit()]
            assert not set(starts) & set("=+-@＝＋－＠"), (separator, row)


def test_a_drift_behind_stays_a_number():
    assert any(int(row["drift_min_ms"]) < 0 for row in rows_of(reports.fixed()) if row["drift_min_ms"])
