"""Rows of reasons: the records of a listed producer have its own cause, and nothing is counted twice."""

from spark_reports.report import reasons
from tests.spark_reports import reports

COUNTS = ("batches", "records", "bad_records", "collateral_records")
NEGATIVE = {
    "cause": "timestamps are before 1970",
    "fix": "check how the event time is computed",
    "platform": None,
}
OLD = "timestamps are older than the limit"


def table():
    """The row of `groups.REASONS` for records that are too old, of three producers."""
    [row] = [row for row in reports.fixed()["reasons"] if row["cause"] == OLD]
    return [row | dict.fromkeys(COUNTS, 100) | {"producers": 3, "topic_limit_records": 100}]


def listed(**changes):
    """A producer that the report lists, with 30 records that are too old."""
    return {"reasons": [table()[0] | dict.fromkeys(COUNTS, 30) | {"drift_min_ms": 0} | changes]}


def shown(producers):
    return [
        (row["cause"], row["producers"], *(row[name] for name in COUNTS))
        for row in reasons.by_cause(table(), producers)
    ]


def test_timestamps_before_1970_have_a_row_of_their_own():
    """Groups of producers have it, and the headline would contradict them."""
    assert shown([listed(), listed(**NEGATIVE)]) == [
        (OLD, 2, 70, 70, 70, 70),
        (NEGATIVE["cause"], 1, 30, 30, 30, 30),
    ]
    [_, row] = reasons.by_cause(table(), [listed(**NEGATIVE)])
    assert row["fix"] == NEGATIVE["fix"]
    assert set(row) == set(reports.fixed()["reasons"][0])


def test_a_row_of_which_nothing_is_left_is_left_out():
    all_of_them = [listed(**NEGATIVE), listed(**NEGATIVE), listed(**NEGATIVE, **dict.fromkeys(COUNTS, 40))]
    assert shown(all_of_them) == [(NEGATIVE["cause"], 3, 100, 100, 100, 100)]
    assert [row[2:] for row in shown(all_of_them[:2])] == [(60,) * 4, (40,) * 4]


def test_a_reason_with_another_error_or_verdict_is_another_reason():
    others = [listed(**NEGATIVE, error_code=2), listed(**NEGATIVE, verdict="broker_rejected")]
    assert shown(others) == shown([]) == [(OLD, 3, 100, 100, 100, 100)]
