"""Days of a period that are missing or doubtful, their text, and the first line of a page that lacks them."""

from datetime import date

import pytest

from spark_reports.commands.question import missing_days, sentences
from spark_reports.log.completeness import Evidence, LineGap, State, days_without_log
from spark_reports.report.headline import headline
from spark_reports.report.words import days_in_words
from tests.spark_reports import reports
from tests.spark_reports.day import DAY_MS, FRIDAY, HOUR_MS, MIDNIGHT_MS
from tsproxy.decisions.text import instant

FIRST, LAST = date(2026, 10, 30), date(2026, 11, 3)


@pytest.mark.parametrize(
    ("there", "text"),
    [
        ((), "2026-10-30 to 2026-11-03"),
        (("2026-10-30",), "2026-10-31 to 2026-11-03"),
        (("2026-10-31",), "2026-10-30, 2026-11-01 to 2026-11-03"),
        (("2026-10-31", "2026-11-02"), "2026-10-30, 2026-11-01, 2026-11-03"),
        (("2026-10-30", "2026-10-31", "2026-11-01", "2026-11-02", "2026-11-03"), ""),
    ],
)
def test_missing_days_are_shown_as_spans(there, text):
    assert days_in_words(missing_days(FIRST, LAST, there)) == text


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (State.COMPLETE, None),
        (
            State.COMPLETE_IN_PART,
            "The log of {} is complete only for the times at which each proxy was heard.",
        ),
        ("not_over", "The report of {} was made before the end of the day."),
    ],
)
def test_days_whose_numbers_are_not_whole_are_named_by_what_their_report_said(state, said):
    """test_what_if.py has days whose log is incomplete or not known."""
    facts = {f"2026-11-{day}": {"state": state} for day in (22, 20)}
    facts["2026-11-21"] = {"state": State.COMPLETE}
    assert list(sentences(facts, facts.keys())) == ([said.format("2026-11-20, 2026-11-22")] if said else [])


WEEK = FRIDAY, date(2026, 11, 26)
AFTER_MS = MIDNIGHT_MS + 8 * DAY_MS


def boot(name, from_ms, to_ms):
    """A process that wrote heartbeats from one time to another, in ms of the week."""
    covered = {"covered_from_ms": MIDNIGHT_MS + from_ms, "covered_to_ms": MIDNIGHT_MS + to_ms}
    return {"proxy": "px", "boot": name, "last_ms": MIDNIGHT_MS + to_ms, **covered}


def gap(name, after_ms, before_ms):
    """Lines that were lost between these times."""
    after_ts, before_ts = (instant(MIDNIGHT_MS + at_ms) for at_ms in (after_ms, before_ms))
    return LineGap(proxy="px", boot=name, seq_first=1, seq_last=9, after_ts=after_ts, before_ts=before_ts)


BEFORE, AFTER, WHOLE = (boot("1", *(day * DAY_MS for day in days)) for days in ((0, 2), (4, 7), (0, 7)))
BETWEEN = boot("3", 2 * DAY_MS + HOUR_MS, 2 * DAY_MS + 2 * HOUR_MS)


@pytest.mark.parametrize(
    ("boots", "gaps", "days"),
    [
        ([boot(str(n), n * DAY_MS + HOUR_MS, n * DAY_MS + 2 * HOUR_MS) for n in range(7)], [], []),
        # No proxy wrote, however many ran before and after.
        ([BEFORE, AFTER], [], [22, 23]),
        ([BEFORE, AFTER, BETWEEN], [], [23]),
        # The files of a day are lost, although its process went on.
        ([WHOLE], [gap("1", 2 * DAY_MS - 1, 3 * DAY_MS + 1)], [22]),
        ([WHOLE], [gap("1", 2 * DAY_MS + HOUR_MS, 3 * DAY_MS)], []),
    ],
)
def test_a_day_without_a_heartbeat_of_any_proxy_is_missing(boots, gaps, days):
    found = days_without_log(Evidence(boots, gaps, []), *WEEK, AFTER_MS)
    assert found == [f"2026-11-{day}" for day in days]


def test_days_that_have_not_begun_are_not_missing():
    log = Evidence([boot("1", 0, DAY_MS)], [], [])
    found = days_without_log(log, *WEEK, MIDNIGHT_MS + 2 * DAY_MS + HOUR_MS)
    assert found == ["2026-11-21", "2026-11-22"]


@pytest.mark.parametrize(
    ("days", "begins"),
    [
        (["2026-11-22"], "2026-11-22 is missing from the log. 17% of"),
        (["2026-11-22", "2026-11-23"], "2026-11-22 to 2026-11-23 are missing from the log. 17% of"),
        ([], "17% of"),
    ],
)
def test_the_first_line_of_a_page_names_the_days_that_it_lacks(days, begins):
    report = reports.fixed()
    told = headline(report["totals"], report["reasons"], missing_days=days)
    assert told.startswith(begins)
