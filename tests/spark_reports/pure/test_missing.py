"""The page names the missing parts of a log one by one."""

import pytest

from spark_reports.log.completeness import GAPS_LISTED, Evidence, State, quality
from spark_reports.render import html
from spark_reports.report import missing
from tests.spark_reports.day import DAY_MS, FRIDAY, MIDNIGHT_MS
from tests.spark_reports.pure.test_html import Page
from tests.spark_reports.reports import fixed

GAP = {
    "proxy": "px-1",
    "boot": "b",
    "seq_first": 1_000,
    "seq_last": 1_007,
    "after_ts": "2026-11-20T10:00:00.086Z",
    "before_ts": "2026-11-20T10:03:00.000Z",
}


def with_log(**facts):
    report = fixed()
    report["log"] |= facts
    return report


KILLED = {
    "proxy": "px-2",
    "boot": "killed",
    "last_ts": "2026-11-20T10:00:00.086Z",
    "counted_to_ts": "2026-11-20T09:59:00.000Z",
}


UNHEARD = {"proxy": "px-3", "from_ts": "2026-11-20T10:00:00.000Z", "to_ts": "2026-11-20T11:00:00.000Z"}
LOST, FROM, TO = (
    "px-1 (boot b) lost lines 1,000 to 1,007",
    "2026-11-20 10:00:00 UTC",
    "2026-11-20 10:03:00 UTC",
)
ENDED = (
    f"px-2 (boot killed) stopped reporting after {FROM}: it was killed, or its last lines have not arrived."
)


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ({"gaps": [GAP]}, f"{LOST}, between {FROM} and {TO}."),
        ({"gaps": [GAP | {"after_ts": None}]}, f"{LOST}, before {TO}."),
        ({"gaps": [GAP | {"before_ts": None}]}, f"{LOST}, after {FROM}."),
        ({"gaps": [GAP | {"after_ts": None, "before_ts": None}]}, f"{LOST}, at an unknown time."),
        # Examples are written at once, counts once an interval. So the last line is younger than the counts.
        ({"silent": [KILLED]}, f"{ENDED} Its batches after 2026-11-20 09:59:00 UTC are not counted."),
        ({"silent": [KILLED | {"counted_to_ts": None}]}, f"{ENDED} None of its batches are counted."),
        (
            {"unheard": [UNHEARD]},
            f"No usable log from px-3 between {FROM} and 2026-11-20 11:00:00 UTC: it was not running, or its "
            "log is missing.",
        ),
    ],
)
def test_the_page_names_each_missing_thing_in_a_sentence(log, said):
    report = with_log(**log)
    assert missing.sentences(report["log"]) == [said]
    assert said in Page(html.render(report)).words


def test_the_first_of_many_gaps_are_listed_and_the_rest_counted():
    sentences = missing.sentences(with_log(gaps=[GAP] * 100)["log"])
    assert (len(sentences), sentences[-1]) == (21, "And run of lost lines: 80 more, at least.")


def test_a_complete_log_has_no_sentences():
    assert missing.sentences(fixed()["log"]) == []


def test_the_longest_times_without_heartbeats_come_first_and_the_page_has_three():
    times = [(f"2026-11-20T0{hours}:00:00.000Z", f"px-{hours}") for hours in (2, 7, 3, 4)]
    from_ts = "2026-11-20T01:00:00.000Z"
    spans = [{"proxy": proxy, "from_ts": from_ts, "to_ts": to_ts} for to_ts, proxy in times]
    *shown, rest = missing.sentences(with_log(unheard=spans)["log"], 3)
    assert [text.partition(" between ")[0][-4:] for text in shown] == ["px-7", "px-4", "px-3"]
    assert rest == "And time without heartbeats: 1 more, at least."
    assert rest in html.render(with_log(unheard=spans))


def test_a_day_that_lies_in_the_future_is_not_complete():
    """A proxy's clock is ahead, or the reader's is behind."""
    log = quality(Evidence([], [], []), FRIDAY, FRIDAY, MIDNIGHT_MS - 1)
    assert (log["state"], log["is_complete"]) == (State.INCOMPLETE, False)
    assert "its days lie in the future by this machine's clock" in log["sentence"]
    assert quality(Evidence([], [], []), FRIDAY, FRIDAY, MIDNIGHT_MS)["state"] is State.COMPLETE


def test_lists_of_processes_and_times_are_cut_and_their_number_is_not():
    last_ms = MIDNIGHT_MS + 3_600_000
    facts = {"lines": 1, "lost_lines": 0, "intervals": 1, "interval_ms": 60_000, "hole_ms": 0,
             "last_ms": last_ms, "covered_from_ms": MIDNIGHT_MS, "covered_to_ms": last_ms, "lines_dropped": 0,
             "dropped_before": 0,
             "decisions_suppressed": 0, "batches_folded": 0, "seq_from": 0, "started": True, "stopped": False,
             "seen_before": False, "seen_after": False}  # fmt: skip
    boots = [{"proxy": f"px-{number:04}", "boot": f"b{number}", **facts} for number in range(250)]
    log = quality(Evidence(boots, [], []), FRIDAY, FRIDAY, MIDNIGHT_MS + DAY_MS)
    assert log["silent_boots"] == 250
    assert [len(log[name]) for name in ("silent", "unheard")] == [GAPS_LISTED, GAPS_LISTED]
