"""The commands of a scheduler, one night after the other, over proxies that run on."""

import json
import os
import shutil
from itertools import groupby
from unittest.mock import Mock

import pytest

from spark_reports.cli import main
from spark_reports.commands import daily_run
from spark_reports.report import teams
from tests.spark_reports.day import DAY_MS, HOUR_MS, MIDNIGHT_MS
from tests.spark_reports.logs import MINUTE_MS, counters, heartbeat, line, write
from tests.spark_reports.schedules import of_airflow

FULL = os.environ.get("TSPROXY_TEST") == "full"
DAYS = ("2026-11-20", "2026-11-21", "2026-11-22")
COMPARED = (DAYS[:1], DAYS[:2], DAYS[1:]) if FULL else ((), (), DAYS[1:])
"""The reports of each night that are compared with those of the files."""


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


@pytest.fixture
def run_day(spark, tmp_path, capsys):
    """Runs the tasks of the DAG for one day; its files are in `tmp_path / "tsproxy"`. It returns (the exit
    codes of the tasks, report.json by day as the night left them, its output)."""

    def run(day):
        _, tasks, edges = of_airflow(day)
        [(first, second)] = edges
        capsys.readouterr()
        codes = [main(here(tasks[name][0], tmp_path)) for name in (first, second)]
        found = sorted((tmp_path / "reports").glob("*/report.json"))
        reports = {path.parent.name: json.loads(path.read_text()) for path in found}
        return codes, reports, capsys.readouterr()

    return run


@pytest.fixture
def from_files(spark, tmp_path):
    """Makes the report of a day from the files as they are."""

    def make(day):
        output = tmp_path / f"files-{day}"
        options = ["--input", str(tmp_path / "tsproxy"), "--output", str(output), "--format", "json"]
        code = main(["daily", *options, "--date", day, "--quiet"])
        report = json.loads((output / "report.json").read_text())
        assert code == (3 if report["log"]["lines_unusable"] else 0)
        return report

    return make


def deliver(tmp_path, lives, until):
    """Write the lines of these lives that were written until then, a file for each boot and day."""
    for life in lives:
        come = [each for each in life if each["ts"] < until]
        for day, lines in groupby(come, key=lambda each: each["ts"][:10].replace("-", "")):
            write(tmp_path / "tsproxy" / f"decisions-{day}T000000Z-{life[0]['boot']}.jsonl", *lines)


def test_three_nights_say_the_same_from_the_table_and_from_the_files(run_day, from_files, tmp_path):
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
        of_night, reports, _ = run_day(day)
        assert sorted(reports) == list(DAYS[: number + 1])
        for each in COMPARED[number]:
            files = from_files(each)
            assert reports[each]["log"]["silent"] == files["log"]["silent"]
            assert reports[each]["log"]["sentence"] == files["log"]["sentence"]
            assert reports[each]["totals"] == files["totals"]
        killed.append([boot["boot"] for boot in reports[day]["log"]["silent"]])
        states.append((reports[day]["log"]["state"], reports[day]["log"]["lines_unusable"]))
        codes.append(of_night)
    assert killed == [[], ["rx-1"], []]
    assert states == [("complete", 0), ("incomplete", 1), ("incomplete", 18 * 6 + 18)]
    assert codes == [[0, 0], [3, 3], [3, 3]]
    assert [day["day"] for day in reports[DAYS[-1]]["trend"]["days"]] == list(DAYS)


class Killed(BaseException):
    """The end of a process that nobody expects."""


def test_a_night_makes_up_for_one_that_did_not_run_also_if_it_is_killed_in_between(
    run_day, tmp_path, spark, monkeypatch, capsys
):
    """The machine was off in the second night. The third writes the lines of both days, and is killed before
    their reports are made: the table does not lack them any more. Gates of the second day are checked now,
    and nobody else did."""
    minutes = DAY_MS // MINUTE_MS
    deliver(tmp_path, [a_life("px-1", 0, 3 * minutes, stops=False, every=60)], "2026-11-24")
    assert run_day(DAYS[0])[0] == [0, 0]
    write(tmp_path / "tsproxy" / "decisions-20261121T050000Z-px-9.jsonl", raw="garbage\n")
    night = here(of_airflow(DAYS[2])[1]["daily"][0], tmp_path)
    night += ["--fail-on", "lines_unusable>0"]
    with monkeypatch.context() as patched:
        patched.setattr(daily_run, "made", Mock(side_effect=Killed))
        with pytest.raises(Killed):
            main(night)
    assert f"No run had written {DAYS[1]}, which was written now." in capsys.readouterr().out
    assert main(night) == 3
    printed = capsys.readouterr()
    assert "No run had written" not in printed.out
    assert printed.err.startswith(f"spark_reports: quality gate: {DAYS[1]}: lines_unusable>0")
    made = {path.parent.name for path in (tmp_path / "reports").glob("*/report.json")}
    assert made == {*DAYS}
    assert json.loads((tmp_path / "reports" / "unmade.json").read_text()) == []


def test_a_restated_day_of_which_no_line_can_be_used_any_more_fails_the_night(run_day, tmp_path):
    """The lines of the first day come a second time, and differ. The report made before says that the log is
    complete."""
    own = {"boot": "px-1", "proxy": "px"}
    lines = [counters(0, MIDNIGHT_MS, **own), heartbeat(1, MIDNIGHT_MS, **own)]
    write(tmp_path / "tsproxy" / "decisions-20261120T000000Z-px-1.jsonl", *lines)
    assert run_day(DAYS[0])[0][0] == 0
    others = [{**each, "cluster_id": "another"} for each in lines]
    write(tmp_path / "tsproxy" / "decisions-20261120T000000Z-px-1-copy.jsonl", *others)
    deliver(
        tmp_path,
        [a_life("qx-1", DAY_MS // MINUTE_MS, 2 * DAY_MS // MINUTE_MS, stops=True, every=60)],
        "2026-11-23",
    )
    codes, _, printed = run_day(DAYS[1])
    assert f"Lines came late for {DAYS[0]}, which was written now." in printed.out
    assert f"nothing of {DAYS[0]} can be used" in printed.err
    assert codes[0] == 1


def test_a_night_without_lines_leaves_the_folders_of_teams_as_they_were(spark, tmp_path, capsys):
    """The second night has no line of its own day, and makes the first day's report again. There is no report
    of its own day that a gate could check."""
    own = {"boot": "px-1", "proxy": "px"}
    rejected = {"verdict": "rejected", "reason": "too_old", "error_code": 32, "bad_records": 10}
    lines = [line(0, at_ms=MIDNIGHT_MS, kind="start", **own), counters(1, MIDNIGHT_MS, **own, **rejected)]
    lines.append(heartbeat(2, MIDNIGHT_MS, **own))
    write(tmp_path / "tsproxy" / "decisions-20261120T000000Z-px-1.jsonl", *lines)
    owners = tmp_path / "owners.toml"
    owners.write_text('[[owners]]\nteam = "everybody"\nclient_ids = ["*"]\n')
    for day, code in ((DAYS[0], 0), (DAYS[1], 1)):  # the owners of the store are those of the file
        assert main([*here(of_airflow(day)[1]["daily"][0], tmp_path), "--owners", str(owners)]) == code
        folder = tmp_path / "reports" / "teams" / teams.folder_of("everybody")
        assert json.loads((folder / "latest.json").read_text())["day"] == DAYS[0]
        assert {path.name for path in folder.iterdir()} == {
            *(f"{DAYS[0]}.html", "index.html", "feed.xml", "latest.json")
        }
    assert f"no decision log lines of {DAYS[1]}" in capsys.readouterr().err
    assert main(here(of_airflow(DAYS[1])[1]["gate"][0], tmp_path)) == 1
    assert "report.json" in capsys.readouterr().err


def test_gates_that_the_night_itself_is_given_are_those_of_its_day(spark, tmp_path, capsys):
    """The night writes everything first. An argument that is wrong ends it before."""
    deliver(tmp_path, [a_life("px-1", 0, 60, stops=True)], "2026-11-21T01:00")
    (tmp_path / "owners.toml").write_text('[[owners]]\nteam = "all"\nclient_ids = ["*"]\n')
    night = here(of_airflow(DAYS[0])[1]["daily"][0], tmp_path)
    gates = ["missing_intervals>5000", "incomplete>0", "rejected_records>0"]
    hold = [option for gate in gates for option in ("--fail-on", gate)]
    assert main([*night, *hold, "--quiet"]) == 0
    made = tmp_path / "reports" / DAYS[0]
    assert json.loads((made / "report.json").read_text())["owners"] is not None  # those of the store
    assert (made / "report.prom").exists()
    assert (tmp_path / "reports" / "index.html").exists()
    write(tmp_path / "tsproxy" / "decisions-20261120T050000Z-px-9.jsonl", raw="garbage\n")
    capsys.readouterr()
    assert main([*night, "--fail-on", "corrupt_rate>0", "--quiet"]) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    gate, unusable = printed.err.splitlines()
    assert gate.startswith("spark_reports: quality gate: 2026-11-20: corrupt_rate>0: corrupt_rate is ")
    assert unusable.startswith("spark_reports: 2026-11-20: 1 line that may hold totals cannot be read: ")


def test_days_that_are_older_than_keep_are_removed_after_a_run_that_went_well(spark, tmp_path):
    """A day without a report stays, and so does a file of somebody else, with its folder."""
    own = {"boot": "px-1", "proxy": "px"}
    rejected = {"verdict": "rejected", "reason": "too_old", "error_code": 32, "bad_records": 10}
    old = ["2026-10-01", "2026-10-02"]
    for number, day in enumerate((*old, DAYS[0])):
        at_ms = MIDNIGHT_MS - (50 - number) * DAY_MS if day in old else MIDNIGHT_MS
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
    assert there == {unmade.name, f"event_date={DAYS[0]}"}
    left = [str(path) for path in tmp_path.rglob("*") if any(day in str(path) for day in old)]
    assert sorted(left) == [str(mine.parent), str(mine)]
    assert not any(day in (tmp_path / "reports" / "index.html").read_text() for day in old)
    assert (tmp_path / "reports" / DAYS[0] / "report.html").exists()
