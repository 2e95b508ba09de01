"""The files for schedulers under deploy/spark parse, and their arguments are the command's own."""

import os
import runpy
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from unittest import mock

import pytest
import yaml

from spark_reports.cli import parser

DAY, DAY_BEFORE = "2026-11-20", "2026-11-19"
FOLDER = Path(__file__).parents[3] / "deploy" / "spark"


def of_airflow():
    """(the DAG's arguments, its tasks' arguments). The file runs with as much of Airflow as it needs."""
    given, tasks = {}, {}

    class Dag:
        def __init__(self, name, **options):
            given.update(options)

        def __enter__(self): ...
        def __exit__(self, *error): ...

    class Operator:
        def __init__(self, *, task_id, application_args, application, py_files, conn_id, **options):
            tasks[task_id] = list(map(filled_in, application_args))

        def __rshift__(self, after): ...

    def timetable(cron, *, timezone):
        return "the day between two runs", cron, timezone

    path = "airflow.providers.apache.spark.operators.spark_submit"
    names = [path.rsplit(".", n)[0] for n in range(5, -1, -1)]
    stand_ins = {name: ModuleType(name) for name in [*names, "airflow.sdk"]}
    stand_ins[path].SparkSubmitOperator, stand_ins["airflow.sdk"].DAG = Operator, Dag
    stand_ins["airflow.sdk"].CronDataIntervalTimetable = timetable
    with mock.patch.dict(sys.modules, stand_ins):
        runpy.run_path(str(FOLDER / "airflow_dag.py"))
    return given, tasks


def filled_in(text):
    """The values that Airflow inserts if the run's interval began on DAY."""
    text = text.replace("{{ ds }}", DAY).replace("{{ macros.ds_add(ds, -1) }}", DAY_BEFORE)
    assert "{" not in text
    return text


def of_cron():
    """The command of the single line, as cron gives it to the shell, and its user."""
    [line] = [each for each in (FOLDER / "reports.cron").read_text().splitlines() if each[:1].isdigit()]
    *_, user, command = line.split(maxsplit=6)
    return user, command.replace("\\%", "%")


def of_kubernetes():
    found = list(yaml.safe_load_all((FOLDER / "spark-application.yaml").read_text()))
    assert all(each["spec"]["template"]["mainApplicationFile"].endswith("/main.py") for each in found)
    return [each["spec"]["template"]["arguments"] for each in found]


@pytest.mark.parametrize("arguments", [*of_airflow()[1].values(), *of_kubernetes()], ids=" ".join)
def test_the_arguments_are_the_commands_own(arguments):
    assert parser().parse_args(arguments).run


def test_airflow_reports_on_the_day_that_is_over_and_again_on_the_one_before():
    """For a plain cron line Airflow 3 uses another timetable, in which `ds` is the day of the run itself."""
    given, tasks = of_airflow()
    assert given["schedule"][0] == "the day between two runs"
    assert {name: (each[0], each[each.index("--date") + 1]) for name, each in tasks.items()} == {
        "compact": ("compact", DAY),
        "daily_before": ("daily", DAY_BEFORE),
        "daily": ("daily", DAY),
    }


def test_cron_starts_a_command_that_the_parser_understands(tmp_path):
    """The arguments that a program gets if a shell runs the line."""
    program = tmp_path / "spark_reports"
    program.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    program.chmod(0o755)
    user, command = of_cron()
    path = os.pathsep.join((str(tmp_path), os.environ["PATH"]))
    yesterdays = [str((datetime.now(UTC) - timedelta(days=1)).date())]
    done = subprocess.run(
        ["sh", "-c", command], env={"PATH": path}, capture_output=True, text=True, check=True
    )
    yesterdays.append(str((datetime.now(UTC) - timedelta(days=1)).date()))
    options = parser().parse_args(done.stdout.splitlines())
    assert user == "tsproxy"
    assert options.output in [f"/srv/reports/{day}" for day in yesterdays]
