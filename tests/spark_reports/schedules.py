"""The files for schedulers under deploy/spark, read without the schedulers."""

import re
import runpy
import sys
from pathlib import Path
from types import ModuleType
from unittest import mock

import yaml

from spark_reports.cli import parser
from spark_reports.commands import day_by_day

FOLDER = Path(__file__).parents[2] / "deploy" / "spark"


def of_airflow(day="2026-11-20"):
    """(the DAG's arguments, its tasks: arguments of the command and options, edges between tasks), if the
    run's interval began on `day`. The file runs with as much of Airflow 3.2 as it needs."""
    given, tasks, edges = {}, {}, []

    class Dag:
        def __init__(self, name, **options):
            given.update(options)

        def __enter__(self): ...
        def __exit__(self, *error): ...

    class Operator:
        def __init__(self, *, task_id, application_args, application, py_files, conn_id, **options):
            self.task_id = task_id
            tasks[task_id] = [filled_in(each, day) for each in application_args], options

        def __rshift__(self, after):
            edges.append((self.task_id, after.task_id))

    def timetable(cron, *, timezone):
        return "the day between two runs", cron, timezone

    path = "airflow.providers.apache.spark.operators.spark_submit"
    names = [path.rsplit(".", n)[0] for n in range(5, -1, -1)]
    stand_ins = {name: ModuleType(name) for name in [*names, "airflow.sdk"]}
    stand_ins[path].SparkSubmitOperator = Operator
    vars(stand_ins["airflow.sdk"]).update(DAG=Dag, CronDataIntervalTimetable=timetable)
    with mock.patch.dict(sys.modules, stand_ins):
        runpy.run_path(str(FOLDER / "airflow_dag.py"))
    return given, tasks, edges


def filled_in(text, day):
    """The values that Airflow inserts."""
    text = text.replace("{{ ds }}", day)
    assert "{{" not in text
    return text


def of_cron():
    """The command of the single line, as cron gives it to the shell, and its user."""
    [line] = [each for each in (FOLDER / "reports.cron").read_text().splitlines() if each[:1].isdigit()]
    *_, user, command = line.split(maxsplit=6)
    return user, command.replace("\\%", "%")


def of_systemd():
    """(the settings of the timer, those of the service); of a repeated one the last."""
    return [
        dict(line.split("=", 1) for line in path.read_text().splitlines() if re.match(r"[A-Z]\w*=", line))
        for path in (FOLDER.parent / f"tsproxy-reports.{kind}" for kind in ("timer", "service"))
    ]


def commands():
    """The arguments of the command by its schedule. `tests/deploy/test_chart.py` has the chart's."""
    _, service = of_systemd()
    return {
        "systemd": service["ExecStart"].removesuffix(" $REPORT_OPTIONS").split()[1:],
        "cron": of_cron()[1].split()[1:],
        "airflow": of_airflow()[1]["daily"][0],
        "spark operator": of_kubernetes()[0],
    }


def completed(asked):
    """The options of a run, with the places that `--store` stands for."""
    options = parser().parse_args(asked)
    day_by_day.complete(options)
    return vars(options)


def without_places(options):
    """The options that must be the same in each schedule."""
    own = ("parser", "date", "quiet", "input", "store", "output", "table", "rollup")
    return {name: value for name, value in options.items() if name not in own}


def of_kubernetes():
    """The arguments of each application."""
    found = list(yaml.safe_load_all((FOLDER / "spark-application.yaml").read_text()))
    assert all(each["spec"]["template"]["mainApplicationFile"].endswith("/main.py") for each in found)
    return [each["spec"]["template"]["arguments"] for each in found]
