"""report.csv as a spreadsheet or a script reads it."""

import csv
from io import StringIO

import pytest

from spark_reports.cli import main
from spark_reports.render import sheet
from tests.spark_reports import reports


def rows_of(report):
    return list(csv.DictReader(StringIO(sheet.render(report), newline="")))


def test_each_reason_of_each_producer_is_a_row():
    report = reports.fixed()
    rows = rows_of(report)
    assert len(rows) == sum(len(producer["reasons"]) for producer in report["producers"])
    first = report["producers"][0]
    assert (rows[0]["client_id"], rows[0]["principal"]) == (first["client_id"], first["principal"])
    assert (rows[0]["cause"], rows[0]["fix"]) == ("timestamps are in nanoseconds", "divide by 1,000,000")
    assert int(rows[0]["records"]) == first["rejected_records"]


@pytest.mark.parametrize(("client_id", "cell"), [(None, ""), ("", "(empty client id)")])
def test_a_client_without_an_id_has_an_empty_cell(client_id, cell):
    report = reports.fixed()
    report["producers"][0]["client_id"] = client_id
    assert rows_of(report)[0]["client_id"] == cell


@pytest.mark.parametrize(
    "text", [*reports.HOSTILE, '=HYPERLINK("x")', "+1", "-1", "@x", "\t=1", "\r=1", 'a,"b"\nc']
)
def test_no_client_writes_a_formula_or_a_row(text):
    rows = rows_of(reports.hostile(text))
    assert len(rows) == len(rows_of(reports.fixed()))
    for row in rows:
        assert row["client_id"][0] not in "=+-@\t\r"
        assert all(cell.isprintable() for cell in row.values())


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


def test_render_writes_it(tmp_path):
    assert main(["render", str(reports.FIXED), "--format", "csv", "-o", str(tmp_path / "r.csv")]) == 0
    assert (tmp_path / "r.csv").read_bytes() == sheet.render(reports.fixed()).encode()
