"""Producers by cause: the advice once, a line for each, the same groups everywhere, no record in two rows."""

import re

import pytest

from spark_reports.render import html, producers
from spark_reports.report import causes, reasons
from tests.spark_reports import reports
from tests.spark_reports.pure.test_notices import notices
from tests.spark_reports.rolled import rejected, reported
from tsproxy.model.verdict import UnitGuess

SECONDS = "timestamps are in seconds"
TOO_OLD = "timestamps are older than the limit"


def with_two_causes():
    """billing-nightly, of which a third of the rejected records are too old."""
    report = reports.fixed()
    for producer in report["producers"]:
        if producer["client_id"] == "billing-nightly":
            [seconds] = producer["reasons"]
            old = seconds | {"cause": TOO_OLD, "fix": of(TOO_OLD, report).fix, "unit_guess": None}
            producer["reasons"] = [seconds | {"records": 152_472}, old | {"records": 76_236}]
    for row in report["reasons"]:
        if row["cause"] == SECONDS:
            row["records"] -= 76_236
        if row["cause"] == TOO_OLD:
            row |= {"records": row["records"] + 76_236, "producers": 2}
    return report


def fleet(count):
    """So many producers. Every other one sends seconds; the others are too old."""
    report = reports.fixed()
    kinds = [next(p for p in report["producers"] if p["client_id"] == name) for name in KINDS]
    report["producers"] = [
        kinds[number % 2] | {"client_id": f"svc-{number}", "rejected_records": 1_000 - number}
        for number in range(count)
    ]
    return report


KINDS = ("billing-nightly", "orders-replay")


def of(cause, report):
    [found] = [each for each in causes.of_report(report) if each.name == cause]
    return found


def test_causes_add_up_to_all_rejected_records():
    for report in (reports.fixed(), with_two_causes()):
        found = causes.of_report(report)
        rejected = sum(producer["rejected_records"] for producer in report["producers"])
        assert sum(cause.records for cause in found) == rejected
        assert sum(sender.records for cause in found for sender in cause.senders) == rejected
        assert [cause.records for cause in found] == sorted((c.records for c in found), reverse=True)


@pytest.mark.parametrize("guess", [None, *UnitGuess])
def test_a_guess_is_a_unit_mistake_in_all_numbers_or_in_none(guess):
    """An instant that is the zero time of a language is of the right unit."""
    report = reported([rejected("app", reason="too_old", unit_guess=guess)])
    is_in_total = report["totals"]["unit_mistake_records"] == 1_000
    assert [row["kind"] == "units" for row in report["cause_hours"]] == [is_in_total]
    assert (causes.main_cause(report["reasons"])[0] == causes.WRONG_UNIT) is is_in_total


def test_a_cause_has_one_number_of_producers_however_few_of_them_are_listed():
    """It was once 43 in the headline and 40 on the page."""
    report = fleet(50)
    for row in report["reasons"]:
        if row["cause"] in (SECONDS, TOO_OLD):
            row |= {"records": 400_000, "producers": 43}
    report["producers_omitted"] = {"count": 36, "records": 9_000, "rejected_records": 5_000}
    shown = " ".join(re.sub("<.*?>", "", html.render(report)).split())
    assert shown.count("400,000 records, 42% of all that were rejected, from 43 producers") == 2
    assert "And 36 more producers with 5,000 rejected records: counted above, not listed." in shown


def test_producers_in_two_rows_of_a_cause_are_at_least_those_that_are_listed():
    """The proxy rejected one for it, and the broker others."""
    report = fleet(8)
    [row] = [row for row in report["reasons"] if row["cause"] == TOO_OLD]
    report["reasons"].append(row | {"verdict": "broker_rejected", "producers": 2})
    row["producers"] = 3
    assert of(TOO_OLD, report).from_producers == "at least 4 producers"
    row["producers"] = 2
    assert of(TOO_OLD, report).from_producers == "4 producers"


def test_the_page_has_the_evidence_of_a_producer_with_two_causes_once():
    page = html.render(with_two_causes())
    assert page.count('<span class="client">billing-nightly</span>') == 2
    assert page.count("To the owner of billing-nightly") == 1
    assert f"Most of its rejected records have another cause: {SECONDS}." in page
    assert f"Its causes, by records: 152,472 {SECONDS}; 76,236 {TOO_OLD}." in page


def test_a_line_has_the_name_the_records_the_share_and_since_when():
    _, line, *_ = html.render(reports.fixed()).split('<details class="line"')
    line = line.split("<summary>")[1].split("</summary>")[0]
    shown = " ".join(re.sub("<.*?>", " ", line).split())
    assert shown.startswith("sensor-gateway Rejected: 475,316 Of what it sent: 100% Off by: year 56,")
    assert "Topics: telemetry Since: 13 Nov (8+ d) Hours (UTC): rejected in 16 of 24 hours" in shown


def test_a_large_group_has_its_advice_once_shows_its_worst_producers_and_opens_to_the_others():
    page = html.render(fleet(50))
    groups = page[page.index('id="producers"') : page.index('id="trend"')]
    assert re.sub("<pre>.*?</pre>", "", groups, flags=re.DOTALL).lower().count("multiply by 1,000") == 1
    assert groups.count('class="client">svc-') == 50
    rest = 25 - producers.LINES_SHOWN
    more = f"<summary>{rest} more producers with this cause: [\\d,]+ records</summary>"
    assert len(re.findall(more, page)) == 2


def test_what_the_platform_can_do_stands_beside_the_fix_and_in_no_letter():
    report = reports.fixed()
    assert "Platform: raise the topic's message.timestamp.before.max.ms" in html.render(report).replace(
        "&#x27;", "'"
    )
    assert not any("raise the topic" in text for text in notices(report))


COUNTS = ("batches", "records", "bad_records", "collateral_records")
NEGATIVE = {
    "cause": "timestamps are before 1970",
    "fix": "check how the event time is computed",
    "platform": None,
}


def table():
    """The row of `groups.REASONS` for records that are too old, of three producers."""
    [row] = [row for row in reports.fixed()["reasons"] if row["cause"] == TOO_OLD]
    return [row | dict.fromkeys(COUNTS, 100) | {"producers": 3, "topic_limit_records": 100}]


def listed(**changes):
    """A producer that the report lists, with 30 records that are too old."""
    return {"reasons": [table()[0] | dict.fromkeys(COUNTS, 30) | {"drift_min_ms": 0} | changes]}


def counted(producers):
    return [
        (row["cause"], row["producers"], *(row[name] for name in COUNTS))
        for row in reasons.by_cause(table(), producers)
    ]


def test_timestamps_before_1970_have_a_row_of_their_own():
    """Groups of producers have it, and the headline would contradict them."""
    assert counted([listed(), listed(**NEGATIVE)]) == [
        (TOO_OLD, 2, 70, 70, 70, 70),
        (NEGATIVE["cause"], 1, 30, 30, 30, 30),
    ]
    [_, row] = reasons.by_cause(table(), [listed(**NEGATIVE)])
    assert row["fix"] == NEGATIVE["fix"]
    assert set(row) == set(reports.fixed()["reasons"][0])


def test_a_row_of_which_nothing_is_left_is_left_out():
    all_of_them = [listed(**NEGATIVE), listed(**NEGATIVE), listed(**NEGATIVE, **dict.fromkeys(COUNTS, 40))]
    assert counted(all_of_them) == [(NEGATIVE["cause"], 3, 100, 100, 100, 100)]
    assert [row[2:] for row in counted(all_of_them[:2])] == [(60,) * 4, (40,) * 4]


def test_a_reason_with_another_error_or_verdict_is_another_reason():
    others = [listed(**NEGATIVE, error_code=2), listed(**NEGATIVE, verdict="broker_rejected")]
    assert counted(others) == counted([]) == [(TOO_OLD, 3, 100, 100, 100, 100)]
