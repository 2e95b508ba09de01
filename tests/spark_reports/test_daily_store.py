"""The commands of a scheduler, one night after the other, over proxies that run on."""

import json
import shutil
from datetime import date
from itertools import groupby

from spark_reports.cli import main
from tests.spark_reports.day import DAY_MS, FRIDAY, HOUR_MS, MIDNIGHT_MS
from tests.spark_reports.logs import MINUTE_MS, counters, heartbeat, line, write
from tests.spark_reports.schedules import of_airflow

DAYS = ("2026-11-20", "2026-11-21", "2026-11-22")


def a_life(boot, first_minute, last_minute, *, stops, every=1):
    """A proxy process from one minute of these days to another, with some records each hour. Its intervals
    are of `every` minutes."""
    own = {"boot": boot, "proxy": boot.partition("-")[0]}
    lines = [line(0, at_ms=MIDNIGHT_MS + first_minute * MINUTE_MS, kind="start", **own)]
    for minute in range(first_minute, last_minute, every):
        at_ms = MIDNIGHT_MS + minute * MINUTE_MS
        if minute % 60 == 0:
            lines.append(counters(len(lines), at_ms, **own))
        lines.append(heartbeat(len(lines), at_ms, every * MINUTE_MS, **own))
    if stops:
        lines.append(line(len(lines), at_ms=MIDNIGHT_MS + last_minute * MINUTE_MS, kind="stop", **own))
    return lines


def here(asked, tmp_path):
    """The arguments, with folders of this machine for those of the lake."""
    return [each.replace("s3a://lake", str(tmp_path)) for each in asked]


def run_day(day, tmp_path):
    """Run the tasks of the DAG for one day: (their exit codes, report.json by day as the night left them)."""
    _, tasks, edges = of_airflow(day)
    [(first, second)] = edges
    codes = [main(here(tasks[name][0], tmp_path)) for name in (first, second)]
    found = sorted((tmp_path / "reports").glob("*/report.json"))
    return codes, {path.parent.name: json.loads(path.read_text()) for path in found}


def deliver(tmp_path, lives, until):
    """Write the lines of these lives that were written until then, a file for each boot and day."""
    for life in lives:
        come = [each for each in life if each["ts"] < until]
        for day, lines in groupby(come, key=lambda each: each["ts"][:10].replace("-", "")):
            write(tmp_path / "tsproxy" / f"decisions-{day}T000000Z-{life[0]['boot']}.jsonl", *lines)


def test_three_nights_say_the_same_from_the_table_and_from_the_files(spark, tmp_path, capsys):
    """px runs on, qx is restarted at noon of the second day, rx is killed on the second day at 18:00. sx is
    upgraded on the third day at 06:00 to a version that the reports do not know. The last heartbeat of rx is
    damaged."""
    minutes = DAY_MS // MINUTE_MS
    lives = [
        a_life("px-1", 0, 3 * minutes, stops=False, every=10),
        a_life("qx-1", 0, minutes + minutes // 2, stops=True, every=10),
        a_life("qx-2", minutes + minutes // 2, 3 * minutes, stops=False, every=10),
        a_life("rx-1", 0, minutes + 18 * HOUR_MS // MINUTE_MS, stops=False, every=10),
        a_life("sx-1", 0, 2 * minutes + 6 * HOUR_MS // MINUTE_MS, stops=True, every=10),
        a_life("sx-2", 2 * minutes + 6 * HOUR_MS // MINUTE_MS, 3 * minutes, stops=False, every=10),
    ]
    for each in lives[-1]:
        each["v"] = 2
    lives[3][-1]["interval_start"] = "yesterday"
    killed, states, codes = [], [], []
    for number, day in enumerate(DAYS):
        deliver(tmp_path, lives, f"2026-11-{21 + number}T01:00")  # an hour more
        of_night, reports = run_day(day, tmp_path)
        assert sorted(reports) == list(DAYS[: number + 1])
        killed.append([boot["boot"] for boot in reports[day]["log"]["silent"]])
        states.append((reports[day]["log"]["state"], reports[day]["log"]["lines_unusable"]))
        codes.append(of_night)
    assert killed == [[], ["rx-1"], []]
    assert states == [("complete", 0), ("incomplete", 1), ("incomplete", 18 * 6 + 18)]
    assert codes == [[0, 0], [3, 3], [3, 3]]
    assert [day["day"] for day in reports[DAYS[-1]]["trend"]["days"]] == list(DAYS)
    capsys.readouterr()
    day = DAYS[1]
    asked = ["--input", str(tmp_path / "tsproxy"), "--output", str(tmp_path / "out"), "--date", day]
    assert main(["daily", *asked, "--json"]) == 3
    files = json.loads(capsys.readouterr().out)
    assert reports[day]["log"]["silent"] == files["log"]["silent"]
    assert reports[day]["log"]["sentence"] == files["log"]["sentence"]
    assert reports[day]["totals"] == files["totals"]


def test_days_that_are_older_than_keep_are_removed_after_a_run_that_went_well(spark, tmp_path):
    """A day without a report stays, and so does a file of somebody else, with its folder."""
    own = {"boot": "px-1", "proxy": "px"}
    rejected = {"verdict": "rejected", "reason": "too_old", "error_code": 32, "bad_records": 10}
    old = ["2026-10-01", "2026-10-02"]
    for number, day in enumerate((*old, "2026-10-25", DAYS[0])):  # nearly in a row: no clock is ahead
        at_ms = MIDNIGHT_MS + (date.fromisoformat(day) - FRIDAY).days * DAY_MS
        lines = [counters(2 * number, at_ms, **own, **rejected), heartbeat(2 * number + 1, at_ms, **own)]
        write(tmp_path / "tsproxy" / f"decisions-{day.replace('-', '')}T000000Z-px-1.jsonl", *lines)
    (tmp_path / "owners.toml").write_text('[[owners]]\nteam = "all"\nclient_ids = ["*"]\n')
    asked = ["daily", "--input", str(tmp_path / "tsproxy"), "--store", str(tmp_path), "--quiet", "--date"]
    assert main([*asked, "..".join(old)]) == 0
    mine = tmp_path / "reports" / old[1] / "mine.txt"
    mine.write_text("a note")
    unmade = tmp_path / "lines" / "event_date=2026-09-01"
    shutil.copytree(tmp_path / "lines" / f"event_date={old[0]}", unmade)
    asked += [DAYS[0], "--keep", "32d"]
    assert main([*asked, "--fail-on", "rejected_records>0"]) == 3  # everything is written
    assert [path.name for path in mine.parent.iterdir()] == ["mine.txt"]
    there = {path.name for path in (tmp_path / "lines").glob("event_date=*")}
    assert there == {unmade.name, "event_date=2026-10-25", f"event_date={DAYS[0]}"}
    left = [str(path) for path in tmp_path.rglob("*") if any(day in str(path) for day in old)]
    assert sorted(left) == [str(mine.parent), str(mine)]
    texts = [path.read_text() for path in (tmp_path / "reports").rglob("*.*") if path.is_file()]
    assert not any(day in text for text in texts for day in old)
    assert (tmp_path / "reports" / DAYS[0] / "report.html").exists()
