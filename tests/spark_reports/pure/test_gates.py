"""Quality gates: gates that trip, gates that do not, and wrong texts."""

import pytest

from spark_reports.commands import daily_run
from spark_reports.report import gates, words
from tests.spark_reports import reports
from tests.spark_reports.rolled import rejected, reported, row
from tsproxy.model.exits import OK, TRIPPED

SPAN = {"proxy": "px", "from_ts": "2026-11-20T00:00:00.000Z", "to_ts": "2026-11-20T01:00:00.000Z"}
LEFT = "rejected_rate is 0.171873 in the lines left: 1 line lost or unusable"
AT_LEAST = "rejected_records is at least 941773: 2 lines lost or unusable"


def said(text, **log):
    """The sentence of a gate that trips over the fixed report with these facts of its log, or None."""
    report = reports.fixed()
    report["log"] |= log
    return gates.parse(text).tripped_by(report)


@pytest.mark.parametrize(
    ("text", "log", "measured"),
    [
        ("rejected_rate>1%", {}, "rejected_rate is 0.171873"),
        ("rejected_rate > 0.5", {}, None),
        ("rejected_rate>17.2%", {}, None),
        ("unit_mistake_records>719771", {}, "unit_mistake_records is 719772"),
        ("unit_mistake_records>719772", {}, None),
        ("producers_affected>5", {}, "producers_affected is 6"),
        ("new_producers>0", {}, "new_producers is 1"),
        # A gate may be for one topic, also for one that has no records.
        ("rejected_records[orders]>104453", {}, "rejected_records is 104454"),
        ("rejected_records[orders]>104454", {}, None),
        ("rejected_rate[metrics]>0", {}, None),
        ("rejected_rate[no-such-topic]>0", {}, None),
        # A log that lacks something.
        ("lines_unusable>4", {"lines_unusable": 5}, "lines_unusable is 5"),
        ("incomplete>0", {"state": "incomplete"}, "incomplete is 1"),
        ("incomplete>0", {"state": "complete_in_part", "is_complete": False}, None),
        ("silent_boots>0", {"silent_boots": 1}, "silent_boots is 1"),
        ("unheard>1", {"unheard": [SPAN, SPAN]}, "unheard is 2"),
        # The lines of the worst producers may be among those that nobody can read.
        ("silent_boots>0", {"lost_lines": 2}, None),
        ("rejected_records>10000000", {"lost_lines": 2}, AT_LEAST),
        ("rejected_records>10000000", {"lines_unusable": 2}, AT_LEAST),
        # Lost lines of accepted records lower a share.
        ("rejected_rate>60%", {"lost_lines": 1}, LEFT),
    ],
)
def test_a_gate_trips_above_its_bound(text, log, measured):
    assert said(text, **log) == (measured and f"{text}: {measured}")


def test_a_day_with_lines_that_cannot_be_read_fails_and_names_its_day(capsys):
    report = reports.fixed()
    assert daily_run.ended(report, (), "2026-11-20") == OK
    report["log"] |= {"lines_unusable": 1}
    assert daily_run.ended(report, (), "2026-11-20") == TRIPPED
    told = "spark_reports: 2026-11-20: 1 line that may hold totals cannot be read: the numbers are a lower "
    assert capsys.readouterr().err == f"{told}bound\n"


def test_a_share_that_is_its_bound_trips_no_gate():
    """7 of 1,000 were more than 0.7%: floats are not exact."""
    report, tripped = reports.fixed(), []
    for count in range(1, 1_001):
        report["totals"] |= {"records_judged": 1_000, "records_rejected": count, "records_broker_rejected": 0}
        asked = [gates.parse(f"rejected_rate>{each / 10}%") for each in (count, count - 1)]
        tripped.append([bool(each.tripped_by(report)) for each in asked])
    assert tripped == [[False, True]] * 1_000


@pytest.mark.parametrize("measure", gates.MEASURES)
def test_no_gate_trips_over_a_day_on_which_nothing_came(measure):
    assert gates.parse(f"{measure}>0").tripped_by(reports.empty()) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        *((text, "measures: rejected_rate, ") for text in ("", "rejected_rate", "rejected_rate<1%")),
        *((text, "measures: rejected_rate, ") for text in ("rejekted>1", "rejected_rate>x", "lost_lines>-1")),
        ("lost_lines[orders]>0", "of one topic there are the measures rejected_rate, rejected_records"),
    ],
)
def test_the_error_for_a_wrong_gate_lists_the_measures(text, says):
    with pytest.raises(ValueError, match=says):
        gates.parse(text)


def test_a_gate_of_a_topic_that_the_report_leaves_out_trips_and_says_so():
    """Nobody knows if it has rejected records."""
    report = reports.fixed() | {"topics_omitted": {"count": 1, "records": 9, "rejected_records": 3}}
    told = gates.parse("rejected_rate[left-out]>1%").tripped_by(report)
    assert "does not list left-out; a higher --top" in told


@pytest.mark.parametrize(
    ("text", "is_tripped"),
    [
        ("rejected_records[orders]>49", True),
        ("rejected_records[orders]>50", False),
        ("rejected_rate[orders]>33%", True),
        ("rejected_rate[orders]>34%", False),  # 50 of 150
    ],
)
def test_a_gate_of_a_topic_trips_if_records_that_were_counted_together_may_be_its_own(text, is_tripped):
    report = reported([row("svc", 100), rejected("svc", 50, topic=words.FOLDED)])
    told = f"{text}: 50 rejected records of (other) may be of orders"
    assert gates.parse(text).tripped_by(report) == (told if is_tripped else None)
    assert gates.parse("rejected_rate[elsewhere]>99%").tripped_by(report)
