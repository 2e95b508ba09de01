"""The headline follows from the numbers, and names the most important fact."""

import re

import pytest

from spark_reports.log.completeness import State
from spark_reports.render import html
from spark_reports.report.headline import headline, notes
from tests.spark_reports import reports
from tests.spark_reports.pure.test_html import Page


def headline_of(reasons=None, state=State.COMPLETE, **changes):
    report = reports.fixed()
    rows = report["reasons"] if reasons is None else reasons
    return headline(report["totals"] | changes, rows, state)


def notes_of(**totals):
    report = reports.fixed()
    return notes(report | {"totals": report["totals"] | totals})


def too_old(**changes):
    """The fixed report's reason for records that are too old; one producer, 87,213 records."""
    [row] = [row for row in reports.fixed()["reasons"] if (row["reason"], row["unit_guess"]) == TOO_OLD]
    return row | changes


TOO_OLD = ("too_old", None)
SHARE = "17% of 5,479,455 records were rejected"


def test_an_incomplete_log_does_not_say_that_nothing_was_rejected():
    """The lines of the worst producers may be those that a shipper has made unreadable."""
    none = {"records_rejected": 0, "records_broker_rejected": 0}
    said = "The log is incomplete: of 5,479,455 records in it, none was rejected."
    assert headline_of([], State.INCOMPLETE, **none) == said
    assert headline_of([], State.INCOMPLETE, **none, would_reject_records=9) == said
    assert headline_of(state=State.INCOMPLETE).startswith("At least ")
    assert headline_of([], **none, would_reject_records=0) == "None of 5,479,455 records was rejected."


def test_all_wrong_units_are_one_cause():
    assert headline_of() == f"{SHARE}. Main cause (89%): the wrong time unit."


@pytest.mark.parametrize("cause", [None, "a cause in so many words that nobody reads them all, " * 3])
def test_a_headline_has_at_most_twenty_words(cause):
    """It is read at a glance. A long cause stands below it."""
    rows = [too_old(**({"cause": cause} if cause else {}))]
    assert len(headline_of(rows).split()) <= 20
    assert (headline_of(rows) == f"{SHARE}.") is bool(cause)
    assert len(headline_of().split()) <= 20


@pytest.mark.parametrize(
    "changes", [{"is_final": False}, {"verdict": "repaired"}, {"verdict": "unconfirmed"}]
)
def test_records_that_were_not_rejected_are_no_cause(changes):
    rows = [too_old(), too_old(records=5_000_000, cause="something else") | changes]
    assert headline_of(rows) == f"{SHARE}. Main cause (9.3%): timestamps are older than the limit."


@pytest.mark.parametrize(
    ("judged", "text"), [(1, "The one record was rejected"), (9, "One of 9 records was rejected")]
)
def test_one_rejected_record_is_one(judged, text):
    found = headline_of([], records_judged=judged, records_rejected=1, records_broker_rejected=0)
    assert found == f"{text}."
    one = [too_old(records=1)]
    found = headline_of(one, records_judged=judged, records_rejected=1, records_broker_rejected=0)
    assert found == f"{text}: timestamps are older than the limit."


NONE_SENT_AGAIN = {f"records_{name}_retried": 0 for name in ("rejected", "broker_rejected", "unconfirmed")}


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (State.COMPLETE, "No records came through the proxy."),
        (
            State.COMPLETE_IN_PART,
            "No records came through the proxy at the times for which the log is complete.",
        ),
        (State.INCOMPLETE, "No record could be read from the log, which is incomplete."),
    ],
)
def test_a_headline_says_that_nothing_came_only_of_times_that_are_known(state, text):
    assert headline_of([], state, records_judged=0, **NONE_SENT_AGAIN) == text


@pytest.mark.parametrize("name", NONE_SENT_AGAIN)
def test_all_records_that_were_sent_again_are_counted(name):
    totals = reports.empty()["totals"] | {name: 7}
    told = "No record was stored or rejected for good: 7 records hit an error that most producers retry."
    assert {headline(totals, [], state) for state in State} == {told}
    report = reports.fixed() | {"totals": reports.fixed()["totals"] | {name: 7_000_000}}
    again = re.compile(
        r"Not counted: 7,00\d,\d{3} records that failed with an error that most producers retry"
    )
    assert again.search(Page(html.render(report)).words)


@pytest.mark.parametrize(
    ("judged", "text"),
    [
        (0, "No records came through the proxy."),
        (1, "The one record was not rejected."),
        (7, "None of 7 records was rejected."),
    ],
)
def test_a_day_without_rejections_has_a_headline(judged, text):
    rejected = {"records_rejected": 0, "records_broker_rejected": 0, "would_reject_records": 0}
    assert headline_of(records_judged=judged, **rejected, **NONE_SENT_AGAIN) == text


@pytest.mark.parametrize(
    ("bad", "good", "text"),
    [
        (
            6_093,
            27_198,
            "6,093 bad records; 27,198 good ones were in the same batches: smaller batches would",
        ),
        (10, 9, "10 bad records; 9 good ones were in the same batches."),
        (0, 1, "0 bad records; 1 good one was in the same batches: smaller batches would save most of them."),
    ],
)
def test_good_records_that_were_rejected_with_bad_ones_are_told_apart_at_the_top(bad, good, text):
    """A team acted on the headline, which called 33,291 records bad: 82% of them were good."""
    report = reports.fixed()
    report["totals"] |= {"bad_records": bad, "collateral_records": good}
    page = Page(html.render(report)).words
    assert page.index(text) < page.index("Mistake, and what to do")


@pytest.mark.parametrize(
    ("totals", "told"),
    [
        (
            {"records_judged": 2000, "records_unread": 1990},
            "1,990 records (99.5%) were checked by the header of the compressed batch alone "
            "(inspect.compressed).",
        ),
        (
            {"records_judged": 1000, "records_limits_unknown": 1},
            "1 record (0.1%) was judged without the limits of the topic, which were not known.",
        ),
    ],
)
def test_the_page_says_how_many_records_were_not_read_or_only_brokers_judged(totals, told):
    none = {"records_unread": 0, "records_limits_unknown": 0}
    assert notes_of(**none | totals) == [told]
    assert notes_of(**none) == []
    report = reports.fixed()
    report["totals"] |= totals
    assert told in Page(html.render(report)).words


def test_a_new_client_is_new_on_the_days_that_are_known():
    """It was "never rejected in the days before" also if the rollup held one of them."""
    report = reports.fixed()
    days = [{**report["trend"]["days"][0], "day": "2026-11-01"}, *report["trend"]["days"][-3:]]
    report["trend"]["days"] = days  # two of the week before, and an older one of a long period
    assert "new: never rejected before (2 of 7 days known)" in html.render(report)
