"""Lines that exist but cannot be used. The report says that their counts may be missing.

One query reads the logs of all tests that need no report of their own (`many`).
"""

import json
from datetime import date
from itertools import product

import pytest

from spark_reports.cli import main
from spark_reports.commands.render import FORMATS
from spark_reports.log.read import Source
from spark_reports.log.store import Form
from spark_reports.report.assemble import assemble, quality
from tests.spark_reports import reports
from tests.spark_reports.collected import collect
from tests.spark_reports.day import DAY_MS, HOUR_MS, MIDNIGHT_MS
from tests.spark_reports.logs import MINUTE_MS, counters, heartbeat, line, write
from tests.spark_reports.many import Logs

FRIDAY = date(2026, 11, 20)
LOGS = Logs(FRIDAY)
LINE, MINUTE_0, MINUTE_1 = "px boot b line 1", "2026-11-20T00:00:00.000Z", "2026-11-20T00:01:00.000Z"
NEWER = "written by a newer tsproxy: update spark_reports"


@pytest.fixture
def daily(spark, tmp_path, capsys):
    """Runs `daily` over these lines: exit code, report.json or None, standard error, pages."""

    def run(*lines, raw="", name="a.jsonl"):
        path = write(tmp_path / "log" / name, *lines, raw=raw)
        asked = ["daily", "--input", str(path), "--output", str(tmp_path / "out"), "--date", "2026-11-20"]
        code = main(asked)
        output = capsys.readouterr()
        found = tmp_path / "out" / "report.json"
        pages = "".join(each.read_text() for each in (tmp_path / "out").glob("report.[hm]*"))
        report = json.loads(found.read_text()) if found.exists() else None
        return code, report, output.out + output.err, pages

    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("logs")


@pytest.fixture
def quality_of(spark, folder):
    """Returns the quality of one of the logs, without a report."""

    def ask(log):
        evidence = LOGS.evidence(spark, folder, log)
        return quality(evidence, FRIDAY, FRIDAY, MIDNIGHT_MS + 2 * DAY_MS)

    return ask


def a_life(*counted, at_ms=MIDNIGHT_MS):
    """Start, these counters, heartbeat, stop: all of one interval."""
    lines = [line(0, at_ms=at_ms, kind="start"), *counted]
    lines.append(heartbeat(len(lines), at_ms))
    return [*lines, line(len(lines), at_ms=at_ms + MINUTE_MS, kind="stop")]


def is_shown(sentence, report, *texts):
    """The sentence is that of the report, and in all texts. Markdown's backslashes do not matter."""
    return all(sentence in text.replace("\\", "") for text in (report["log"]["sentence"], *texts))


def test_counters_of_a_newer_version_make_the_log_incomplete_and_the_cure_is_named(daily):
    code, report, output, pages = daily(*a_life(counters(1), counters(2, v=2)))
    assert (code, report["log"]["is_complete"], report["log"]["lines_unusable"]) == (3, False, 1)
    assert "1 line that may hold totals cannot be read: the numbers are a lower bound" in output
    sentence = (
        "Log incomplete: 1 of 1 minute from 1 proxy, 1 unusable line that may hold totals "
        f"({NEWER}). Totals are a lower bound."
    )
    assert is_shown(sentence, report, output, pages)


UNREADABLE = {
    "a count": (
        counters(1, records=-1, bytes=10**16),
        f"bad_count: {LINE}: records -1, bytes 10000000000000000",
    ),
    "an instant": (
        counters(1, interval_start="2026-11-20"),
        f"bad_instant: {LINE}: ts {MINUTE_1}, interval_start 2026-11-20, interval_ms 60000",
    ),
    "a length": (
        counters(1, interval_ms=-1, interval_start=None),
        f"bad_instant: {LINE}: ts {MINUTE_1}, interval_start missing, interval_ms -1",
    ),
    "a heartbeat": (
        heartbeat(1, ts="yesterday"),
        f"bad_instant: {LINE}: ts yesterday, interval_start {MINUTE_0}, interval_ms 60000",
    ),
    "a type": (counters(1, records="ten"), f'bad_type: {{"ts": "{MINUTE_1}", "event": "counters",'),
    "an event nobody knows yet": (line(1, "rebirth", v=2), f"unknown_version: {LINE}: v 2"),
    "no name": (
        counters(-1) | {"event": None},
        "no_identity: proxy px, boot b, seq -1, event missing, v 1",
    ),
}


@pytest.mark.parametrize(
    ("log", "example"),
    [(LOGS.add(*a_life(broken)), example) for broken, example in UNREADABLE.values()],
    ids=UNREADABLE,
)
def test_an_unreadable_line_that_may_hold_totals_makes_the_log_incomplete(quality_of, log, example):
    """An example says which line it is, and what is wrong with it."""
    log = quality_of(log)
    assert (log["lines_unusable"], log["state"], log["is_complete"]) == (1, "incomplete", False)
    [found] = log["quarantined_examples"]
    assert found.startswith(f"a.jsonl: {example}")
    report = reports.fixed() | {"log": log}
    pages = (FORMATS[form](report) for form in ("html", "md"))
    assert is_shown("1 unusable line that may hold totals", report, *pages)


BROKEN = [{"v": 2}, {"ts": "2026-11-20"}, {"seq": "one"}]
WITHOUT_TOTALS = {
    f"{event} {broken}": LOGS.add(*a_life(counters(1)), line(4, event, at_ms=MIDNIGHT_MS) | broken)
    for event, broken in product(["decision", "lifecycle"], BROKEN)
}


@pytest.mark.parametrize("log", WITHOUT_TOTALS.values(), ids=WITHOUT_TOTALS)
def test_examples_and_news_that_cannot_be_read_hold_no_totals(quality_of, log):
    """A line without a number is still missing: the gap of its number says so."""
    log = quality_of(log)
    assert (log["lines_unusable"], log["state"]) == (0, "complete_in_part")
    assert sum(log["quarantined_lines"].values()) == 1


TORN = {
    "of the day": ('{"ts":"2026-11-20T00:01:00.000Z","event":"counters","v":1,"pro', 1),
    "an example": ('{"ts":"2026-11-20T00:01:00.000Z","event":"decision","v":1,"pro', 0),
    "long before": ('{"ts":"2026-11-18T00:01:00.000Z","event":"counters","v":1,"pro', 0),
    "written after midnight": ('{"ts":"2026-11-21T00:01:00.000Z","event":"counters","v":1,"pro', 1),
    "long after": ('{"ts":"2026-11-21T05:01:00.000Z","event":"counters","v":1,"pro', 0),
    "cut": ('{"ts":"2026-11-2', 1),
    "noise": ("garbage", 1),
}


@pytest.mark.parametrize(
    ("log", "unusable"),
    [(LOGS.add(*a_life(counters(1)), raw=raw), unusable) for raw, unusable in TORN.values()],
    ids=TORN,
)
def test_a_torn_line_counts_where_it_is_not_known_to_be_something_else(quality_of, log, unusable):
    """A line's beginning shows the hour: an interval is an hour at most."""
    log = quality_of(log)
    state = "incomplete" if unusable else "complete_in_part"
    assert (log["lines_unusable"], log["state"]) == (unusable, state)


def two_versions(*ways):
    """Logs that hold a line twice, with different contents: the second version comes second, and first."""
    return [LOGS.add(*a_life(a), b) for one, other in ways for a, b in ((one, other), (other, one))]


CONFLICTS = two_versions(
    (counters(1), counters(1, records=1_000)),
    (counters(1), counters(1, first_ts=MINUTE_1)),
    (counters(1), counters(1, records=-1)),
    (counters(1), counters(1, MIDNIGHT_MS - DAY_MS)),  # the version that is kept is of the day before
    (counters(1), line(1, "decision")),  # a decision holds no totals
)


@pytest.mark.parametrize("log", CONFLICTS)
def test_a_line_that_came_in_two_versions_counts_in_neither_whatever_their_order(quality_of, log):
    """A cloned machine writes such lines. A day whose counts depend on the order of files is not complete."""
    log = quality_of(log)
    assert (log["lines_unusable"], log["state"], log["lost_lines"]) == (1, "incomplete", 0)
    assert log["quarantined_lines"] == {"conflict": 2}  # as often as it was delivered
    assert log["quarantined_examples"] == [f"a.jsonl: conflict: {LINE}: delivered with different contents"]


NO_MATTER = two_versions(
    (line(1, "decision"), line(1, "decision", MIDNIGHT_MS + 3 * HOUR_MS)),
    (line(1, "decision"), line(1, "lifecycle")),
    (counters(1, MIDNIGHT_MS - DAY_MS), counters(1, MIDNIGHT_MS + DAY_MS)),  # the days around it
    (counters(1, MIDNIGHT_MS + DAY_MS), line(1, "decision")),
)


@pytest.mark.parametrize("log", NO_MATTER)
def test_versions_none_of_which_holds_totals_of_the_day_are_no_matter(quality_of, log):
    log = quality_of(log)
    assert (log["lines_unusable"], log["state"], log["lost_lines"]) == (0, "complete_in_part", 0)
    assert log["quarantined_lines"] == {"conflict": 2}


def test_a_file_delivered_twice_in_two_versions_gives_one_report_in_either_order(spark, tmp_path):
    """A table of `compact` agrees with the lines of JSON."""
    own = a_life(counters(1), counters(2), counters(3))
    other = [each | {"records": 1_000} if each["seq"] in (1, 2) else each for each in own]
    found = []
    for number, (one, two) in enumerate(((own, other), (other, own))):
        folder = tmp_path / str(number)
        write(folder / "decisions-20261120T000000Z-a.jsonl", *one)
        write(folder / "decisions-20261120T000000Z-b.jsonl", *two)
        sources = [Source([str(folder)], FRIDAY, FRIDAY)]
        if not number:
            table = ["--input", str(folder), "--output", str(folder / "lines"), "--date", "2026-11-20"]
            for _ in range(2):  # the second run finds nothing that would vanish
                assert main(["compact", *table]) == 0
            sources.append(Source([str(folder / "lines")], FRIDAY, FRIDAY, Form.PARQUET))
        for each in sources:
            made = assemble(collect(spark, each), FRIDAY, FRIDAY, MIDNIGHT_MS + DAY_MS)
            found.append((made["totals"], made["log"]["quarantined_lines"], made["log"]["state"]))
    totals, quarantined, state = found[0]
    assert (totals["records_accepted"], quarantined, state) == (10, {"conflict": 4}, "incomplete")
    assert all(each == found[0] for each in found)


SATURDAYS = [counters(9, MIDNIGHT_MS + DAY_MS, boot="b2", **more) for more in ({"v": 2}, {}, {"records": 99})]
OF_ANOTHER_DAY = [LOGS.add(*a_life(counters(1)), *lines) for lines in (SATURDAYS[:1], SATURDAYS[1:])]


@pytest.mark.parametrize("log", OF_ANOTHER_DAY, ids=["of a newer version", "in two versions"])
def test_a_line_of_another_day_is_no_matter(quality_of, log):
    log = quality_of(log)
    assert (log["lines_unusable"], log["state"]) == (0, "complete_in_part")


def test_a_day_without_usable_lines_is_exit_code_1_and_leaves_nothing(daily, tmp_path):
    lines = [each | {"v": 2} for each in a_life(counters(1))]
    code, report, output, _ = daily(*lines)
    assert (code, report) == (1, None)
    assert output == (
        "spark_reports: nothing of 2026-11-20 can be used: 2 unusable lines that may hold totals "
        f"({NEWER}); `spark_reports doctor` shows examples\n"
    )
    code, report, output, _ = daily(raw="garbage\nmore of it\n")
    assert (code, report) == (1, None)
    assert "2 unusable lines that may hold totals; " in output
