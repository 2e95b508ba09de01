"""The files for schedulers under deploy/spark parse, and their arguments are the command's own."""

import os
import subprocess
from datetime import UTC, datetime, timedelta

import pytest

from spark_reports import arguments
from spark_reports.cli import parser
from tests.spark_reports.schedules import AIRFLOW, of_airflow, of_cron, of_kubernetes

DAY = "2026-11-20"


@pytest.mark.parametrize(
    "asked", [*(asked for asked, _ in of_airflow()[1].values()), *of_kubernetes()], ids=" ".join
)
def test_the_arguments_are_the_commands_own(asked):
    assert parser().parse_args(asked).run


def test_airflow_runs_the_night_of_the_day_that_is_over_and_then_its_gates():
    """For a plain cron line Airflow 3 uses another timetable, in which `ds` is the day of the run itself."""
    given, tasks, edges = of_airflow(DAY)
    assert given["schedule"][0] == "the day between two runs"
    assert edges == [("night", "gate")]
    night, gate = (parser().parse_args(tasks[name][0]) for name in ("night", "gate"))
    assert [str(each) for each in night.date] == [DAY, DAY]
    assert gate.report == f"{night.output}/{DAY}"


@pytest.mark.parametrize("version", AIRFLOW)
def test_the_dag_is_the_same_in_each_version_of_airflow(version):
    """Airflow 2 has no `airflow.sdk`, and 3.0 and 3.1 lack the timetable there."""
    given, tasks, edges = of_airflow(DAY, version)
    newest, same_tasks, same_edges = of_airflow(DAY)
    assert given["schedule"] == newest["schedule"]
    assert (tasks, edges) == (same_tasks, same_edges)


def test_airflow_does_not_retry_a_gate_that_tripped_as_it_retries_a_crash():
    given, tasks, _ = of_airflow()
    assert given["default_args"]["retries"] > 0
    assert tasks["gate"][1]["retries"] == 0
    assert "--fail-on" in tasks["gate"][0]
    assert "--fail-on" not in tasks["night"][0]
    assert "--max-corrupt" not in tasks["night"][0]
    assert "retries" not in tasks["night"][1]


def test_a_task_of_airflow_ends_after_some_time_and_says_whose_it_is():
    given, _, _ = of_airflow()
    assert {"owner", "execution_timeout"} <= set(given["default_args"])
    assert given["tags"]


def test_cron_starts_a_command_that_the_parser_understands(tmp_path):
    """The arguments that a program gets if a shell runs the line. The day is yesterday."""
    program = tmp_path / "spark_reports"
    program.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    program.chmod(0o755)
    user, command = of_cron()
    path = os.pathsep.join((str(tmp_path), os.environ["PATH"]))
    done = subprocess.run(
        ["sh", "-c", command], env={"PATH": path}, capture_output=True, text=True, check=True
    )
    options = parser().parse_args(done.stdout.splitlines())
    assert user == "tsproxy"
    before = datetime.now(UTC).date()
    day, last = arguments.period_of(options)
    assert day == last
    assert day in {each - timedelta(days=1) for each in (before, datetime.now(UTC).date())}
