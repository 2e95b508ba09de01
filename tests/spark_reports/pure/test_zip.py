"""The zip for spark-submit, where Python has pyspark and nothing else."""

import subprocess
import zipfile

import pyarrow

from deploy.spark import pyfiles
from tests.spark_reports import cluster, reports


def test_the_zip_holds_spark_reports_and_the_little_of_tsproxy_that_it_imports(tmp_path):
    """The same sources give the same bytes."""
    archive = pyfiles.make(tmp_path / "a.zip")
    names = zipfile.ZipFile(archive).namelist()
    assert {"spark_reports/cli.py", "spark_reports/render/report.css", "tsproxy/__init__.py"} <= {*names}
    assert not [n for n in names if n.startswith("tsproxy/") and n.split("/")[1] not in
                ("__init__.py", "decisions", "model")]  # fmt: skip
    assert archive.read_bytes() == pyfiles.make(tmp_path / "b.zip").read_bytes()


def test_a_gate_is_checked_and_a_page_made_from_the_zip_alone(tmp_path):
    archive, python = pyfiles.make(tmp_path / "a.zip"), cluster.bare_python(tmp_path)
    page = (
        "import json, sys; from spark_reports.render import html; html.render(json.load(open(sys.argv[1])))"
    )
    for command in (
        (cluster.MAIN, "gate", reports.FIXED, "--fail-on", "lost_lines>0"),
        ("-c", page, reports.FIXED),
    ):
        command = [python, *command]
        done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": str(archive)})
        assert (done.returncode, done.stderr) == (0, "")


def test_each_module_of_the_zip_finds_all_that_it_imports(tmp_path):
    """The log is read without pyarrow. test_schedules.py runs spark-submit."""
    archive = pyfiles.make(tmp_path / "a.zip")
    names = {n[:-3].replace("/", ".") for n in zipfile.ZipFile(archive).namelist() if n.endswith(".py")}
    names = {name.removesuffix(".__init__") for name in names if "__main__" not in name}
    of_doctor = {name for name in names if name.startswith("spark_reports.log")} | {
        "spark_reports.commands.doctor"
    }
    for number, (modules, more) in enumerate(((of_doctor, ()), (names, (pyarrow,)))):
        python = cluster.bare_python(tmp_path / str(number), *more)
        program = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"
        command = [python, "-c", program, *sorted(modules)]
        done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": str(archive)})
        assert (done.returncode, done.stderr) == (0, "")
