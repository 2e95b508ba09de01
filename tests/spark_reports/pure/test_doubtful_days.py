"""`trend` and `what-if` name the days whose numbers are not whole."""

import pytest

from spark_reports.commands.question import logs, sentences
from spark_reports.log.completeness import State
from spark_reports.report.history import NOT_OVER


def facts(**states):
    """By day of November 2026."""
    return {f"2026-11-{day[1:]}": {"state": str(state)} for day, state in states.items()}


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (State.INCOMPLETE, "The log of 2026-11-20, 2026-11-22 is incomplete: the numbers are a lower bound."),
        (
            State.COMPLETE_IN_PART,
            "The log of 2026-11-20, 2026-11-22 is complete only for the times at which each proxy was heard.",
        ),
        (NOT_OVER, "The report of 2026-11-20, 2026-11-22 was made before the end of the day."),
    ],
)
def test_days_are_named_by_what_their_report_said(state, said):
    known = facts(d22=state, d21=State.COMPLETE, d20=state)
    assert list(sentences(known, known.keys())) == [said]
    assert [each["day"] for each in logs(known)] == ["2026-11-20", "2026-11-21", "2026-11-22"]


def test_days_that_the_rollup_counted_but_does_not_know_are_named():
    [said] = sentences(facts(d21=State.COMPLETE), {"2026-11-20", "2026-11-21"})
    assert said.startswith("The rollup does not say whether the log of 2026-11-20 is complete: ")


@pytest.mark.parametrize("counted", [set(), {"2026-11-20"}], ids=["had no traffic", "has numbers"])
def test_a_complete_day_needs_no_sentence(counted):
    assert list(sentences(facts(d20=State.COMPLETE), counted)) == []
