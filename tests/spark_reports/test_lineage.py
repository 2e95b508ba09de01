"""OpenLineage events of a night, by OpenLineage's own client."""

import json
import sys
from argparse import Namespace
from datetime import date

import pytest

from spark_reports.cli import main
from spark_reports.commands import lineage
from tests.spark_reports.logs import counters, heartbeat, line, write
from tests.spark_reports.packages import fetched

REAL = pytest.mark.full_only("fetches a package; the tests without it have its absence and all names")


@pytest.fixture
def client(monkeypatch, tmp_path):
    """OpenLineage's client can be imported, and writes to the file that is returned."""
    monkeypatch.syspath_prepend(str(fetched("openlineage-python", "1.54.0")))
    file = tmp_path / "events"
    config = f'transport: {{ type: file, log_file_path: "{file}", append: true }}\n'
    (tmp_path / "openlineage.yml").write_text(config)
    monkeypatch.setenv("OPENLINEAGE_CONFIG", str(tmp_path / "openlineage.yml"))
    return file


def night(folder, day="2026-11-20"):
    places = ("--input", str(folder / "in"), "--store", str(folder / "lake"))
    return main(["night", *places, "--date", day, "--quiet", "--lineage", "lake"])


def test_a_night_without_the_client_says_what_is_missing_before_it_begins(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "openlineage.client", None)
    (tmp_path / "in").mkdir()
    assert night(tmp_path) == 2
    assert "--lineage needs OpenLineage's client: pip install openlineage-python" in capsys.readouterr().err
    assert not (tmp_path / "lake").exists()


@pytest.mark.parametrize(
    ("place", "named"),
    [
        ("s3a://lake/tsproxy/{date}", ("s3://lake", "tsproxy")),
        ("s3a://lake", ("s3://lake", "/")),
        ("hdfs://name:8020/logs/px-*", ("hdfs://name:8020", "logs/px-")),
        ("file:///var/lib/tsproxy", ("file", "/var/lib/tsproxy")),
        ("/var/lib/tsproxy/{date:%Y}", ("file", "/var/lib/tsproxy")),
        ("lake.logs.lines", ("own", "lake.logs.lines")),
        ("s3a://KEY:se%2Fcret@lake/rollup", ("s3://lake", "rollup")),
        ("abfss://logs@lake.example/rollup", ("abfss://logs@lake.example", "rollup")),
    ],
)
def test_a_folder_has_the_name_that_other_tools_give_it(place, named):
    assert lineage.dataset(place, "own") == named


@REAL
def test_no_event_has_the_secret_of_an_address(client):
    place = "s3a://KEY:se%2Fcret@lake/in"
    options = Namespace(lineage="own", input=[place], table=None, rollup=place, output="out")
    lineage.of_night(options, date(2026, 11, 20))("FAIL", f"no file matches {place}")
    told = client.read_text()
    assert "no file matches s3a://lake/in" in told
    assert not any(part in told for part in ("KEY", "cret@"))


@REAL
@pytest.mark.spark
@pytest.mark.timeout(1_800)
def test_a_night_tells_its_beginning_and_its_end(spark, client, tmp_path):
    lines = [line(0, kind="start"), counters(1), heartbeat(2), line(3, kind="stop")]
    write(tmp_path / "in" / "decisions-20261120T000000Z-px.jsonl", *lines)
    assert night(tmp_path) == 0
    assert night(tmp_path, "2026-10-01") == 1
    began, ended, again, failed = map(json.loads, client.read_text().splitlines())
    kinds = [each["eventType"] for each in (began, ended, again, failed)]
    assert kinds == ["START", "COMPLETE", "START", "FAIL"]
    assert began["run"]["runId"] == ended["run"]["runId"] != again["run"]["runId"]
    assert (ended["job"]["namespace"], ended["job"]["name"]) == ("lake", "spark_reports.night")
    assert [each["name"] for each in ended["inputs"]] == [str(tmp_path / "in")]
    lake = tmp_path / "lake"
    assert [each["name"] for each in ended["outputs"]] == [
        str(lake / name) for name in ("lines", "rollup", "reports")
    ]
    nominal = ended["run"]["facets"]["nominalTime"]
    assert nominal["nominalStartTime"] == "2026-11-20T00:00:00Z"
    assert "2026-10-01" in failed["run"]["facets"]["errorMessage"]["message"]


@REAL
def test_a_server_that_is_not_there_is_a_line_on_standard_error(monkeypatch, client, tmp_path, capsys):
    config = "transport: { type: http, url: 'http://127.0.0.1:9', timeout: 1, retry: { total: 0 } }\n"
    (tmp_path / "openlineage.yml").write_text(config)
    options = {"lineage": "lake", "input": ["in"], "table": "t", "rollup": None, "output": "out"}
    tell = lineage.of_night(lineage.argparse.Namespace(**options), date(2026, 11, 20))
    tell("START", None)
    assert "spark_reports: the OpenLineage event START was not sent: " in capsys.readouterr().err
