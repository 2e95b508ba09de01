"""Days with known truth: the totals are exactly true, or every missing line is named exactly."""

from collections import Counter
from datetime import date

import pytest
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log import log_reader, read
from spark_reports.log.completeness import Evidence, State, quality
from spark_reports.log.grouping import Grouping, How, Measure
from spark_reports.report import transforms
from spark_reports.report.sums import collected
from spark_reports.report.table_source import TableSource
from spark_reports.report.words import epoch_ms
from tests.full_only import IS_FULL
from tests.spark_reports.damage import a_random_day, name_of
from tests.spark_reports.day import DAY_MS, HOUR_MS

DAYS_AT_ONCE = 10 if IS_FULL else 6
"""So many days are read by one job: starting a job costs more than a day of a few thousand lines."""

OUTCOMES = Grouping(("topic", "verdict", "is_final"), {"records": Measure(How.SUM, ("records",))})

BUNDLES = range(20 if IS_FULL else 1)


@pytest.fixture(scope="module", params=BUNDLES)
def read_days(request, spark, tmp_path_factory):
    """Random days, and for each the parts of a report: totals, proof, files."""
    folder = tmp_path_factory.mktemp("days")
    seeds = range(request.param * DAYS_AT_ONCE, (request.param + 1) * DAYS_AT_ONCE)
    days = [a_random_day(seed, folder, number) for number, seed in enumerate(seeds)]
    first, last = (date.fromisoformat(days[n].date) for n in (0, -1))
    source, side = read.Source([str(folder)], first, last), _side(days[0])
    with log_reader.lines(spark, source, side) as log:
        counted = transforms.rollup(log.frame.where("problem IS NULL AND event = 'counters'"))
        by_day = counted.withColumn("topic", F.substring("hour", 1, 10))
        totals = TableSource(collected(by_day)).table(OUTCOMES)
        evidence = log.evidence(10**6)
    return [(day, _totals(totals, day), _proof(evidence, day)) for day in days], evidence.files


def _side(first_day):
    """The side for all days at once. They are three days apart, and no process lives in two of them."""

    def side(day):
        days_since = F.datediff(day, F.lit(first_day.date).cast("date"))
        return F.pmod(days_since + 1, F.lit(3)) - 1

    return side


def _totals(rows, day):
    sums = Counter()
    for row in rows:
        if row["topic"] == day.date:
            sums[row["verdict"], row["is_final"]] += row["records"]
    return sums


def _proof(evidence, day):
    """The completeness as `daily --date` of this day finds it, from the rows of all days.

    A torn line is missing by its number, because its beginning may not show its day.
    """
    own = date.fromisoformat(day.date)
    names = {line["boot"] for line in day.lines}
    theirs = [[row for row in some if row["boot"] in names] for some in (evidence.boots, evidence.gaps)]
    now_ms = day.midnight_ms + 2 * DAY_MS + 12 * HOUR_MS
    return quality(Evidence(*theirs, files=[]), own, own, now_ms)


def test_totals_are_those_of_the_lines_that_arrived_each_once(read_days):
    days, _ = read_days
    for day, totals, _ in days:
        assert totals == day.counted(surviving=True), day.date


def test_a_log_that_proves_to_be_complete_gives_the_whole_truth(read_days):
    days, _ = read_days
    complete = [(day, totals) for day, totals, proof in days if _lacks_nothing(proof) and _has_all_boots(day)]
    assert complete
    for day, totals in complete:
        assert totals == day.counted(surviving=False), day.date


def _lacks_nothing(proof):
    return proof["state"] is not State.INCOMPLETE


def _has_all_boots(day):
    """A process without a single line in the log cannot be missed. `unheard` names its time."""
    return {line["boot"] for line in day.lines} == {boot for boot, _ in day.survivors}


def test_a_log_that_lost_nothing_proves_to_be_complete_for_the_times_at_which_proxies_ran(read_days):
    """There is no false alarm for files in disorder, lines delivered twice, restarts or clock jumps."""
    days, _ = read_days
    whole = [
        (day, proof) for day, _, proof in days if len(day.survivors) == len(day.lines) and not day.killed
    ]
    assert whole
    for day, proof in whole:
        ran_all_day = all(_ran_all_day(day, f"px-{number}") for number in range(3))
        state = State.COMPLETE if ran_all_day else State.COMPLETE_IN_PART
        assert proof["state"] is state, (day.date, proof["sentence"], proof["gaps"])


def _ran_all_day(day, proxy):
    """True if the proxy's heartbeats leave out at most three of its intervals, from midnight to midnight."""
    beats = [each for each in day.lines if each["event"] == "heartbeat" and each["proxy"] == proxy]
    patience_ms = 3 * max(each["interval_ms"] for each in beats)
    spans = sorted((epoch_ms(each["interval_start"]), each["interval_ms"]) for each in beats)
    heard_to_ms = day.midnight_ms
    for start_ms, interval_ms in spans:
        if day.midnight_ms < start_ms < day.midnight_ms + DAY_MS and start_ms - heard_to_ms > patience_ms:
            return False
        heard_to_ms = max(heard_to_ms, start_ms + interval_ms)
    return day.midnight_ms + DAY_MS - heard_to_ms <= patience_ms


def test_every_lost_line_is_named_by_its_number_or_its_process_or_its_time(read_days):
    days, _ = read_days
    for day, _, proof in days:
        for line in day.lost():
            assert _is_named(line, day, proof), (day.date, line, proof)


def _is_named(line, day, proof):
    boot, seq = name_of(line)
    if any(gap["boot"] == boot and gap["seq_first"] <= seq <= gap["seq_last"] for gap in proof["gaps"]):
        return True
    survivors = [name[1] for name in day.survivors if name[0] == boot]
    if not survivors:  # a whole boot is lost: the time without a heartbeat of its proxy is named
        return _is_unheard_of(line["proxy"], day) or _spans(line, proof)
    if seq > max(survivors):
        return any(silent["boot"] == boot for silent in proof["silent"])
    return proof["missing_intervals"] > 0


def _is_unheard_of(proxy, day):
    """True if no line of the proxy arrived for this day. The log cannot miss such a proxy."""
    return not any(name_of(each) in day.survivors for each in day.of_day() if each["proxy"] == proxy)


def _spans(line, proof):
    return any(span["proxy"] == line["proxy"] for span in proof["unheard"])


def test_no_line_is_called_lost_that_arrived_or_never_was(read_days):
    days, _ = read_days
    for day, _, proof in days:
        written = {name_of(line) for line in day.lines}
        named = {(g["boot"], n) for g in proof["gaps"] for n in range(g["seq_first"], g["seq_last"] + 1)}
        assert named <= written, day.date
        assert not named & day.survivors, day.date
        assert proof["lost_lines"] == len(named), day.date


def test_processes_that_were_killed_are_named_and_no_other(read_days):
    days, _ = read_days
    for day, _, proof in days:
        last = {}
        for line in day.lines:
            last[line["boot"]] = name_of(line)
        ended_unheard = day.killed | {boot for boot, name in last.items() if name not in day.survivors}
        assert {silent["boot"] for silent in proof["silent"]} <= ended_unheard, day.date


def test_lines_delivered_twice_and_lines_set_aside_are_counted(read_days):
    days, files = read_days
    delivered = sum(row["lines"] for row in files)
    assert sum(row["lines"] for row in files if row["problem"]) == sum(day.unreadable for day, _, _ in days)
    assert delivered - sum(row["duplicates"] for row in files) - sum(
        row["lines"] for row in files if row["problem"]
    ) == sum(len(day.survivors) for day, _, _ in days)
