"""The records that other limits would reject, in the commands and the report; `pure` has the arithmetic."""

import json
import os
import shutil
from pathlib import Path

import pytest

from spark_reports.cli import main
from spark_reports.commands import spark_run
from spark_reports.report import teams
from tests.spark_reports.day import DAY_MS, HOUR_MS, MIDNIGHT_MS
from tests.spark_reports.logs import counters, heartbeat, line, write
from tests.spark_reports.pure.test_html import Page
from tsproxy.decisions.drift import THRESHOLDS_MS, bucket

TRIES = 2 if os.environ.get("TSPROXY_TEST") == "full" else 1
"""Run `daily` as a scheduler does that tries again. test_compact.py shows that a day is replaced."""


OWNERS = Path(__file__).parent / "fixed" / "owners.toml"


@pytest.fixture(scope="module")
def rollup(spark, tmp_path_factory):
    """Two days: svc is 2 h ahead on both and rejected on the second; old sends 8 d late and recovers. On
    the first, some histograms are of another version."""
    folder = tmp_path_factory.mktemp("kept")
    ahead, behind = bucket(2 * HOUR_MS), bucket(-8 * DAY_MS)
    rejected = {"verdict": "rejected", "reason": "too_far_ahead", "error_code": 32}
    for number in range(2):
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
        day = ("20261120", "20261121")[number]
        write(folder / "in" / f"decisions-{day}T000000Z-px.jsonl", *lines)
        options = ["--date", f"{day[:4]}-{day[4:6]}-{day[6:]}", "--owners", str(OWNERS), "--quiet"]
        for _ in range(TRIES if number else 1):
            assert main(["daily", "--input", str(folder / "in"), "--store", str(folder),
                         "--output", str(folder), *options]) == 0  # fmt: skip
    return folder


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
    page = (rollup / "2026-11-20" / "report.html").read_text()
    said = "7 records are left out: the histograms of their lines are of another version of tsproxy"
    assert all(said in text for text in (capsys.readouterr().out, page))


def test_report_makes_the_report_of_daily_again_and_starts_no_spark(rollup, tmp_path, monkeypatch, capsys):
    """Not of a day of which a run was killed between its tables and its evidence."""
    monkeypatch.setattr(spark_run, "spark_session", None)
    shutil.copytree(rollup / "rollup", kept := tmp_path / "rollup")
    (tmp_path / "index.html").touch()
    asked = ["report", "--rollup", str(kept), "--owners", str(OWNERS), "--date", "2026-11-21"]
    asked += ["--output", str(tmp_path / "2026-11-21")]
    assert main(asked) == 0
    for name in ("json", "html"):
        page = f"2026-11-21/report.{name}"
        assert (tmp_path / page).read_text() == (rollup / page).read_text()
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
    """Two clusters, one folder. A log that holds all lines of the first, and more, is no other one."""
    asked, later = ["--rollup", str(tmp_path / "rollup")], MIDNIGHT_MS + DAY_MS
    made = [*asked, "--output", str(tmp_path / "out"), "--quiet", "--date"]

    def run(command, path, days, *more):
        return main([*command, "--input", str(path), *made, days, *more])

    def kept():
        found = answer(capsys, "trend", *asked, "--date", "2026-11-21", "--days", "2")["days"]
        return [row["records"] for row in found]

    for number, name in enumerate(("one", "two"), start=1):
        own = [line(0, boot=name), counters(1, boot=name, records=number),
               counters(2, later, boot=f"{name}-again", records=10 * number)]  # fmt: skip
        write(tmp_path / name / f"decisions-20261120T000000Z-{name}.jsonl", *own)
        write(tmp_path / "both" / f"decisions-20261120T000000Z-{name}.jsonl", *own)
    one, two = tmp_path / "one", tmp_path / "two"
    assert run(["daily"], one, "2026-11-20") == run(["daily"], one, "2026-11-21") == 0
    before = (tmp_path / "out" / "report.json").read_text()
    assert run(["daily"], two, "2026-11-20..2026-11-21") == 1
    said = "counts for 2026-11-20, such as those of px/one; nothing was written"
    assert said in capsys.readouterr().err
    assert run(["daily", "--store", str(tmp_path / "store")], two, "2026-11-20..2026-11-21") == 1
    assert (tmp_path / "out" / "report.json").read_text() == before
    assert not (tmp_path / "out" / "2026-11-20" / "report.json").exists()
    assert kept() == [1, 10]
    assert run(["daily"], tmp_path / "both", "2026-11-20..2026-11-21") == 0
    assert kept() == [3, 30]
    assert run(["daily"], one, "2026-11-21") == 1  # a report of several days knows the log of each
    assert run(["daily"], two, "2026-11-20", "--replace") == 0
    assert kept() == [2, 30]


def test_a_log_whose_lines_cannot_be_used_any_more_is_no_other_one(spark, tmp_path):
    """The only line of a process came once more, with other contents."""
    first = [line(0, boot="a"), counters(0, boot="b"), counters(1, boot="b")]
    asked = ["--rollup", str(tmp_path / "rollup"), "--date", "2026-11-20", "--quiet"]
    for lines in (first, [*first, line(0, boot="a", kind="start")]):
        path = write(tmp_path / "in" / "decisions-20261120T000000Z-px.jsonl", *lines)
        assert main(["daily", "--input", str(path), "--output", str(tmp_path / "out"), *asked]) == 0


def test_the_second_days_report_names_new_and_recovered_clients(rollup, capsys):
    report = json.loads((rollup / "2026-11-21" / "report.json").read_text())
    changes = {change["client_id"]: change["kind"] for change in report["trend"]["changes"]}
    assert changes == {"svc": "new", "old": "recovered"}
    assert json.loads((rollup / "2026-11-20" / "report.json").read_text())["trend"] is None
    found = answer(capsys, "trend", "--rollup", str(rollup / "rollup"), "--date", "2026-11-21")
    assert found["days"] == report["trend"]["days"]
    assert found["changes"] == report["trend"]["changes"]
    assert [day["rejected_records"] for day in found["days"]] == [20, 40]


def test_days_that_are_missing_or_incomplete_are_not_compared_and_are_no_noughts(rollup):
    """The log has no heartbeats, so both days are incomplete."""
    for name, records, rejected in (("2026-11-20", [1_067], [20]), ("2026-11-21", [1_067, 1_060], [20, 40])):
        found = json.loads((rollup / name / "report.json").read_text())["history"]
        known = found["days"][-len(records) :]
        assert [(day["records"], day["rejected_records"]) for day in known] == list(
            zip(records, rejected, strict=True)
        )
        assert {day["state"] for day in known} == {"incomplete"}
        missing = found["days"][: -len(records)]
        assert [(day["state"], day["records"]) for day in missing] == [("missing", None)] * (8 - len(records))
        assert (found["direction"], found["usual"]) == ("not_compared", None)
        assert found["sentence"] == (
            "Not compared with the days before. The day itself: incomplete; at least "
            f"{rejected[-1]} records rejected."
        )


def test_the_index_and_the_reports_link_to_each_other(rollup):
    page = Page((rollup / "index.html").read_text())
    days = [link for link in page.links if link.endswith("/report.html")]
    assert days == ["2026-11-21/report.html", "2026-11-20/report.html"]
    others = {link for link in page.links if link not in days}
    services = f"teams/{teams.folder_of('Services')}/index.html"
    assert others == {services}
    assert all((rollup / link.partition("#")[0]).is_file() for link in others)
    assert "3.8% (40)" in page.words
    assert {"../index.html", "../2026-11-20/report.html"} <= set(Page((rollup / days[0]).read_text()).links)


def test_all_rejected_clients_have_an_owner_or_are_counted_as_nobodys(rollup):
    found = json.loads((rollup / "2026-11-21" / "report.json").read_text())
    rows = [(each["team"], each["producers"], each["rejected_records"]) for each in found["owners"]["teams"]]
    assert rows == [("Services", 1, 40), (None, 0, 0)]
    assert (found["owners"]["producers_left_out"], found["producers"][0]["team"]) == (0, "Services")
    for team, rejected in (("Services", [0, 40]), (None, [20, 0])):
        latest = json.loads((rollup / "teams" / teams.folder_of(team) / "latest.json").read_text())
        assert [each["rejected_records"] for each in latest["days"]] == rejected
        assert (latest["text"].count("To the owner of"), len(latest["rows"])) == (bool(rejected[1]),) * 2


def test_the_report_holds_the_curve(rollup):
    report = json.loads((rollup / "2026-11-20" / "report.json").read_text())
    past = {row["limit_ms"]: row["records"] for row in report["what_if"]["ahead"]}
    assert (past[HOUR_MS], past[2 * HOUR_MS], past[3 * HOUR_MS]) == (40, 0, 0)
    assert report["what_if"]["records"] == 1_060
