"""Real Airflow, each release in an environment of its own, made once in the user's cache.

PyPI has no constraints files. The packages that go with a release are those that were the newest soon after
it, so `uv` installs as of a day.
"""

import fcntl
import json
import os
import subprocess
import sys
from datetime import date

from deploy.spark import pyfiles
from tests.kit.commands import CACHE
from tests.spark_reports.cluster import SPARK_HOME, pythons
from tests.spark_reports.schedules import FOLDER

RELEASES = {
    "2.10.5": "2025-03-15",
    "2.11.2": "2026-04-01",
    "3.0.6": "2025-09-20",
    "3.1.8": "2026-04-01",
    "3.3.2": "2026-11-23",
}
"""The last release of each version that the DAG names, and a day soon after it."""

_UV = "0.13.9"
_ASK = """
import json, sys
from airflow.timetables.base import TimeRestriction
try:
    from airflow.dag_processing.dagbag import DagBag
except ImportError:  # before Airflow 3.2
    from airflow.models.dagbag import DagBag
try:
    from airflow.serialization.encoders import coerce_to_core_timetable as of_scheduler
except ImportError:  # before Airflow 3.2
    of_scheduler = lambda timetable: timetable
bag = DagBag(sys.argv[1])
dag, runs, interval = bag.dags.get("tsproxy_reports"), [], None
for _ in range(3 if dag else 0):
    run = of_scheduler(dag.timetable).next_dagrun_info(
        last_automated_data_interval=interval, restriction=TimeRestriction(dag.start_date, None, True)
    )
    interval = run.data_interval
    runs.append([f"{interval.start:%Y-%m-%d}", f"{run.run_after:%Y-%m-%d %H:%M}"])
tasks = {task.task_id: [task.retries, sorted(task.downstream_task_ids)] for task in dag.tasks} if dag else {}
print("asked: " + json.dumps({"errors": list(bag.import_errors.values()), "tasks": tasks, "runs": runs}))
"""


def installed(release):
    """The folder of the programs of this release, with the provider that the DAG needs."""
    folder = CACHE / f"airflow-{release}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "airflow.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        uv = CACHE / f"uv-{_UV}"
        if not uv.is_dir():
            _pip("--target", str(uv), f"uv=={_UV}")
        if not (folder / "complete").exists():
            common = [str(uv / "bin" / "uv"), "--quiet"]
            subprocess.run([*common, "venv", "--clear", "--python", sys.executable, str(folder)], check=True)
            install = [*common, "pip", "install", "--python", str(folder / "bin" / "python")]
            wanted = [f"apache-airflow=={release}", "apache-airflow-providers-apache-spark"]
            subprocess.run([*install, "--exclude-newer", RELEASES[release], *wanted], check=True)
            (folder / "complete").touch()
    return folder / "bin"


def _pip(*options):
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, *options], check=True)


class Airflow:
    """A release with a home of its own, and the shipped DAG as somebody would install it.

    `edits`: what the operator changes in the file. `spark`: a folder with Spark's settings
    (`spark-defaults.conf`).
    """

    def __init__(self, release, home, edits, spark):
        self._bin = installed(release)
        self._dags = home / "dags"
        self._dags.mkdir(parents=True)
        text = (FOLDER / "airflow_dag.py").read_text()
        archive = pyfiles.make(home / "spark_reports-pyfiles.zip")
        places = {
            "/opt/tsproxy/main.py": FOLDER / "main.py",
            "/opt/tsproxy/spark_reports-pyfiles.zip": archive,
        }
        for there, own in {**places, **edits}.items():
            assert there in text
            text = text.replace(there, str(own))
        (self._dags / "airflow_dag.py").write_text(text)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        self._environment = kept | {
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self._dags),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
            "PATH": f"{SPARK_HOME / 'bin'}:{os.environ['PATH']}",
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_CONF_DIR": str(spark),
            "SPARK_LOCAL_IP": "127.0.0.1",
            **pythons(home),
        }

    def asked(self):
        """The DAG as Airflow reads it: its errors, its tasks, and (day, time) of its first runs."""
        printed = self._run("python", "-c", _ASK, str(self._dags)).stdout
        [answer] = [
            line.removeprefix("asked: ") for line in printed.splitlines() if line.startswith("asked: ")
        ]
        return json.loads(answer)

    def begin(self):
        """Make the database, and note the DAG in it."""
        self._run("airflow", "db", "migrate")
        self._run("airflow", "dags", "reserialize")

    def run(self, day: date):
        """Run the DAG once for the interval that begins on this day."""
        return self._run("airflow", "dags", "test", "tsproxy_reports", f"{day}T01:30:00+00:00", check=False)

    def _run(self, program, *arguments, check=True):
        command = [str(self._bin / program), *arguments]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0 or not check, (done.stdout + done.stderr)[-5000:]
        return done
