"""The headline follows from the numbers, and names the most important fact."""

import re

import pytest

from spark_reports.log.completeness import State
from spark_reports.render import html
from spark_reports.report.headline import headline, notes
from tests.spark_reports import reports
from tests.spark_reports.pure.test_html import Page


def too_old(**changes):
    """The fixed report's reason for records that are too old; one producer, 87,213 records."""
    [row] = [row for row in reports.fixed()["reasons"] if (row["reason"], row["unit_guess"]) == TOO_OLD]
    return row | changes


TOO_OLD = ("too_old", None)
SHARE = "17% of 5,479,455 records were rejected"
OLD = "timestamps are older than the limit"
NONE = {"records_rejected": 0, "records_broker_rejected": 0, "would_reject_records": 0}
ONE = {"records_rejected": 1, "records_broker_rejected": 0}
NONE_SENT_AGAIN = {f"records_{name}_retried": 0 for name in ("rejected", "broker_rejected", "unconfirmed")}
NOTHING = {"records_judged": 0, **NONE, **NONE_SENT_AGAIN}
IN_IT = "The log is incomplete: of 5,479,455 records in it, none was rejected."
BY_UNITS = "Main cause (89%): the wrong time unit."
OTHERS = ({"is_final": False}, {"verdict": "repaired"}, {"verdict": "unconfirmed"})
HEADLINES = [
    # The totals that differ, the state of the log, the reasons (None: those of the report), the headline.
    ({}, "complete", None, f"{SHARE}. {BY_UNITS}"),
    ({}, "incomplete", None, f"At least 941,773 of 5,479,455 records were rejected. {BY_UNITS}"),
    # The lines of the worst producers may be those that a shipper has made unreadable.
    (NONE, "complete", [], "None of 5,479,455 records was rejected."),
    (NONE, "incomplete", [], IN_IT),
    (NONE | {"would_reject_records": 9}, "incomplete", [], IN_IT),
    # It is read at a glance. A long cause stands below it.
    ({}, "complete", [too_old(cause="so many words that nobody reads them all, " * 3)], f"{SHARE}."),
    # Records that were not rejected are no cause.
    *(
        (
            {},
            "complete",
            [too_old(), too_old(records=5_000_000) | other],
            f"{SHARE}. Main cause (9.3%): {OLD}.",
        )
        for other in OTHERS
    ),
    (ONE | {"records_judged": 1}, "complete", [], "The one record was rejected."),
    (ONE | {"records_judged": 9}, "complete", [], "One of 9 records was rejected."),
    (ONE | {"records_judged": 1}, "complete", [too_old(records=1)], f"The one record was rejected: {OLD}."),
    (ONE | {"records_judged": 9}, "complete", [too_old(records=1)], f"One of 9 records was rejected: {OLD}."),
    (NONE | {"records_judged": 1}, "complete", None, "The one record was not rejected."),
    (NONE | {"records_judged": 7}, "complete", None, "None of 7 records was rejected."),
    (NOTHING, "complete", [], "No records came through the proxy."),
    (
        NOTHING,
        "complete_in_part",
        [],
        "No records came through the proxy at the times for which the log is complete.",
    ),
    (NOTHING, "incomplete", [], "No record could be read from the log, which is incomplete."),
]


@pytest.mark.parametrize(("changes", "state", "reasons", "text"), HEADLINES)
def test_the_headline_claims_what_the_log_proves_in_at_most_twenty_words(changes, state, reasons, text):
    report = reports.fixed()
    rows = report["reasons"] if reasons is None else reasons
    assert headline(report["totals"] | changes, rows, state) == text
    assert len(text.split()) <= 20


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
    report = reports.fixed()
    report["totals"] |= {"records_unread": 0, "records_limits_unknown": 0}
    assert notes(report) == []
    report["totals"] |= totals
    assert notes(report) == [told]
    assert told in Page(html.render(report)).words


def test_a_new_client_is_new_on_the_days_that_are_known():
    """It was "never rejected in the days before" also if the rollup held one of them."""
    report = reports.fixed()
    days = [{**report["trend"]["days"][0], "day": "2026-11-01"}, *report["trend"]["days"][-3:]]
    report["trend"]["days"] = days  # two of the week before, and an older one of a long period
    assert "new: rejected on none of the seven days before (2 of 7 days known)" in html.render(report)
