"""The files for schedulers under deploy/spark parse, and their arguments are the command's own."""

import pytest

from spark_reports.cli import parser
from tests.spark_reports.schedules import (
    commands,
    completed,
    of_airflow,
    of_cron,
    of_systemd,
    without_places,
)

DAY = "2026-11-20"


@pytest.mark.parametrize("schedule", commands())
def test_each_schedule_runs_the_same_command(schedule):
    """Index, owners, metrics and rollup are the command's own, so no schedule can forget one."""
    found = completed(commands()[schedule])
    assert without_places(found) == without_places(completed(["daily", "--input", "logs", "--store", "lake"]))
    assert "prom" in found["formats"]
    assert found["rollup"] == f"{found['store']}/rollup"


def test_a_place_that_is_named_is_that_place():
    found = completed(["daily", "--input", "logs", "--store", "lake", "--rollup", "own", "--output", "o"])
    assert (found["rollup"], found["output"]) == ("own", "o")


def test_airflow_runs_the_command_of_the_day_that_is_over_and_then_its_gates():
    """For a plain cron line Airflow 3 uses another timetable, in which `ds` is the day of the run itself."""
    given, tasks, edges = of_airflow(DAY)
    assert given["schedule"][0] == "the day between two runs"
    assert edges == [("daily", "gate")]
    asked = completed(tasks["daily"][0])
    gate = parser().parse_args(tasks["gate"][0])
    assert [str(each) for each in asked["date"]] == [DAY, DAY]
    assert gate.report == f"{asked['output']}/{DAY}"


def test_airflow_does_not_retry_a_gate_that_tripped_as_it_retries_a_crash():
    given, tasks, _ = of_airflow()
    assert given["default_args"]["retries"] > 0
    assert {"owner", "execution_timeout"} <= set(given["default_args"])
    assert tasks["gate"][1]["retries"] == 0
    assert "--fail-on" in tasks["gate"][0]
    assert "--fail-on" not in tasks["daily"][0]
    assert "retries" not in tasks["daily"][1]
    assert tasks["gate"][1]["trigger_rule"] == "all_done"


def test_the_timer_makes_up_for_a_machine_that_was_off_and_knows_its_time_zone():
    timer, _ = of_systemd()
    assert timer["Persistent"] == "true"
    assert timer["OnCalendar"].endswith(" UTC")


def test_the_unit_runs_what_operations_installs_and_writes_where_it_may():
    """The command once stood without its path, which cron does not know."""
    _, service = of_systemd()
    program = service["ExecStart"].split()[0]
    options = completed(commands()["systemd"])
    assert program == "/opt/tsproxy/bin/spark_reports"
    assert options["output"] == service["ReadWritePaths"]
    assert options["store"] == f"/var/lib/{service['StateDirectory']}"
    assert options["input"] == ["/var/lib/tsproxy/decisions"]


def test_cron_runs_the_command_of_the_unit():
    user, command = of_cron()
    _, service = of_systemd()
    assert command == service["ExecStart"].removesuffix(" $REPORT_OPTIONS")
    assert user == "root"  # the log is for its owner and the group tsproxy
