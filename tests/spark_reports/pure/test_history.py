"""The day beside the week before it: medians, days that are not whole, and clients that changed."""

import json
import re
from dataclasses import replace

import pytest

from spark_reports.commands.publishing import Publication
from spark_reports.log.completeness import Evidence
from spark_reports.render import html
from spark_reports.report import history, kept_days, trend, words
from spark_reports.report.shape import Change, to_json
from tests.spark_reports import reports
from tests.spark_reports.day import DAY_MS, FRIDAY, MIDNIGHT_MS
from tests.spark_reports.pure.test_html import Page
from tests.spark_reports.rolled import day_of, known, rejected, row


def of(new_producers=1, **changed):
    return history.compared(reports.week(**changed), FRIDAY, new_producers)


def test_a_day_is_compared_with_the_median_of_seven_days_and_with_the_day_before():
    found = of(d20={"rejected_records": 4_000})
    assert [day["day"][-2:] for day in found["days"]] == [str(n) for n in range(13, 21)]
    assert found["usual"]["days"] == 7
    assert found["usual"]["rejected_records"] == 500 + 100 * 16
    assert found["usual"]["share_of"]["day"] == "2026-11-16"
    assert found["direction"] == "worse"
    assert found["sentence"] == (
        "Worse than usual: 4.0% of the records of 2026-11-20 were rejected (4,000), 2.1% (2,100) in the "
        "median of 7 days before, 2.4% on the day before. 1 producer with 10 rejected records or more is new."
    )


NONE_BEFORE = {f"d{n}": {"rejected_records": 0} for n in range(13, 20)}


@pytest.mark.parametrize(
    ("today", "before", "direction"),
    [
        # The median is 2.1%: 2,100 of 100,000. A share within a quarter of it is as usual.
        *(({"rejected_records": n}, {}, "as_usual") for n in (2_625, 1_575)),
        *(({"rejected_records": n}, {}, "better") for n in (1_574, 0)),
        ({"rejected_records": 2_626}, {}, "worse"),
        ({}, NONE_BEFORE, "worse"),
        ({"rejected_records": 0}, NONE_BEFORE, "as_usual"),
        # A day with ten times the traffic and the same share.
        ({"records": 1_000_000, "rejected_records": 21_000}, {}, "as_usual"),
    ],
)
def test_the_share_of_rejected_records_decides_whether_a_day_is_as_usual(today, before, direction):
    assert of(**before, d20=today)["direction"] == direction


INCOMPLETE = {"state": "incomplete", "is_compared": False, "records": 10, "rejected_records": 0}


@pytest.mark.parametrize("change", [None, INCOMPLETE])
def test_a_day_that_is_missing_or_incomplete_is_named_and_is_not_counted_as_a_day_without_rejections(change):
    """Four such days among seven would bring the median to 0."""
    names = ("d13", "d15", "d17", "d19")
    found = of(**dict.fromkeys(names, change))
    assert found["usual"]["days"] == 3
    assert found["usual"]["rejected_records"] == 500 + 100 * 16
    assert found["usual"]["share_of"]["day"] == "2026-11-16"
    reason = "missing" if change is None else "incomplete"
    left_out = ", ".join(f"2026-11-{name[1:]} ({reason})" for name in names)
    assert found["sentence"].endswith(f" Left out: {left_out}.")
    assert "the day before" not in found["sentence"]
    assert [day["is_compared"] for day in found["days"]] == [False, True] * 3 + [False, True]
    if change is None:
        assert found["days"][0]["records"] is found["days"][0]["rejected_records"] is None


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"d13": None}, "2.1% (2,100) in the median of 6 days before"),  # the lower one of two in the middle
        (
            {"d19": {"records": 0, "rejected_records": 0, "is_compared": False}},
            "Left out: 2026-11-19 (no records).",
        ),
        # In a fleet, some process is killed every day.
        (
            {"d14": {"state": "incomplete"}, "d15": {"state": "incomplete"}},
            "Of these days, 2 are incomplete, by at most 1%.",
        ),
    ],
)
def test_the_sentence_says_with_which_days_the_day_is_compared(changed, says):
    assert says in of(**changed)["sentence"]


@pytest.mark.parametrize(
    ("own", "says"),
    [
        (
            {"state": "incomplete", "is_compared": False},
            "The day itself: incomplete; at least 2,500 records rejected.",
        ),
        ({"state": "not_over", "is_compared": False}, "The day itself: not over when its report was made."),
        ({"records": 0, "is_compared": False}, "The day itself: no records."),
    ],
)
def test_nothing_is_claimed_of_a_day_that_is_not_known_as_a_whole(own, says):
    found = of(d20=own)
    assert (found["direction"], found["usual"]) == ("not_compared", None)
    assert found["sentence"] == f"Not compared with the days before. {says}"


def test_nothing_is_claimed_where_no_day_before_is_known():
    found = of(None, **{f"d{n}": None for n in range(13, 20)})
    assert found["direction"] == "not_compared"
    assert found["sentence"].startswith("Not compared with the days before. Left out: 2026-11-13 (missing), ")
    assert "new" not in found["sentence"]
    page = Page(html.render(reports.complete() | {"history": found, "trend": None})).words
    assert "Rejected by day: not compared" in page


def facts_of(log=None, days=None, processes=None, **changed):
    report = reports.fixed() | changed
    report["log"] = report["log"] | (log or {})
    rows = [{"day": "2026-11-20", "records": 1_000, "rejected_records": 10, "producers_affected": 1}]
    return history.of_report(
        report, rows if days is None else days, "2026-11-20/report.html", processes or {}
    )


def test_the_facts_of_a_day_are_read_back_as_they_were_written():
    [facts] = facts_of(processes={"2026-11-20": {("px", "a"), ("px", "b")}})
    assert history.from_text(to_json(facts)) == facts
    assert facts["processes"] == [["px", "a"], ["px", "b"]]
    assert (facts["state"], facts["is_compared"], facts["cause"]) == ("complete", True, "the wrong time unit")
    assert 0 < facts["cause_records"] <= 941_773


def test_a_file_of_an_earlier_release_names_no_places():
    facts = reports.week()["2026-11-20"]
    added = {name: [] for name in ("teams", "processes")}
    added |= {"would_reject_records": None, "would_reject_producers": None}
    kept = {name: facts[name] for name in facts if name not in added}
    assert history.from_text(json.dumps(kept)) == kept | added


KILLED = {"proxy": "px", "boot": "b", "last_ts": "2026-11-20T12:00:30.000Z",
          "counted_to_ts": "2026-11-20T12:00:00.000Z"}  # fmt: skip


def until(time):
    """A time from noon on without a heartbeat of px."""
    return {"proxy": "px", "from_ts": "2026-11-20T12:00:00.000Z", "to_ts": f"2026-11-20T{time}:00.000Z"}


@pytest.mark.parametrize(
    ("log", "is_compared"),
    [
        ({"lost_lines": 424}, True),
        ({"lost_lines": 425}, False),
        ({"lines_unusable": 425}, False),
        ({"missing_intervals": 28}, True),
        ({"missing_intervals": 29}, False),
        ({"silent_boots": 1}, True),
        ({"silent_boots": 28, "boots": 30}, True),
        ({"silent_boots": 29, "boots": 31}, False),
        ({"silent_boots": 1, "silent": [KILLED], "unheard": [until("12:28")]}, True),
        ({"silent_boots": 1, "silent": [KILLED], "unheard": [until("12:29")]}, False),
        ({"silent_boots": 1, "silent": [KILLED], "unheard": [until("23:00") | {"proxy": "qx"}]}, True),
        ({"state": "complete_in_part", "missing_intervals": 0}, True),
    ],
)
def test_a_log_that_lacks_more_than_a_hundredth_of_something_is_not_compared(log, is_compared):
    """The log has 42,449 lines, 2,880 intervals and 2 proxies. A killed process leaves an interval uncounted
    at most, unless its proxy is not heard afterwards: then its last lines may not have come."""
    [facts] = facts_of({"state": "incomplete"} | log)
    assert facts["is_compared"] is is_compared


def test_a_day_that_is_not_over_is_not_compared():
    [facts] = facts_of(generated_ts="2026-11-20T20:00:00.000Z")
    assert (facts["state"], facts["is_compared"]) == ("not_over", False)


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
            to_json(reports.week()["2026-11-20"] | change)
            for change in (
                {"day": "20261120"},
                {"day": "../../etc"},
                {"state": "fine"},
                {"records": "many"},
                {"cause": 7},
                {"is_compared": None},
                {"teams": [7]},
                *({"processes": wrong} for wrong in (["a"], [["a"]], [["a", None]], [["a", "b", "c"]])),
            )
        ],
    ],
)
def test_a_file_of_another_form_is_a_missing_day(text):
    assert history.from_text(text) is None


def test_the_page_has_the_sentence_and_the_eight_days_and_none_of_them_without_a_rollup():
    """The days have a scale of their own. A share of 5% was once a sliver on a track of 100%."""
    page = html.render(reports.complete())
    assert "rejected (941,773), 6.7% (365,642) in the median of 7 days before" in Page(page).words
    assert "Rejected by day: worse than usual" in page
    heights = re.findall(r'style="height:(\d+)%"', page)
    assert [int(each) for each in heights] == [30, 33, 36, 39, 67, 70, 73, 100]
    assert "<b>5.1%</b>" in page
    without = html.render(reports.fixed())
    assert not any(text in without.lower() for text in ("median", "as usual", "rejected by day:"))


def test_a_day_that_is_missing_is_a_dash_and_one_that_is_not_compared_is_pale():
    report = reports.complete() | {"history": of(d15=None, d17=INCOMPLETE | {"records": 1_000})}
    page = html.render(report)
    drawing = page[page.index('class="week"') : page.index("</ol>")]
    assert drawing.count("<li") == 8
    assert drawing.count('class="pale"') == 2
    assert 'title="2026-11-15 missing" class="pale"><b>–</b>' in drawing
    assert 'title="2026-11-17 incomplete" class="pale"><b>0%</b>' in drawing


@pytest.mark.parametrize(
    ("lacks", "earlier", "missing"),
    [
        ((), (), []),
        ((13, 14, 16, 19), (), [16, 19]),  # days before the first one that it holds were never wanted
        ((13, 14, 16, 19), ("2026-10-20",), [13, 14, 16, 19]),
        (range(13, 20), (), []),
        (range(13, 21), (), []),
        (range(13, 20), ("2026-10-20",), [*range(13, 20)]),
    ],
)
def test_days_that_the_rollup_lacks_after_one_that_it_holds_are_missing_days(
    lacks, earlier, missing, tmp_path
):
    facts = reports.week(**{f"d{n}": None for n in lacks})
    facts |= {day: facts["2026-11-20"] | {"day": day} for day in earlier}
    kept_days.keep(None, str(tmp_path), [each | {"processes": []} for each in facts.values()])
    facts = kept_days.read(None, str(tmp_path), *kept_days.around(FRIDAY, FRIDAY))
    assert history.compared(facts, FRIDAY, 0)["missing_days"] == [f"2026-11-{n}" for n in missing]


SHARES = {  # rejected records among 100, from the 13th to the 20th; None: it sent nothing
    "new": (0, 0, 0, 0, 0, 0, 0, 50),
    "the-same": (0, 0, 0, 0, 0, 100, 100, 100),
    "since-yesterday": (0, 0, 0, 0, 0, 0, 60, 60),
    "worse": (10, 10, 10, 10, 10, 10, 10, 40),
    "worse-than-yesterday-alone": (40, 40, 40, 40, 40, 40, 10, 40),
    "silent-yesterday": (10, 10, 10, 10, 10, 10, None, 20),
    "recovered": (0, 0, 0, 0, 0, 0, 30, 0),
    "too-few": (0, 0, 0, 0, 0, 0, 0, 9),
}


def rows(shares=SHARES):
    return known(
        (f"2026-11-{day}", name, 100, rejected)
        for name, own in shares.items()
        for day, rejected in zip(range(13, 21), own, strict=True)
        if rejected is not None
    )


def test_doubled_is_said_of_a_share_that_doubled_against_the_day_before_and_the_usual_one():
    """2,400 of 2,400 records on three days alike were doubled on each: compared with the sum of the week."""
    found = trend.changes(rows(), FRIDAY, is_whole=True)
    assert {row["client_id"]: row["kind"] for row in found} == {
        "new": "new",
        "worse": "doubled",
        "silent-yesterday": "doubled",
        "recovered": "recovered",
    }
    assert set(found[0]) == set(Change.__annotations__)
    assert [row["rejected_records"] for row in found] == [50, 40, 20, 0]


TORN = {"file": "a.jsonl", "problem": "not_json", "example": "{"}
TORN |= dict.fromkeys(("lines", "once", "inside", "duplicates", "unusable", "changed"), 1)


@pytest.mark.parametrize(
    ("days_after", "unusable", "recovered"), [(1, [], ["well"]), (0.5, [], []), (1, [TORN], [])]
)
def test_a_report_tells_of_each_producer_what_the_rollup_knows(days_after, unusable, recovered):
    """A day without records is a known one. Nobody has recovered on a day that is not over or not whole, and
    a producer may have been rejected before the week that is known."""
    week = {"well": (80, 80, 0), "ill": (0, 0, 100), "few": (0, 0, 9)}
    days = known((f"2026-11-{18 + n}", name, 100, week[name][n]) for name in week for n in range(3))
    before = reports.week(d20=None, **{f"d{n}": {"records": 0} for n in range(13, 18)})
    made = day_of(row("well", 100), rejected("ill", 100), rejected("few", 9, batches=1))
    made = replace(made, evidence=Evidence([], [], unusable))
    publication = Publication("out", ("html",), rollup="rollup")
    now_ms = MIDNIGHT_MS + int(days_after * DAY_MS)
    report, *_ = publication.completed(made, now_ms, days, before, {})
    changes = {change["client_id"]: change["kind"] for change in report["trend"]["changes"]}
    assert changes == {"ill": "new"} | dict.fromkeys(recovered, "recovered")
    assert [each["week"] for each in report["producers"]] == [[0] * 7 + [100], [0] * 7 + [9]]
    assert [words.since(report, each) for each in report["producers"]] == ["00:00, new"] * 2
    assert words.change(report["trend"], "new") == "new: rejected on none of the seven days before"
