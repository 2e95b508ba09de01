"""The clients whose rejections changed against the days before, from rows of the rollup."""

from spark_reports.report import trend
from spark_reports.report.shape import Change
from tests.spark_reports.day import FRIDAY
from tests.spark_reports.rolled import known

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
    found = trend.changes(rows(), FRIDAY)
    assert {row["client_id"]: row["kind"] for row in found} == {
        "new": "new",
        "worse": "doubled",
        "silent-yesterday": "doubled",
        "recovered": "recovered",
    }
    assert set(found[0]) == set(Change.__annotations__)
    assert [row["rejected_records"] for row in found] == [50, 40, 20, 0]


def test_days_are_the_sums_of_their_clients():
    assert rows().table(trend.DAYS)[-1] == {
        "day": "2026-11-20",
        "records": 800,
        "rejected_records": 319,
        "producers_affected": 7,
    }
