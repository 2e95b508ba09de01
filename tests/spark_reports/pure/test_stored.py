"""A rollup is read by pyarrow: without Spark, never half of a day, and each mistake is a sentence."""

import json
import shutil
import subprocess
import sys
from datetime import timedelta

import pyarrow
import pytest
from pyarrow import parquet

from spark_reports.cli import main
from spark_reports.report import files, stored
from spark_reports.report.shape import to_json
from tests.spark_reports import reports
from tests.spark_reports.day import FRIDAY

OWN = {"client_id": "svc", "principal": None}
DRIFT = {**OWN, "topic": "orders"}


def write(rollup, records=40, name="part-0.parquet", day=FRIDAY, own=OWN):
    """The rollup of one client, 2 h ahead, as `daily` writes it: a folder for each day."""
    tables = {
        "producers": [{**own, "records": records, "rejected_records": records}],
        "drift": [
            {**own, "topic": "orders", "side": side, "bucket": 90, "batches": 4, "records": records}
            for side in ("ahead", "behind")
        ],
    }
    for table, rows in tables.items():
        path = rollup / table / f"event_date={day}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return rollup


def asked(command, rollup, *more):
    return [command, "--rollup", str(rollup), "--date", "2026-11-20", *more]


def records(rollup):
    return sum(stored.producers(str(rollup), FRIDAY, FRIDAY).rows["records"].to_pylist())


def test_trend_what_if_and_gate_run_where_there_is_neither_spark_nor_java(tmp_path):
    """Each started Java for the megabytes of a rollup: 15 to 40 seconds, also for a mistake in a path."""
    write(tmp_path)
    report = tmp_path / "report.json"
    report.write_text(to_json(reports.fixed()))
    commands = [
        asked("what-if", tmp_path, "--after", "1h"),
        asked("trend", tmp_path, "--days", "1"),
        asked("trend", tmp_path / "nowhere"),
        ["gate", report.as_uri(), "--fail-on", "lost_lines>1000000"],
    ]
    program = (
        "import sys; sys.modules |= dict.fromkeys(('pyspark', 'py4j')); "
        f"from spark_reports.cli import main; print([main(each) for each in {commands!r}])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr == (
        f"spark_reports: {tmp_path}/nowhere/producers does not exist. "
        "`daily` writes it, a day each time, to --rollup or to DIR/rollup of --store DIR\n"
    )
    assert "after 1 h: 40 (100%) records would be rejected" in done.stdout
    assert done.stdout.splitlines()[-1] == "[0, 0, 2, 0]"


def test_files_of_a_daily_at_work_are_not_read(tmp_path):
    write(tmp_path)
    """A folder within that of the day is of a `daily` that wrote the day at the same time as another one."""
    day = "event_date=2026-11-20"
    for name in (f".spark-staging-1/{day}/part-1.parquet", f"{day}/_part", f"{day}/{day}/part-1.parquet"):
        path = tmp_path / "producers" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"half a file")
    assert records(tmp_path) == 40
    assert stored.days_of(str(tmp_path), "producers", FRIDAY, FRIDAY) == {"2026-11-20"}


@pytest.mark.parametrize("replaced", [1, 9], ids=["once", "for-ever"])
def test_a_day_that_is_replaced_while_it_is_read_is_read_again(tmp_path, monkeypatch, capsys, replaced):
    """Spark deletes the files of a day, and then moves the new ones to their place."""
    listed, times = stored._files, [0]

    def then_replaced(system, root, first, last):
        found = listed(system, root, first, last)
        times[0] += 1
        if times[0] <= replaced:
            for path in (tmp_path / "producers" / "event_date=2026-11-20").iterdir():
                path.unlink()
            write(tmp_path, 70 + times[0], f"part-{times[0]}.parquet")
        return found

    write(tmp_path)
    monkeypatch.setattr(stored, "_files", then_replaced)
    if replaced == 1:
        assert records(tmp_path) == 71
    else:
        assert main(asked("trend", tmp_path)) == 1
        assert capsys.readouterr().err == f"spark_reports: {tmp_path}/producers is being written: ask again\n"


def test_a_damaged_file_is_named(tmp_path, capsys):
    path = write(tmp_path) / "producers" / "event_date=2026-11-20" / "part-0.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    assert main(asked("trend", tmp_path)) == 1
    stderr = capsys.readouterr().err
    assert stderr.startswith(f"spark_reports: {tmp_path}/producers cannot be read: ")
    assert str(path) in stderr
    assert stderr.count("\n") == 1


def test_a_name_is_a_name_also_if_it_is_null_or_odd(tmp_path, capsys):
    """Globs are Python's, and fit no client without an id."""
    write(tmp_path)
    rows = [
        {**DRIFT, "client_id": name, "side": side, "bucket": 1, "batches": 1, "records": 1}
        for name in ("a[b", None, "é")
        for side in ("ahead", "behind")
    ]
    path = tmp_path / "drift" / "event_date=2026-11-20" / "part-1.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    for glob, count in (("*", 42), ("a[[]*", 1), ("é", 1), ("svc", 40)):
        assert main(asked("what-if", tmp_path, "--client", glob, "--json")) == 0
        assert json.loads(capsys.readouterr().out)["records"] == count


def test_producers_beyond_top_are_counted_and_a_lower_bound_is_called_one(tmp_path, capsys):
    write(tmp_path, day=FRIDAY - timedelta(days=1), own={**OWN, "client_id": "other"})
    for number in range(3):
        write(tmp_path, 40 - number, f"part-{number}.parquet", own={**OWN, "client_id": f"svc-{number}"})
    for command in (("trend",), ("what-if", "--after", "1h")):
        assert main(asked(command[0], tmp_path, *command[1:], "--top", "1")) == 0
        *_, worst, last = capsys.readouterr().out.splitlines()
        assert "svc-0" in worst
        assert "at least" not in worst
        assert last == "And 2 more producers; --top N lists more."
    rows = [
        {**DRIFT, "side": side, "bucket": bucket, "batches": 10, "records": 100}
        for side, far in (("ahead", 90), ("behind", -90))
        for bucket in (far, 0)
    ]
    path = tmp_path / "drift" / "event_date=2026-11-20" / "part-3.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    assert main(asked("what-if", tmp_path, "--after", "1h", "--before", "1h", "--client", "svc")) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "          either: between 100 (50%) and 200 records",
        f"{'svc':>40}: at least 100 records",
    ]


def test_what_if_names_a_day_of_which_a_killed_run_left_no_drift(tmp_path, capsys):
    """The answer left the day out, and said nothing. A day without a record has no drift either."""
    for number in range(3):
        write(tmp_path, day=FRIDAY + timedelta(days=number))
    for day in ("2026-11-21", "2026-11-22"):
        shutil.rmtree(tmp_path / "drift" / f"event_date={day}")
    empty = {**reports.week()["2026-11-20"], "day": "2026-11-22", "records": 0}
    files.write(None, f"{tmp_path}/days", "2026-11-22.json", to_json(empty))
    period = [*asked("what-if", tmp_path)[:-1], "2026-11-20..2026-11-22"]
    assert main(period) == 0
    said = capsys.readouterr().out
    assert said.startswith("40 records with timestamps")
    assert "The rollup holds no records with timestamps of 2026-11-21.\n" in said
    assert main([*period, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["missing_days"] == ["2026-11-21"]


def test_a_question_may_be_about_one_team_and_names_applications(tmp_path, capsys):
    """A day on which a team sent nothing is no day that the rollup lacks. A producer has only recovered if
    the log of the day is whole."""
    for name in ("api-7kq9v", "api-2xk4b", "other"):
        rows = [{**OWN, "client_id": name, "records": 20, "rejected_records": 20}]
        path = tmp_path / "producers" / "event_date=2026-11-19" / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    write(tmp_path)
    good = pyarrow.Table.from_pylist([{**OWN, "client_id": "other", "records": 20, "rejected_records": 0}])
    parquet.write_table(good, tmp_path / "producers" / "event_date=2026-11-20" / "other.parquet")
    owners = tmp_path / "owners.toml"
    owned = {"A": ["api-*"], "B": ["svc"], "C": ["other"]}
    owners.write_text("\n".join(f'[[owners]]\nteam = "{name}"\nclient_ids = {owned[name]}' for name in owned))
    of_team = ("--owners", str(owners), "--json", "--team")
    counts = {"A": [(40, 1), (0, 0)], "B": [(0, 0), (40, 1)], "C": [(20, 1), (20, 0)]}
    for recovered in ([], ["recovered"]):
        changes = {"A": [], "B": ["new"], "C": recovered}
        for team, days in counts.items():
            assert main(asked("trend", tmp_path, "--days", "2", *of_team, team)) == 0
            found = json.loads(capsys.readouterr().out)
            assert [(day["records"], day["producers_affected"]) for day in found["days"]] == days
            assert found["missing_days"] == []
            assert [each["kind"] for each in found["changes"]] == changes[team]
        files.write(None, f"{tmp_path}/days", "2026-11-20.json", to_json(reports.week()["2026-11-20"]))
    assert main(asked("what-if", tmp_path, "--after", "1h", *of_team, "B")) == 0
    assert json.loads(capsys.readouterr().out)["records"] == 40
    assert main(asked("trend", tmp_path, "--team", "D", "--owners", str(owners))) == 2
    assert capsys.readouterr().err == "spark_reports: --team 'D': --owners has A, B, C\n"
