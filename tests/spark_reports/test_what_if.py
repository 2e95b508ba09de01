"""The records that other limits would reject, in the commands and the report; `pure` has the arithmetic."""

import json
import shutil
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from spark_reports.cli import main
from spark_reports.commands import spark_run
from spark_reports.report import teams
from tests.spark_reports.day import DAY_MS, HOUR_MS, MIDNIGHT_MS
from tests.spark_reports.logs import counters, heartbeat, line, write
from tests.spark_reports.pure.test_html import Page
from tsproxy.decisions.drift import THRESHOLDS_MS, bucket

OWNERS = Path(__file__).parent / "fixed" / "owners.toml"
DAYS = ("2026-11-20", "2026-11-21")


@pytest.fixture(scope="module")
def run(spark, tmp_path_factory):
    """(the store of a run over two days, its standard output and error): svc is 2 h ahead on both and
    rejected on the second; old sends 8 d late and recovers. On the first, some histograms are of another
    version."""
    folder = tmp_path_factory.mktemp("kept")
    ahead, behind = bucket(2 * HOUR_MS), bucket(-8 * DAY_MS)
    rejected = {"verdict": "rejected", "reason": "too_far_ahead", "error_code": 32}
    for number, day in enumerate(DAYS):
        start_ms = MIDNIGHT_MS + number * DAY_MS
        lines = [
            counters(0, start_ms, client_id="fine", records=1_000, ahead=[[1, 9, 1_000]],
                     behind=[[1, 9, 1_000]]),
            counters(1, start_ms, client_id="svc", topic="orders-eu", records=40, ahead=[[ahead, 4, 40]],
                     behind=[[ahead, 4, 40]], **(rejected if number else {})),
            counters(2, start_ms, client_id="old", topic="old", records=20, ahead=[[behind, 2, 20]],
                     behind=[[behind, 2, 20]], **({} if number else rejected | {"reason": "too_old"})),
        ]  # fmt: skip
        if not number:
            lines.append(counters(3, start_ms, hist="drift-v2", topic="new", records=7))
        lines = [each | {"boot": f"day-{number}"} for each in lines]
        write(folder / "in" / f"decisions-{day.replace('-', '')}T000000Z-px.jsonl", *lines)
    asked = ["--input", str(folder / "in"), "--store", str(folder), "--owners", str(OWNERS)]
    asked += ["--date", "..".join(DAYS), "--fail-on", "rejected_rate>1%"]
    with redirect_stdout(StringIO()) as printed, redirect_stderr(StringIO()) as errors:
        assert main(["daily", *asked]) == 3
    return folder, printed.getvalue().splitlines(), errors.getvalue().splitlines()


@pytest.fixture
def rollup(run):
    """The store."""
    return run[0]


def report_of(rollup, day):
    return json.loads((rollup / "reports" / day / "report.json").read_text())


def test_each_day_has_a_report_in_a_folder_of_its_own_and_a_gate_names_its_day(run):
    store, printed, errors = run
    assert [line[:11] for line in printed][1:] == [f"{day}:" for day in DAYS]
    assert [line[:39] for line in errors] == [f"spark_reports: quality gate: {day}" for day in DAYS]
    for day, week in zip(DAYS, ([None, 20], [0, 40]), strict=True):
        report = report_of(store, day)
        assert (report["first_day"], report["last_day"], report["log"]["boots"]) == (day, day, 1)
        assert list((store / "rollup" / "producers" / f"event_date={day}").iterdir())
        [rejected] = report["producers"]
        assert (rejected["week"], rejected["since"]) == ([None] * 6 + week, day)
    history = report["history"]  # of the second day
    assert [known["records"] for known in history["days"]] == [None] * 6 + [1_067, 1_060]
    assert (history["days"][-1]["state"], history["direction"]) == ("incomplete", "not_compared")


def answer(capsys, *arguments):
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_command_answers_from_the_rollup_of_daily(rollup, capsys):
    asked = ("what-if", "--rollup", str(rollup / "rollup"), "--date", "2026-11-01..2026-11-30")
    found = answer(capsys, *asked, "--after", "1h", "--before", "7d")
    assert found["records"] == 2 * 1_060
    assert found["ahead"]["records"] == {"at_least": 80, "at_most": 80}
    assert found["either"]["records"] == {"at_least": 80, "at_most": 120}
    assert [(row["client_id"], row["records"]) for row in found["producers"]] == [("svc", 80), ("old", 40)]
    for glob in ("s?c", "s[v[]c"):
        found = answer(capsys, *asked, "--after", "1h", "--topic", "orders-*", "--client", glob)
        assert (found["records"], found["ahead"]["records"]["at_least"]) == (80, 80)


def test_the_command_answers_in_words_too(rollup, capsys):
    asked = ["what-if", "--rollup", str(rollup / "rollup"), "--date", "2026-11-21"]
    assert main([*asked, "--after", "1h"]) == 0
    assert "after 1 h: 40 (3.8%) records would be rejected" in capsys.readouterr().out
    assert main(asked) == 0
    assert capsys.readouterr().out.count("\n") == 3 + len(THRESHOLDS_MS)
    assert main([*asked, "--topic", "none"]) == 1
    assert "holds 2026-11-21, but no records with timestamps of --topic 'none'" in capsys.readouterr().err


def test_records_with_histograms_of_another_version_are_counted_as_left_out(rollup, capsys):
    """In the command, for what was asked, and in the report."""
    asked = ["what-if", "--rollup", str(rollup / "rollup"), "--date", "2026-11-20"]
    for topic, expected in (("old", (20, 0)), ("new", (0, 7))):
        told = answer(capsys, *asked, "--after", "1h", "--topic", topic)
        assert (told["records"], told["records_left_out"]) == expected
    assert main(asked) == 0
    page = (rollup / "reports" / DAYS[0] / "report.html").read_text()
    said = "7 records are left out: the histograms of their lines are of another version of tsproxy"
    assert all(said in text for text in (capsys.readouterr().out, page))


def test_report_makes_the_report_of_daily_again_and_starts_no_spark(rollup, tmp_path, monkeypatch, capsys):
    """Not of a day of which a run was killed between its tables and its evidence."""
    monkeypatch.setattr(spark_run, "spark_session", None)
    shutil.copytree(rollup / "rollup", kept := tmp_path / "rollup")
    (tmp_path / "index.html").touch()
    asked = ["report", "--rollup", str(kept), "--owners", str(OWNERS), "--date", DAYS[1]]
    asked += ["--output", str(tmp_path / DAYS[1])]
    assert main(asked) == 0
    for name in ("json", "html"):
        made, again = (place / DAYS[1] / f"report.{name}" for place in (rollup / "reports", tmp_path))
        assert again.read_text() == made.read_text()
    evidence = kept / "evidence" / "2026-11-21.json"
    evidence.write_text(evidence.read_text().replace('"records": 1', '"records": 2', 1))
    assert main(asked) == 1
    assert (
        "2026-11-21.json cannot be read: its tables are of another run; run `daily`"
        in capsys.readouterr().err
    )
    evidence.unlink()
    assert main(asked) == 2
    assert "2026-11-21.json does not exist. `daily` writes it" in capsys.readouterr().err


def test_days_that_the_rollup_does_not_hold_are_named(rollup, capsys):
    """An answer over three days, of which the rollup holds one, must name the missing days."""
    asked = ("--rollup", str(rollup / "rollup"), "--date", "2026-11-21..2026-11-23")
    assert answer(capsys, "what-if", *asked)["missing_days"] == ["2026-11-22", "2026-11-23"]
    assert main(["what-if", *asked]) == 0
    assert "The rollup holds nothing of 2026-11-22 to 2026-11-23." in capsys.readouterr().out
    assert answer(capsys, "trend", *asked, "--days", "3")["missing_days"] == ["2026-11-22", "2026-11-23"]
    assert main(["trend", *asked, "--days", "4"]) == 0
    assert "The rollup holds nothing of 2026-11-22 to 2026-11-23." in capsys.readouterr().out


@pytest.mark.parametrize("command", ["what-if", "trend"])
def test_days_whose_log_is_incomplete_or_not_known_to_be_complete_are_named(
    rollup, command, tmp_path, capsys
):
    """In this log no process has a stop line. A rollup of an earlier release does not know it."""
    older, days = tmp_path / "older", "2026-11-20 to 2026-11-21"
    for name in ("producers", "drift"):
        shutil.copytree(rollup / "rollup" / name, older / name)
    states = [{"day": f"2026-11-{day}", "state": "incomplete"} for day in (20, 21)]
    for place, logs, said in (
        (rollup / "rollup", states, f"The log of {days} is incomplete: the numbers are a lower bound."),
        (older, [], f"does not say whether the log of {days} is complete"),
    ):
        asked = (command, "--rollup", str(place), "--date", "2026-11-20..2026-11-21")
        assert answer(capsys, *asked)["logs"] == logs
        assert main([*asked]) == 0
        assert said in capsys.readouterr().out
    assert main([command, "--rollup", str(older), "--date", "2020-01-01"]) == 1
    assert "(UTC): `daily` writes it" in capsys.readouterr().err


def test_a_day_that_is_made_again_without_records_keeps_none_of_its_old_ones(spark, tmp_path, capsys):
    """The first run read the wrong folder."""
    asked = ["--rollup", str(tmp_path / "rollup"), "--date", "2026-11-20"]
    beat = heartbeat(2)
    for number, lines in enumerate(([counters(1), beat], [beat])):
        path = write(tmp_path / str(number) / "decisions-20261120T000000Z-px.jsonl", *lines)
        made = ["--output", str(tmp_path / "out"), "--quiet", *asked]
        assert main(["daily", "--input", str(path), *made]) == 0
    kept = json.loads((tmp_path / "rollup" / "days" / "2026-11-20.json").read_text())
    assert (kept["records"], kept["is_compared"]) == (0, False)
    for name in ("producers", "drift"):
        assert not list((tmp_path / "rollup" / name).glob("event_date=*"))
    capsys.readouterr()
    assert main(["trend", *asked, "--days", "1"]) == 0  # a day without records is no missing day
    day, doubt = capsys.readouterr().out.splitlines()[1:]
    assert (day.split()[:3], "incomplete" in doubt) == (["2026-11-20", "0", "0"], True)
    assert main(["what-if", *asked]) == 1
    assert "holds no records with timestamps of 2026-11-20" in capsys.readouterr().err


def test_a_day_of_another_log_does_not_replace_the_one_that_the_rollup_holds(spark, tmp_path, capsys):
    """Two clusters, one folder. A log that holds all lines of the first, and more, is no other one. Nor is
    one in which all lines of a process came once more, with other contents, so that none can be used."""
    asked, later = ["--rollup", str(tmp_path / "rollup")], MIDNIGHT_MS + DAY_MS
    made = [*asked, "--output", str(tmp_path / "out"), "--quiet", "--date"]

    def run(path, days, *more):
        return main(["daily", "--input", str(path), *made, days, *more])

    def kept():
        found = answer(capsys, "trend", *asked, "--date", "2026-11-21", "--days", "2")["days"]
        return [row["records"] for row in found]

    for number, name in enumerate(("one", "two"), start=1):
        own = [line(0, boot=name), counters(1, boot=name, records=number),
               counters(2, later, boot=f"{name}-again", records=10 * number)]  # fmt: skip
        write(tmp_path / name / f"decisions-20261120T000000Z-{name}.jsonl", *own)
        write(tmp_path / "both" / f"decisions-20261120T000000Z-{name}.jsonl", *own)
    one, two = tmp_path / "one", tmp_path / "two"
    assert run(one, "2026-11-20..2026-11-21") == 0
    before = (tmp_path / "out" / "report.json").read_text()
    report = json.loads(before)
    assert (report["log"]["boots"], len(report["hours"])) == (2, 48)
    assert run(two, "2026-11-21") == 1  # a report of several days knows the log of each
    said = "counts for 2026-11-21, such as those of px/one-again; nothing was written"
    assert said in capsys.readouterr().err
    assert (tmp_path / "out" / "report.json").read_text() == before
    assert kept() == [1, 10]
    assert run(tmp_path / "both", "2026-11-20") == 0
    assert kept() == [3, 10]
    others = [line(0, boot="two", kind="start"), counters(1, boot="two", records=99)]
    write(tmp_path / "both" / "decisions-20261120T000000Z-again.jsonl", *others)
    assert run(tmp_path / "both", "2026-11-20") == 3
    assert kept() == [1, 10]
    assert run(two, "2026-11-20", "--replace") == 0
    assert kept() == [2, 10]


def test_the_second_days_report_names_new_clients_and_of_an_incomplete_log_no_recovered_one(rollup, capsys):
    report = report_of(rollup, DAYS[1])
    changes = {change["client_id"]: change["kind"] for change in report["trend"]["changes"]}
    assert changes == {"svc": "new"}
    assert report_of(rollup, DAYS[0])["trend"] is None
    found = answer(capsys, "trend", "--rollup", str(rollup / "rollup"), "--date", "2026-11-21")
    assert found["days"] == report["trend"]["days"]
    assert found["changes"] == report["trend"]["changes"]
    assert [day["rejected_records"] for day in found["days"]] == [20, 40]


def test_the_index_and_the_reports_link_to_each_other(rollup):
    page = Page((rollup / "reports" / "index.html").read_text())
    days = [link for link in page.links if link.endswith("/report.html")]
    assert days == [f"{day}/report.html" for day in reversed(DAYS)]
    others = {link for link in page.links if link not in days}
    services = f"teams/{teams.folder_of('Services')}/index.html"
    assert others == {services}
    assert all((rollup / "reports" / link).is_file() for link in page.links)
    assert "3.8% (40)" in page.words
    second = Page((rollup / "reports" / days[0]).read_text())
    assert {"../index.html", f"../{days[1]}"} <= set(second.links)


def test_the_days_of_each_team_are_kept_from_run_to_run(rollup):
    for team, rejected in (("Services", [0, 40]), (None, [20, 0])):
        latest = rollup / "reports" / "teams" / teams.folder_of(team) / "latest.json"
        latest = json.loads(latest.read_text())
        assert [each["rejected_records"] for each in latest["days"]] == rejected
        assert (latest["text"].count("To the owner of"), len(latest["rows"])) == (bool(rejected[1]),) * 2


def test_the_report_holds_the_curve(rollup):
    report = report_of(rollup, DAYS[0])
    past = {row["limit_ms"]: row["records"] for row in report["what_if"]["ahead"]}
    assert (past[HOUR_MS], past[2 * HOUR_MS], past[3 * HOUR_MS]) == (40, 0, 0)
    assert report["what_if"]["records"] == 1_060
