"""The headline follows from the numbers, and names the most important fact."""

import pytest

from spark_reports.report.headline import details, headline
from tests.spark_reports import reports


def headline_of(**changes):
    report = reports.fixed()
    return headline(report["totals"] | changes, report["producers"])


def test_unit_mistakes_are_news_before_anything_else():
    assert headline_of() == "3 producers send the wrong time unit; 17 % of 5,479,455 records were rejected."
    assert headline_of(producers_with_unit_mistakes=1).startswith("1 producer sends the wrong time unit;")


def test_a_producer_that_causes_half_of_it_is_news_by_itself():
    assert (
        headline_of(producers_with_unit_mistakes=0)
        == "sensor-gateway causes 50 % of 941,773 rejected records."
    )


def test_many_small_offenders_are_a_number():
    text = headline_of(producers_with_unit_mistakes=0, records_rejected=4_000_000)
    assert text == "73 % of 5,479,455 records were rejected, from 6 producers."


@pytest.mark.parametrize(
    ("judged", "text"),
    [
        (0, "No records came through the proxy."),
        (1, "The one record was not rejected."),
        (7, "None of 7 records was rejected."),
    ],
)
def test_a_day_without_rejections_has_a_headline(judged, text):
    assert headline_of(records_judged=judged, records_rejected=0, records_broker_rejected=0) == text


def test_details_name_collateral_that_exceeds_the_bad_records():
    report = reports.fixed()
    totals = report["totals"] | {"bad_records": 10, "collateral_records": 490}
    sentences = details(totals, report["producers"], report["reasons"])
    assert any("490 good records were rejected with 10 bad ones" in sentence for sentence in sentences)


def test_details_are_few_and_none_where_nothing_happened():
    report = reports.fixed()
    assert len(details(report["totals"], report["producers"], report["reasons"])) == 3
    assert details(reports.empty()["totals"], [], []) == []


def test_details_name_new_clients_if_the_days_before_are_known():
    report = reports.fixed()
    new = report["trend"]["changes"][0]
    asked = (report["totals"], report["producers"], report["reasons"])
    assert details(*asked, report["trend"])[3:] == ["New: svc-2 was never rejected in the days before."]
    four = report["trend"] | {"changes": [new | {"client_id": name} for name in ("a", "b", None, "d")]}
    assert details(*asked, four)[3:] == [
        "New: a, b, (no client id) and 1 more were never rejected in the days before."
    ]
    assert details(*asked, report["trend"] | {"changes": []}) == details(*asked, None) == details(*asked)
