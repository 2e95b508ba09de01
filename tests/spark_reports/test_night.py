"""The commands of a scheduled night, one after the other, over proxies that run on."""

import json
from itertools import groupby

import pytest

from spark_reports.cli import main
from tests.spark_reports.day import DAY_MS, HOUR_MS, MIDNIGHT_MS
from tests.spark_reports.logs import MINUTE_MS, counters, heartbeat, line, write

TABLE = ("--input-format", "parquet", "--input")
DAYS = ("2026-11-20", "2026-11-21", "2026-11-22")


def a_life(boot, first_minute, last_minute, *, stops):
    """A proxy process from one minute of these days to another, with some records each hour."""
    own = {"boot": boot, "proxy": boot.partition("-")[0]}
    lines = [line(0, at_ms=MIDNIGHT_MS + first_minute * MINUTE_MS, kind="start", **own)]
    for minute in range(first_minute, last_minute):
        at_ms = MIDNIGHT_MS + minute * MINUTE_MS
        if minute % 60 == 0:
            lines.append(counters(len(lines), at_ms, **own))
        lines.append(heartbeat(len(lines), at_ms, **own))
    if stops:
        lines.append(line(len(lines), at_ms=MIDNIGHT_MS + last_minute * MINUTE_MS, kind="stop", **own))
    return lines


@pytest.fixture
def night(spark, tmp_path, capsys):
    """Runs the tasks of the DAG for one day: `compact`, `daily_before` and `daily`. It returns for both days
    (the report over the table, the same over the files)."""
    logs, table = tmp_path / "log", tmp_path / "table"

    def reports(day):
        for name, source in (("table", [*TABLE, str(table)]), ("files", ["--input", str(logs)])):
            output = tmp_path / f"{name}-{day}"
            assert main(["daily", *source, "--output", str(output), "--date", day]) == 0
            yield json.loads((output / "report.json").read_text())

    def run(before, day):
        assert main(["compact", "--input", str(logs), "--output", str(table), "--date", day]) == 0
        found = [list(reports(each)) for each in (before, day) if each]
        capsys.readouterr()
        return found

    return run


def test_three_nights_say_the_same_from_the_table_and_from_the_files(night, tmp_path):
    """px runs on, qx is restarted at noon of the second day, rx is killed on the second day at 18:00. sx is
    upgraded on the third day at 06:00 to a version that the reports do not know. The last heartbeat of rx is
    damaged."""
    minutes = DAY_MS // MINUTE_MS
    lives = [
        a_life("px-1", 0, 3 * minutes, stops=False),
        a_life("qx-1", 0, minutes + minutes // 2, stops=True),
        a_life("qx-2", minutes + minutes // 2, 3 * minutes, stops=False),
        a_life("rx-1", 0, minutes + 18 * HOUR_MS // MINUTE_MS, stops=False),
        a_life("sx-1", 0, 2 * minutes + 6 * HOUR_MS // MINUTE_MS, stops=True),
        a_life("sx-2", 2 * minutes + 6 * HOUR_MS // MINUTE_MS, 3 * minutes, stops=False),
    ]
    for each in lives[-1]:
        each["v"] = 2
    lives[3][-1]["interval_start"] = "yesterday"
    killed, states = [], []
    for number, name in enumerate(DAYS):
        for life in lives:
            come = [each for each in life if each["ts"] < f"2026-11-{21 + number}T01:00"]  # an hour more
            for day, lines in groupby(come, key=lambda each: each["ts"][:10].replace("-", "")):
                write(tmp_path / "log" / f"decisions-{day}T000000Z-{life[0]['boot']}.jsonl", *lines)
        for from_table, from_files in night(DAYS[number - 1] if number else None, name):
            assert from_table["log"]["silent"] == from_files["log"]["silent"]
            assert from_table["log"]["sentence"] == from_files["log"]["sentence"]
            assert from_table["totals"] == from_files["totals"]
        killed.append([boot["boot"] for boot in from_table["log"]["silent"]])
        states.append((from_table["log"]["state"], from_table["log"]["lines_unusable"]))
    assert killed == [[], ["rx-1"], []]
    assert states == [("complete", 0), ("incomplete", 1), ("incomplete", 18 * 60 + 18)]
