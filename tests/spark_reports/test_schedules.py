"""Each shipped schedule runs three nights with its real program, and the reports are those of all others.

The stores lie in different places, and the programs run at different times. On the second night a file of the
first day comes late. `make schedules` runs these tests alone; test_daily_store.py runs the nights in one
session.
"""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from spark_reports.cli import main
from tests.deploy.chart import MODES, render
from tests.deploy.go_tools import needs_tools
from tests.spark_reports import cluster, s3
from tests.spark_reports.airflow import RELEASES, Airflow
from tests.spark_reports.day import DAY_MS, FRIDAY, MIDNIGHT_MS, a_day
from tests.spark_reports.logs import text_of
from tests.spark_reports.machine import SYSTEMD, Machine, needs
from tests.spark_reports.schedules import of_kubernetes

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(3_600),
    pytest.mark.schedules,
]

DAYS = [FRIDAY + timedelta(days=number) for number in range(3)]
OWNERS = '[[owners]]\nteam = "Everybody"\nclient_ids = ["*"]\n'
OF_RUN = ("generated_ts",)
"""The key of report.json that says when it was made."""


def files_by_night():
    """The files that have come before each night, by name."""
    nights, late = [], None
    for number, day in enumerate(DAYS):
        come = {} if late is None else late
        for proxy, hours in (("px", range(9, 11)), ("qx", range(20, 21))):
            lines = a_day((proxy,), hours, (0, 30), start_ms=MIDNIGHT_MS + number * DAY_MS).lines
            own = [line | {"boot": f"{proxy}-{day}"} for line in lines]
            come[f"decisions-{day:%Y%m%d}T090000Z-{proxy}-b-0001.jsonl"] = text_of(own)
        if late is None:  # the second proxy's file of the first day
            late = {name: come.pop(name) for name in list(come) if "qx" in name}
        nights.append(come)
    return nights


FILES = files_by_night()


def comparable(texts):
    """The reports by day without what says when they were made."""
    return {
        day: {key: value for key, value in json.loads(text).items() if key not in OF_RUN}
        for day, text in texts.items()
    }


def reports_in(folder):
    return comparable({path.parent.name: path.read_text() for path in folder.glob("*/report.json")})


@pytest.fixture(scope="module")
def wanted(spark, tmp_path_factory):
    """The reports of nights in this process."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "owners.toml").write_text(OWNERS)
    for day, files in zip(DAYS, FILES, strict=True):
        deliver(folder / "tsproxy", files)
        asked = ["--input", str(folder / "tsproxy"), "--store", str(folder), "--date", str(day)]
        assert main(["daily", *asked, "--quiet"]) == 0
    found = reports_in(folder / "reports")
    assert len(found) == 3
    assert found[str(DAYS[0])]["owners"]["teams"]
    return found


def deliver(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def at(day, hour, minute, second):
    """A time in the night after a day."""
    return datetime(day.year, day.month, day.day, hour, minute, second, tzinfo=UTC) + timedelta(days=1)


@pytest.mark.parametrize(
    "scheduler",
    [
        pytest.param("systemd", marks=needs(SYSTEMD)),
        pytest.param("cron", marks=needs("cron")),
    ],
)
def test_a_machine_makes_the_same_reports_in_three_nights(scheduler, wanted, tmp_path):
    """The unit in its confinement, started by its timer; and the crontab, started by cron."""
    machine = Machine(tmp_path / "machine")
    (machine.store / "owners.toml").write_text(OWNERS)
    for day, files in zip(DAYS, FILES, strict=True):
        deliver(machine.decisions, files)
        status = (
            machine.by_systemd(at(day, 2, 5, 10))
            if scheduler == "systemd"
            else machine.by_cron(at(day, 2, 4, 55))
        )
        assert status == 0, machine.errors()
    assert reports_in(machine.reports) == wanted
    assert (machine.reports / "index.html").exists()
    assert (machine.reports / str(DAYS[-1]) / "report.prom").exists()


@pytest.fixture
def lake(tmp_path):
    """(the address of an S3 server, the folder of Spark's settings for it)."""
    settings = tmp_path / "conf"
    settings.mkdir()
    with s3.server(tmp_path) as url:
        s3.put(url, "lake/owners.toml", OWNERS.encode())
        common = {"spark.jars": s3.jars(), "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
        text = "".join(f"{name} {value}\n" for name, value in {**common, **s3.settings(url)}.items())
        (settings / "spark-defaults.conf").write_text(text)
        yield url, settings


def upload(url, files):
    for name, text in files.items():
        s3.put(url, f"lake/tsproxy/{name}", text.encode())


def reports_of(url):
    assert "reports/index.html" in s3.keys(url, "reports/")
    assert f"reports/{DAYS[-1]}/report.prom" in s3.keys(url, "reports/")
    return comparable({str(day): s3.get(url, f"lake/reports/{day}/report.json") for day in DAYS})


@pytest.mark.parametrize("release", RELEASES)
def test_airflow_makes_the_same_reports_in_three_nights(release, wanted, lake, tmp_path):
    """The DAG as it is shipped, but for the package that Spark has already. Rejections trip its gate."""
    url, settings = lake
    airflow = Airflow(
        release, tmp_path / "airflow", {'"org.apache.hadoop:hadoop-aws:3.5.0"': "None"}, settings
    )
    asked = airflow.asked()
    assert asked["errors"] == []
    assert asked["tasks"] == {"daily": [2, ["gate"]], "gate": [0, []]}
    assert asked["runs"][0] == ["2026-11-01", "2026-11-02 01:30"]  # `ds` is the day that is over
    airflow.begin()
    for day, files in zip(DAYS, FILES, strict=True):
        upload(url, files)
        done = airflow.run(day)
        assert "Error code is: 3." in done.stdout + done.stderr, (done.stdout + done.stderr)[-5000:]
    assert reports_of(url) == wanted


def test_the_spark_operators_application_makes_the_same_reports_in_three_nights(wanted, lake, tmp_path):
    """With spark-submit, as the operator calls it, and two workers. The night of a day is a night of today
    otherwise."""
    url, settings = lake
    own = dict(line.split(" ", 1) for line in (settings / "spark-defaults.conf").read_text().splitlines())
    [asked] = of_kubernetes()
    with cluster.standalone(tmp_path) as master:
        for day, files in zip(DAYS, FILES, strict=True):
            upload(url, files)
            folder = tmp_path / str(day)
            folder.mkdir()
            done = cluster.submit(folder, master, *asked, f"--date={day}", settings=own)
            assert done.returncode == 0, done.stderr[-3000:]
        assert cluster.ran_on(tmp_path) == {"work-0", "work-1"}
    assert reports_of(url) == wanted
    assert not [key for key in s3.keys(url) if key.endswith(".draft")]


@needs_tools
def test_the_charts_job_makes_the_same_reports_in_three_nights(wanted, tmp_path):
    """The command that Helm renders, with folders of this machine for its volumes. The image that it runs in:
    `tests/deploy/test_reports_image.py`."""
    objects = render(tmp_path, MODES["Deployment, one volume for all, reports"])
    [container] = [
        each["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]
        for each in objects
        if each["kind"] == "CronJob"
    ]
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "owners.toml").write_text(OWNERS)
    places = {"/var/lib/tsproxy": tmp_path, "/srv/reports": tmp_path / "store"}
    command = container["command"] + container["args"]
    for there, here in places.items():
        assert any(there in each for each in command)
        command = [each.replace(there, str(here)) for each in command]
    for day, files in zip(DAYS, FILES, strict=True):
        deliver(tmp_path / "decisions", files)
        program = [sys.executable, "-m", command[0], *command[1:]]
        done = subprocess.run([*program, f"--date={day}"], capture_output=True, text=True, check=False)
        assert done.returncode in (0, 3), done.stderr  # the gate of this mode
    assert reports_in(tmp_path / "store" / "reports") == wanted
