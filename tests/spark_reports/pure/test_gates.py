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


@pytest.mark.parametrize("lacks", ["lost_lines", "lines_unusable"])
def test_no_gate_of_rejections_holds_over_lines_that_nobody_can_read(lacks):
    """The lines of the worst producers may be among them."""
    report = reports.fixed()
    report["log"] |= {"state": "incomplete", lacks: 2}
    said = gates.parse("rejected_records>10000000").tripped_by(report)
    assert said.startswith("rejected_records>10000000: rejected_records is at least ")
    assert said.endswith(": 2 lines lost or unusable")
    assert gates.parse("silent_boots>0").tripped_by(report) is None


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


def test_a_gate_of_one_topic_is_taken_of_that_topic_alone():
    report = reports.fixed()
    topics = {topic["topic"]: topic for topic in report["topics"]}
    whole = report["totals"]["records_rejected"] + report["totals"]["records_broker_rejected"]
    worst = report["topics"][0]
    rejected = worst["records_rejected"] + worst["records_broker_rejected"]
    assert 0 < rejected < whole
    name = worst["topic"]
    assert gates.parse(f"rejected_records[{name}]>{rejected}").tripped_by(report) is None
    assert (
        gates.parse(f"rejected_records[{name}]>{rejected - 1}")
        .tripped_by(report)
        .endswith(f" is {rejected:.6g}")
    )
    assert gates.parse("rejected_rate[metrics]>0").tripped_by(report) is None
    assert topics["metrics"]["records_judged"] > 0
    assert gates.parse("rejected_rate[no-such-topic]>0").tripped_by(report) is None


def test_a_gate_of_a_topic_that_the_report_leaves_out_trips_and_says_so():
    """Nobody knows if it has rejected records."""
    report = reports.fixed()
    report["topics_omitted"] = {"count": 1, "records": 9, "rejected_records": 3}
    assert "does not list left-out; a higher --top" in gates.parse("rejected_rate[left-out]>1%").tripped_by(
        report
    )


def test_only_some_measures_are_those_of_a_topic():
    with pytest.raises(
        ValueError, match="of one topic there are the measures rejected_rate, rejected_records"
    ):
        gates.parse("lost_lines[orders]>0")


def test_times_without_heartbeats_are_a_measure():
    report = reports.fixed()
    assert gates.parse("unheard>0").tripped_by(report) is None
    span = {"proxy": "px", "from_ts": "2026-11-20T00:00:00.000Z", "to_ts": "2026-11-20T01:00:00.000Z"}
    report["log"]["unheard"] = [span, span]
    assert gates.parse("unheard>1").tripped_by(report) == "unheard>1: unheard is 2"
