"""What schedulers are given under deploy/spark: it parses, and its arguments are the command's own."""

import runpy
import shlex
import sys
from pathlib import Path
from types import ModuleType
from unittest import mock

import pytest
import yaml

from spark_reports.cli import parser

FOLDER = Path(__file__).parents[2] / "deploy" / "spark"


def of_airflow():
    """The tasks' arguments: the DAG is run with as much of Airflow as it needs, its templates filled in."""
    tasks = []

    class Dag:
        def __init__(self, name, **options): ...
        def __enter__(self): ...
        def __exit__(self, *error): ...

    class Operator:
        def __init__(self, *, task_id, application_args, application, py_files, conn_id):
            tasks.append([text.replace("{{ ds }}", "2026-11-20") for text in application_args])

        def __rshift__(self, after): ...

    path = "airflow.providers.apache.spark.operators.spark_submit"
    names = [path.rsplit(".", n)[0] for n in range(5, -1, -1)]
    stand_ins = {name: ModuleType(name) for name in [*names, "airflow.sdk"]}
    stand_ins[path].SparkSubmitOperator, stand_ins["airflow.sdk"].DAG = Operator, Dag
    with mock.patch.dict(sys.modules, stand_ins):
        runpy.run_path(str(FOLDER / "airflow_dag.py"))
    return tasks


def of_cron():
    [line] = [each for each in (FOLDER / "reports.cron").read_text().splitlines() if each[:1].isdigit()]
    words = shlex.split(line.replace("\\%", "%").replace("$(date -u -d yesterday +%F)", "2026-11-20"))
    assert words[5:7] == ["tsproxy", "spark_reports"]
    return [words[7:]]


def of_kubernetes():
    found = yaml.safe_load((FOLDER / "spark-application.yaml").read_text())
    assert found["spec"]["template"]["mainApplicationFile"].endswith("/main.py")
    return [found["spec"]["template"]["arguments"]]


@pytest.mark.parametrize("arguments", [*of_airflow(), *of_cron(), *of_kubernetes()], ids=" ".join)
def test_the_arguments_are_the_commands_own(arguments):
    assert parser().parse_args(arguments).run


def test_airflow_has_both_steps():
    assert [arguments[0] for arguments in of_airflow()] == ["compact", "daily"]
