"""Lines that exist but cannot be used. The report says that their counts may be missing.

One query reads the logs of all tests that need no report of their own (`many`).
"""

import json
from itertools import product

import pytest

from spark_reports.cli import main
from spark_reports.log.compact import compact
from spark_reports.log.completeness import quality
from spark_reports.log.read import Source
from spark_reports.log.store import Table
from spark_reports.render import html
from spark_reports.report.assemble import assemble
from tests.spark_reports import reports
from tests.spark_reports.collected import collect
from tests.spark_reports.day import DAY_MS, HOUR_MS, MIDNIGHT_MS
from tests.spark_reports.logs import MINUTE_MS, counters, heartbeat, line, write
from tests.spark_reports.many import FRIDAY, LOGS

CASES = {}
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


def a_life(*counted, at_ms=MIDNIGHT_MS):
    """Start, these counters, heartbeat, stop: all of one interval."""
    lines = [line(0, at_ms=at_ms, kind="start"), *counted]
    lines.append(heartbeat(len(lines), at_ms))
    return [*lines, line(len(lines), at_ms=at_ms + MINUTE_MS, kind="stop")]


def is_shown(sentence, report, *texts):
    """The sentence is that of the report, and in all texts."""
    return all(sentence in text for text in (report["log"]["sentence"], *texts))


def test_counters_of_a_newer_version_make_the_log_incomplete_and_the_cure_is_named(daily):
    code, report, output, pages = daily(*a_life(counters(1), counters(2, v=2)))
    assert (code, report["log"]["is_complete"], report["log"]["lines_unusable"]) == (3, False, 1)
    assert "1 line that may hold totals cannot be read: the numbers are a lower bound" in output
    sentence = (
        "Log incomplete: 1 of 1 minute from 1 proxy, 1 unusable line that may hold totals "
        f"({NEWER}). Totals are a lower bound."
    )
    assert is_shown(sentence, report, output, pages)


def case(name, lines, unusable, *examples, raw="", **facts):
    """A row: so many unusable lines of this log may hold totals, and its examples begin with these texts."""
    state = "incomplete" if unusable else "complete_in_part"
    CASES[name] = (LOGS.add(*lines, raw=raw), {"lines_unusable": unusable, "state": state, **facts}, examples)


# An example says which line it is, and what is wrong with it.
for what, broken, example in (
    (
        "a count",
        counters(1, records=-1, bytes=10**16),
        f"bad_count: {LINE}: records -1, bytes 10000000000000000",
    ),
    (
        "an instant",
        counters(1, interval_start="2026-11-20"),
        f"bad_instant: {LINE}: ts {MINUTE_1}, interval_start 2026-11-20, interval_ms 60000",
    ),
    (
        "a length",
        counters(1, interval_ms=-1, interval_start=None),
        f"bad_instant: {LINE}: ts {MINUTE_1}, interval_start missing, interval_ms -1",
    ),
    (
        "a heartbeat",
        heartbeat(1, ts="yesterday"),
        f"bad_instant: {LINE}: ts yesterday, interval_start {MINUTE_0}, interval_ms 60000",
    ),
    ("a type", counters(1, records="ten"), f'bad_type: {{"ts": "{MINUTE_1}", "event": "counters",'),
    ("an event nobody knows yet", line(1, "rebirth", v=2), f"unknown_version: {LINE}: v 2"),
    ("no name", counters(-1) | {"event": None}, "no_identity: proxy px, boot b, seq -1, event missing, v 1"),
):
    case(f"{what} that may hold totals", a_life(broken), 1, example)

# A line without a number is still missing: the gap of its number says so.
for event, broken in product(["decision", "lifecycle"], [{"v": 2}, {"ts": "2026-11-20"}, {"seq": "one"}]):
    lines = [*a_life(counters(1)), line(4, event, at_ms=MIDNIGHT_MS) | broken]
    case(f"a {event} with {broken} holds no totals", lines, 0)

# Facts that a shipper rewrote say nothing, and hold no totals.
for facts in ("{what=stepped}", "text", [1], "{"):
    lines, name = [*a_life(counters(1)), line(4, kind="clock", facts=facts)], f"facts that are {facts}"
    case(name, lines, 0, quarantined_lines={"bad_type": 1})

# A line's beginning shows the hour: an interval is an hour at most.
for what, raw, unusable in (
    ("of the day", '{"ts":"2026-11-20T00:01:00.000Z","event":"counters","v":1,"pro', 1),
    ("of an example", '{"ts":"2026-11-20T00:01:00.000Z","event":"decision","v":1,"pro', 0),
    ("of long before", '{"ts":"2026-11-18T00:01:00.000Z","event":"counters","v":1,"pro', 0),
    ("written after midnight", '{"ts":"2026-11-21T00:01:00.000Z","event":"counters","v":1,"pro', 1),
    ("of long after", '{"ts":"2026-11-21T05:01:00.000Z","event":"counters","v":1,"pro', 0),
    ("cut early", '{"ts":"2026-11-2', 1),
    ("of noise", "garbage", 1),
):
    case(f"a torn line {what}", a_life(counters(1)), unusable, raw=raw)

# A cloned machine writes such lines. A day whose counts depend on the order of files is not complete.
# The conflict is counted as often as the line was delivered.
ONE, DECISION = counters(1), line(1, "decision")
CONFLICT = {"lost_lines": 0, "quarantined_lines": {"conflict": 2}}
DAY_BEFORE, DAY_AFTER = (counters(1, MIDNIGHT_MS + days * DAY_MS) for days in (-1, 1))
for number, (version, other, unusable) in enumerate(
    (
        (ONE, counters(1, records=1_000), 1),
        (ONE, counters(1, first_ts=MINUTE_1), 1),
        (ONE, counters(1, records=-1), 1),
        (ONE, DAY_BEFORE, 1),  # the version that is kept is of the day before
        (ONE, DECISION, 1),  # a decision holds no totals
        (DECISION, line(1, "decision", MIDNIGHT_MS + 3 * HOUR_MS), 0),
        (DECISION, line(1, "lifecycle"), 0),
        (DAY_BEFORE, DAY_AFTER, 0),
        (DAY_AFTER, DECISION, 0),
    )
):
    for order, (first, second) in (("", (version, other)), (", in the other order", (other, version))):
        case(
            f"a line in two versions, {number}{order}",
            [*a_life(first), second],
            unusable,
            *[f"conflict: {LINE}: delivered with different contents"] * unusable,
            **CONFLICT,
        )

SATURDAYS = [counters(9, MIDNIGHT_MS + DAY_MS, boot="b2", **more) for more in ({"v": 2}, {}, {"records": 99})]
case("a line of another day of a newer version", [*a_life(ONE), *SATURDAYS[:1]], 0)
case("a line of another day in two versions", [*a_life(ONE), *SATURDAYS[1:]], 0)


@pytest.mark.parametrize("name", CASES)
def test_a_line_that_cannot_be_used_counts_where_it_may_hold_totals(spark, tmp_path_factory, name):
    log, facts, examples = CASES[name]
    evidence = LOGS.evidence(spark, tmp_path_factory, log)
    told = quality(evidence, FRIDAY, FRIDAY, MIDNIGHT_MS + 2 * DAY_MS)
    assert {fact: told[fact] for fact in facts} == facts
    assert sum(told["quarantined_lines"].values()) == (2 if "two versions" in name else 1)
    for number, example in enumerate(examples):
        assert told["quarantined_examples"][number].startswith(f"a.jsonl: {example}")
    if facts["lines_unusable"]:
        page = html.render(reports.fixed() | {"log": told})
        assert is_shown("1 unusable line that may hold totals", {"log": told}, page)


def test_files_delivered_twice_in_two_versions_give_one_report_in_either_order(spark, tmp_path):
    """A table agrees with the lines of JSON."""
    folder, table = tmp_path / "in", tmp_path / "lines"
    for proxy, names in (("px", "ab"), ("qx", "ba")):
        own = [each | {"proxy": proxy} for each in a_life(counters(1), counters(2), counters(3))]
        other = [each | {"records": 1_000} if each["seq"] in (1, 2) else each for each in own]
        for name, lines in zip(names, (own, other), strict=True):
            write(folder / f"decisions-20261120T000000Z-{name}-{proxy}.jsonl", *lines)
    source, found = Source([str(folder)], FRIDAY, FRIDAY), []
    for _ in range(2):  # the second run finds nothing that would vanish
        compact(spark, source, Table(str(table)))
    for each in (source, Source([str(table)], FRIDAY, FRIDAY, is_table=True)):
        made = assemble(collect(spark, each), FRIDAY, FRIDAY, MIDNIGHT_MS + DAY_MS)
        totals, log = made["totals"], made["log"]
        assert (totals["records_accepted"], log["quarantined_lines"]) == (20, {"conflict": 8})
        assert log["state"] == "incomplete"
        found.append(totals)
    assert found[0] == found[1]


def test_a_day_without_usable_lines_is_exit_code_1_and_leaves_nothing(daily, tmp_path):
    lines = [each | {"v": 2} for each in a_life(counters(1))]
    code, report, output, _ = daily(*lines)
    assert (code, report) == (1, None)
    assert output == (
        "spark_reports: nothing of 2026-11-20 can be used: 2 unusable lines that may hold totals "
        f"({NEWER}); `spark_reports doctor` shows examples\n"
    )
