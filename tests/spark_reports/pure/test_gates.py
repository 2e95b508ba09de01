"""Quality gates: gates that trip, gates that do not, and wrong texts."""

import pytest

from spark_reports.report import gates
from tests.spark_reports import reports


@pytest.mark.parametrize(
    ("text", "trips"),
    [
        ("rejected_rate>1%", True),
        ("rejected_rate > 0.5", False),
        ("rejected_rate>17.2%", False),
        ("lost_lines>0", False),
        ("unit_mistake_records>719771", True),
        ("unit_mistake_records>719772", False),
        ("corrupt_rate>0", False),
        ("producers_affected>5", True),
    ],
)
def test_a_gate_trips_above_its_bound(text, trips):
    assert (gates.parse(text).tripped_by(reports.fixed()) is not None) is trips


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("lines_unusable>4", {"lines_unusable": 5}),
        ("incomplete>0", {"state": "incomplete"}),
        ("silent_boots>0", {"silent_boots": 1}),
    ],
)
def test_a_gate_trips_over_a_log_that_lacks_something(text, changes):
    report = reports.fixed()
    assert gates.parse(text).tripped_by(report) is None
    report["log"] |= changes
    assert gates.parse(text).tripped_by(report).startswith(f"{text}: ")


def test_a_log_that_is_complete_in_part_is_not_incomplete():
    report = reports.fixed()
    report["log"] |= {"state": "complete_in_part", "is_complete": False}
    assert gates.parse("incomplete>0").tripped_by(report) is None


def test_new_producers_are_a_measure_if_the_days_before_are_known():
    assert gates.parse("new_producers>0").tripped_by(reports.fixed()) == "new_producers>0: new_producers is 1"
    assert gates.parse("new_producers>0").tripped_by(reports.fixed() | {"trend": None}) is None


@pytest.mark.parametrize("measure", gates.MEASURES)
def test_every_measure_can_be_taken_of_any_report(measure):
    for report in (reports.fixed(), reports.empty()):
        assert gates.parse(f"{measure}>1000000000").tripped_by(report) is None


@pytest.mark.parametrize(
    "text", ["", "rejected_rate", "rejected_rate<1%", "rejekted>1", "rejected_rate>x", "lost_lines>-1"]
)
def test_the_error_for_a_wrong_gate_lists_the_measures(text):
    with pytest.raises(ValueError, match="measures: rejected_rate, "):
        gates.parse(text)
