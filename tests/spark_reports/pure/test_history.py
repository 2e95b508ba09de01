"""The day beside the week before it, and days that are missing or incomplete."""

import json
import re
from datetime import date

import pytest

from spark_reports.render import html
from spark_reports.report import history
from tests.spark_reports import reports

FRIDAY = date(2026, 11, 20)


def of(new_producers=1, **changed):
    return history.beside(reports.week(**changed), FRIDAY, new_producers)


def test_the_history_has_eight_days_and_those_that_the_rollup_lacks_are_missing():
    found = of(d15=None)["days"]
    assert [day["day"][-2:] for day in found] == [str(n) for n in range(13, 21)]
    assert [day["state"] for day in found] == [*["complete"] * 2, "missing", *["complete"] * 5]
    assert found[2]["records"] is found[2]["rejected_records"] is None


INCOMPLETE = {"state": "incomplete", "records": 1_000, "rejected_records": 0}


@pytest.mark.parametrize(
    ("change", "doubt"),
    [
        (None, "missing"),
        (INCOMPLETE, "incomplete"),
        ({"state": "not_over"}, "not over when its report was made"),
        ({"records": 0}, "no records"),
        ({"state": "complete_in_part"}, None),
        ({}, None),
    ],
)
def test_the_numbers_of_a_day_are_in_doubt_if_they_are_not_those_of_a_whole_day(change, doubt):
    assert history.doubt(of(d15=change)["days"][2]) == doubt


def facts_of(log=None, days=None, processes=None, **changed):
    report = reports.fixed() | changed
    report["log"] = report["log"] | (log or {})
    rows = [{"day": "2026-11-20", "records": 1_000, "rejected_records": 10, "producers_affected": 1}]
    return history.of_report(
        report, rows if days is None else days, "2026-11-20/report.html", processes or {}
    )


def test_the_facts_of_a_day_are_read_back_as_they_were_written():
    [facts] = facts_of(processes={"2026-11-20": {("px", "a"), ("px", "b")}})
    assert history.from_text(history.to_text(facts)) == facts
    assert facts["processes"] == [["px", "a"], ["px", "b"]]
    assert (facts["state"], facts["cause"]) == ("complete", "the wrong time unit")
    assert 0 < facts["cause_records"] <= 941_773


def test_a_file_of_an_earlier_release_names_no_places():
    facts = reports.week()["2026-11-20"]
    added = {name: [] for name in ("teams", "processes")}
    added |= {"would_reject_records": None, "would_reject_producers": None}
    kept = {name: facts[name] for name in facts if name not in added}
    assert history.from_text(json.dumps(kept)) == kept | added


def test_a_day_that_is_not_over_says_so():
    [facts] = facts_of(generated_ts="2026-11-20T20:00:00.000Z")
    assert facts["state"] == "not_over"


def test_days_of_one_report_have_their_own_counts_and_no_cause():
    """A day without records may be one of which nothing was heard."""
    days = [
        {"day": f"2026-11-{n}", "records": n, "rejected_records": 1, "producers_affected": 1}
        for n in (18, 20)
    ]
    whole = {"first_day": "2026-11-18"}
    found = facts_of({"state": "complete_in_part"}, days, **whole)
    assert [(each["day"], each["records"], each["cause"]) for each in found] == [
        ("2026-11-18", 18, None),
        ("2026-11-20", 20, None),
    ]
    assert [each["records"] for each in facts_of(None, days, **whole)] == [18, 0, 20]


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "null", "{}", '{"day": "2026-11-20"}', "[" * 100_000),
        *[
            history.to_text(reports.week()["2026-11-20"] | change)
            for change in (
                {"day": "20261120"},
                {"day": "../../etc"},
                {"state": "fine"},
                {"records": "many"},
                {"cause": 7},
                {"teams": [7]},
                *({"processes": wrong} for wrong in (["a"], [["a"]], [["a", None]], [["a", "b", "c"]])),
            )
        ],
    ],
)
def test_a_file_of_another_form_is_a_missing_day(text):
    assert history.from_text(text) is None


def test_the_page_draws_the_eight_days_on_a_scale_of_their_own():
    """A share of 5% was once a sliver on a track of 100%."""
    page = html.render(reports.complete())
    assert "Rejected by day" in page
    heights = re.findall(r'style="height:(\d+)%"', page)
    assert [int(each) for each in heights] == [30, 33, 36, 39, 67, 70, 73, 100]
    assert "<b>5.1%</b>" in page
    assert 'class="week"' not in html.render(reports.fixed())


def test_a_day_that_is_missing_is_a_dash_and_an_incomplete_one_is_pale():
    report = reports.complete() | {"history": of(d15=None, d17=INCOMPLETE)}
    page = html.render(report)
    drawing = page[page.index('class="week"') : page.index("</ol>")]
    assert drawing.count("<li") == 8
    assert drawing.count('class="pale"') == 2
    assert 'title="2026-11-15 missing" class="pale"><b>–</b>' in drawing
    assert 'title="2026-11-17 incomplete" class="pale"><b>0%</b>' in drawing


def test_days_that_the_rollup_lacks_between_others_are_missing_days():
    """Days before the first one that it holds were never wanted."""
    assert history.missing_days(None) == []
    assert history.missing_days(of()) == []
    assert history.missing_days(of(d13=None, d14=None, d16=None, d19=None)) == ["2026-11-16", "2026-11-19"]
