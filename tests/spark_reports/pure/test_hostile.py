"""Text that a client, a broker or a rollup chose does nothing in any file of a report."""

import csv
import json
import re
from io import StringIO
from xml.etree import ElementTree

import pytest

from spark_reports.render import html, index, sheet
from spark_reports.render import teams as render
from spark_reports.report import teams
from tests.spark_reports import reports
from tests.spark_reports.pure.test_html import TAGS, Page
from tests.spark_reports.pure.test_notices import notices
from tests.spark_reports.pure.test_prom import read
from tests.spark_reports.pure.test_sheet import rows_of

HARMLESS = "harmless"
TEXTS = (
    *reports.HOSTILE,
    *("javascript:alert(1)", "//evil.example", "../../etc/passwd", "\u2066\u202d" * 5_000, "x" * 10_000),
    *('=HYPERLINK("x")', "+1", "-1", "@x", "\t=1", "\r=1", 'a,"b"\nc'),
)


def files_with(text):
    """All files of a report that has this text in every name, and of the folder of a team, by their names."""
    report = reports.hostile(text)
    team = report["owners"]["teams"][0]
    named = {"teams": [text], "cause": text, "page": text, "generated_ts": text}
    return {
        "report.html": html.render(report),
        **{
            f"team {name}": made
            for name, made in render.files(report, team, teams.latest(report, team, None, "")).items()
        },
        "index.html": index.render(reports.week(**{f"d{n}": named for n in range(13, 21)})),
        "report.csv": sheet.render(report),
    }


@pytest.fixture(scope="module", params=TEXTS, ids=lambda text: text[:20])
def made(request):
    """The text, and the files with it."""
    return request.param, files_with(request.param)


def test_pages_have_the_elements_of_ours_and_no_link_to_elsewhere(made):
    text, files = made
    named = {name: Page(page) for name, page in files.items() if name.endswith(".html")}
    assert len(named) == 4
    assert named["report.html"].attributes == Page(html.render(reports.hostile(HARMLESS))).attributes
    assert {*named["index.html"].links} - {text} == {f"teams/{teams.folder_of(text)}/index.html"}
    for page in named.values():
        assert page.tags <= TAGS
        assert (page.open, page.crossed) == ([], [])
        assert not [name for name in page.attributes if name.startswith("on")]
        assert not [link for link in page.links if re.match(r"(?i)\s*(java|https?://evil|//)", link)]


def test_all_that_people_read_is_printable_and_short(made):
    """A bidirectional control would turn around the text after it."""
    _, files = made
    latest = json.loads(files[f"team {teams.LATEST}"])
    for name in ("report.html", "index.html"):
        assert {character for character in files[name] if not character.isprintable()} <= {"\n", "\xa0"}
        assert "x" * 3_000 not in files[name]
        assert len(files[name]) < 400_000
    assert (latest["subject"] + latest["text"].replace("\n", "")).isprintable()
    ElementTree.fromstring(files[f"team {teams.FEED}"])


def test_no_client_writes_a_formula_or_a_row(made):
    _, files = made
    rows = list(csv.DictReader(StringIO(files["report.csv"], newline="")))
    assert len(rows) == len(rows_of(reports.fixed()))
    for row in rows:
        assert row["client_id"][0] not in "=+-@\t\r"
        assert all(cell.isprintable() for cell in row.values())


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:20])
def test_no_name_becomes_another_metric_or_leaves_its_line_in_a_text_for_owners(text):
    report, names = reports.hostile(text), {name for name, _ in read(reports.complete())}
    told = notices(report)
    assert [each.count("\n") for each in told] == [each.count("\n") for each in notices(reports.fixed())]
    assert all(character.isprintable() or character == "\n" for each in told for character in each)
    report["topics"], report["owners"]["teams"] = report["topics"][:1], report["owners"]["teams"][:1]
    assert {name for name, _ in read(report)} == names  # a topic and a team are there once
