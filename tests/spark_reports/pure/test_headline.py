"""The headline follows from the numbers, and names the most important fact."""

import re

import pytest

from spark_reports.log.completeness import State
from spark_reports.render import html
from spark_reports.report import words
from spark_reports.report.headline import details, headline
from tests.spark_reports import reports
from tests.spark_reports.pure.test_html import Page


def headline_of(reasons=None, state=State.COMPLETE, **changes):
    report = reports.fixed()
    rows = report["reasons"] if reasons is None else reasons
    return headline(report["totals"] | changes, rows, state)


def details_of(totals=None, **changes):
    """The sentences about the fixed report without clients that were only counted, and without a trend."""
    report = reports.fixed() | {"would_reject": [], "trend": None} | changes
    return details(report | {"totals": report["totals"] | (totals or {})})


def sentences_of(reasons=None, producers=None, **totals):
    """The sentences about the causes."""
    report = reports.fixed()
    asked = report["producers"] if producers is None else producers
    rows = report["reasons"] if reasons is None else reasons
    sentences = details_of(totals, producers=asked, reasons=rows)
    return [sentence for sentence in sentences if " rejected records: " in sentence]


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


def test_causes_come_in_the_order_of_their_records_each_with_its_worst_producer_and_owner():
    """The second cause, of 38%, was once in no sentence, since others were more interesting."""
    units = next(row for row in reports.fixed()["reasons"] if row["unit_guess"] == "seconds")
    large = next(row for row in reports.fixed()["reasons"] if row["error_code"] == 10)
    rows = [units | {"records": 80_000}, large | {"records": 380_000}, too_old(records=460_000, producers=43)]
    producers = [each | {"team": "Orders"} for each in reports.fixed()["producers"]]
    asked = {"records_rejected": 1_000_000, "records_broker_rejected": 0, "producers_with_unit_mistakes": 3}
    assert sentences_of(rows, producers, **asked) == [
        "46% of rejected records: timestamps are older than the limit, from 43 producers, most from "
        "orders-replay (Orders).",
        "38% of rejected records: batches are larger than the topic allows, all from attachments (Orders).",
        "8.0% of rejected records: the wrong time unit, from 3 producers, most from sensor-gateway (Orders), "
        "whose timestamps are in nanoseconds (divide by 1,000,000).",
    ]


def test_a_producer_with_the_same_error_and_another_cause_is_not_named():
    """A broker calls a timestamp before 1970 just too old."""
    report = reports.fixed()
    [old] = [each for each in report["producers"] if each["client_id"] == "orders-replay"]
    before_1970 = old["reasons"][0] | {"cause": "timestamps are before 1970"}
    report["producers"].insert(0, old | {"client_id": "another", "reasons": [before_1970]})
    [sentence] = sentences_of([too_old(records=941_773)], report["producers"])
    assert sentence.endswith("timestamps are older than the limit, all from orders-replay.")


def test_a_cause_found_by_the_proxy_and_by_the_broker_is_one_cause():
    """A producer may be in both rows, so their numbers of producers are not added up."""
    rows = [too_old(records=500_000, producers=3), too_old(verdict="broker_rejected", producers=2)]
    [sentence] = sentences_of(rows)
    assert sentence.startswith(
        "62% of rejected records: timestamps are older than the limit, from at least 3 "
    )


def test_causes_that_are_not_named_are_counted():
    kinds = [too_old(records=1_000 - n, cause=f"cause {n}") for n in range(5)]
    told = details_of({"records_rejected": 10_000}, producers=[], reasons=kinds)
    assert told[4].endswith("%: 2 more causes.")


@pytest.mark.parametrize(
    "changes", [{"is_final": False}, {"verdict": "repaired"}, {"verdict": "unconfirmed"}]
)
def test_records_that_were_not_rejected_are_no_cause(changes):
    rows = [too_old(), too_old(records=5_000_000, cause="something else") | changes]
    assert headline_of(rows) == f"{SHARE}. Main cause (9.3%): timestamps are older than the limit."
    assert len(sentences_of(rows)) == 1


@pytest.mark.parametrize(
    ("judged", "text"), [(1, "The one record was rejected"), (9, "One of 9 records was rejected")]
)
def test_one_rejected_record_is_one(judged, text):
    found = headline_of([], records_judged=judged, records_rejected=1, records_broker_rejected=0)
    assert found == f"{text}."
    one = [too_old(records=1)]
    found = headline_of(one, records_judged=judged, records_rejected=1, records_broker_rejected=0)
    assert found == f"{text}: timestamps are older than the limit."


@pytest.mark.parametrize("name", ["\u202e\u2066gnp.exe", "x" * 10_000, "\x1b[2J\n", "a\u200fb"])
def test_names_in_sentences_are_short_and_printable(name):
    """A client chooses its name. A bidirectional override would turn the sentence around."""
    report = reports.fixed()
    for row in [*report["producers"], *report["would_reject"], *report["trend"]["changes"]]:
        row["client_id"] = name
    sentences = [headline(report["totals"], [too_old()]), *details(report)]
    assert len(sentences) == 9
    assert sum(words.short(name, 60) in sentence for sentence in sentences) == 5
    assert all(sentence.isprintable() and len(sentence) < 400 for sentence in sentences)


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
    [sentence] = details(reports.empty() | {"totals": totals})
    assert sentence.startswith("7 records hit an error that most producers retry.")
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
    assert details(report)[0].startswith(text)
    page = Page(html.render(report)).words
    assert page.index(text) < page.index("Mistake, and what to do")


def test_details_say_how_many_records_were_not_read():
    report = reports.fixed()
    totals = report["totals"] | {"records_judged": 2000, "records_unread": 1990}
    sentences = details_of(totals)
    assert any("1,990 records (99.5%) were checked by the header" in sentence for sentence in sentences), (
        sentences
    )
    totals["records_unread"] = 0
    assert not any("header" in each for each in details_of(totals))


def test_details_say_how_many_records_only_brokers_judged():
    report = reports.fixed()
    totals = report["totals"] | {"records_judged": 1000, "records_limits_unknown": 1}
    told = "1 record (0.1%) was judged without the limits of the topic, which were not known."
    assert told in details_of(totals)
    totals["records_limits_unknown"] = 0
    assert not any("not known" in each for each in details_of(totals))


def test_details_are_few_and_none_where_nothing_happened():
    assert len(details_of()) == 6
    assert details(reports.empty()) == []


def test_details_name_new_clients_if_the_days_before_are_known():
    report = reports.fixed()
    new = report["trend"]["changes"][0]
    assert details_of(trend=report["trend"])[-1:] == ["New: svc-2 was never rejected in the days before."]
    four = report["trend"] | {"changes": [new | {"client_id": name} for name in ("a", "b", None, "d")]}
    four["new_producers"] = 4
    assert details_of(trend=four)[-1:] == [
        "New: a, b, (no client id) and 1 more were never rejected in the days before."
    ]
    assert details_of(trend=report["trend"] | {"changes": []}) == details_of(trend=None)


def test_a_new_client_is_new_on_the_days_that_are_known():
    """It was "never rejected in the days before" also if the rollup held one of them."""
    report = reports.fixed()
    days = [{**report["trend"]["days"][0], "day": "2026-11-01"}, *report["trend"]["days"][-3:]]
    report["trend"]["days"] = days  # two of the week before, and an older one of a long period
    assert details(report)[-1] == "New: svc-2 was never rejected in the days before (2 of 7 days known)."
    assert "new: never rejected before (2 of 7 days known)" in html.render(report)
