"""Days of a period that are missing, their text, and the first line of a page that lacks them."""

from datetime import date

import pytest

from spark_reports.commands.question import missing_days
from spark_reports.log.completeness import Evidence, LineGap, days_without_log
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


def lacks(*boots, gaps=(), now_ms=AFTER_MS):
    return days_without_log(Evidence([*boots], [*gaps], []), *WEEK, now_ms)


def test_a_week_with_a_heartbeat_on_each_day_lacks_none():
    assert lacks(*(boot(str(n), n * DAY_MS + HOUR_MS, n * DAY_MS + 2 * HOUR_MS) for n in range(7))) == []


def test_days_on_which_no_proxy_wrote_are_missing_however_many_ran_before_and_after():
    before, after = boot("1", 0, 2 * DAY_MS), boot("2", 4 * DAY_MS, 7 * DAY_MS)
    assert lacks(before, after) == ["2026-11-22", "2026-11-23"]
    assert lacks(before, after, boot("3", 2 * DAY_MS + HOUR_MS, 2 * DAY_MS + 2 * HOUR_MS)) == ["2026-11-23"]


def test_a_day_whose_files_are_lost_is_missing_although_its_process_went_on():
    ran = boot("1", 0, 7 * DAY_MS)
    assert lacks(ran, gaps=[gap("1", 2 * DAY_MS - 1, 3 * DAY_MS + 1)]) == ["2026-11-22"]
    assert lacks(ran, gaps=[gap("1", 2 * DAY_MS + HOUR_MS, 3 * DAY_MS)]) == []


def test_days_that_have_not_begun_are_not_missing():
    assert lacks(boot("1", 0, DAY_MS), now_ms=MIDNIGHT_MS + 2 * DAY_MS + HOUR_MS) == [
        "2026-11-21",
        "2026-11-22",
    ]


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
