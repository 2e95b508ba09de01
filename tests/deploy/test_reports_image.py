"""The image of the reports does the chart's job, as its user, with a root that nobody can write to."""

import json
import shutil
from pathlib import Path

import pytest

from tests.deploy.chart import MODES, PLAIN, job, render
from tests.deploy.go_tools import needs_tools
from tests.deploy.images import needs_root
from tests.deploy.pods import Container
from tests.deploy.test_chart import example_of
from tests.spark_reports import s3
from tests.spark_reports.logs import DAY, counters, heartbeat, line, text_of

pytestmark = [needs_tools, needs_root, pytest.mark.spark, pytest.mark.timeout(3_600)]

LOG = [line(0, kind="start"), counters(1), counters(2, client_id="late"), heartbeat(3)]
FILE = "decisions-20261120T000000Z-px-b-0001.jsonl"
KEYS = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_REGION": "us-east-1"}


def of_the_day(reports):
    """The values with the night of the log; the job itself does yesterday."""
    return reports | {"arguments": [f"--date={DAY}"]}


async def test_the_job_reads_the_proxies_volume_and_writes_to_its_own(reports_image, tmp_path):
    values = MODES["Deployment, one volume for all, reports"]
    objects = render(tmp_path, values | {"reports": of_the_day(values["reports"])})
    container = Container(reports_image, job(objects), tmp_path)
    log = container.volumes["decisions"] / "decisions" / FILE
    log.parent.mkdir()
    log.write_text(text_of(LOG))

    status, printed = await container.run()

    assert status == 0, printed
    made = container.volumes["reports"] / "reports" / DAY
    assert json.loads((made / "report.json").read_text())["totals"]["records_accepted"] == 20
    assert "<html" in (made / "report.html").read_text()
    uid = int(reports_image.config["User"].partition(":")[0])
    assert {each.stat().st_uid for each in made.rglob("*")} == {uid}


@pytest.fixture
def lake(tmp_path):
    """The address of an S3 server that has the log."""
    with s3.server(tmp_path) as url:
        s3.put(url, f"lake/tsproxy/{DAY}/px/{FILE}", text_of(LOG).encode())
        yield url


def with_jars(reports_image, folder, secret):
    """The job of the page's example, with the jars where the example mounts them."""
    example = example_of("Jars for the reports")
    folder.mkdir()
    objects = render(folder, PLAIN | {"reports": of_the_day(example["reports"])})
    container = Container(reports_image, job(objects), folder, made={"lake": secret})
    for jar in s3.jars().split(","):
        shutil.copy(jar, container.volumes["jars"] / Path(jar).name)
    return container


async def test_the_job_reads_and_writes_an_object_store_with_the_jars_that_the_page_mounts(
    reports_image, lake, tmp_path
):
    status, printed = await with_jars(
        reports_image, tmp_path / "job", KEYS | {"AWS_ENDPOINT_URL": lake}
    ).run()
    assert status == 0, printed
    report = json.loads(s3.get(lake, f"lake/reports/{DAY}/report.json"))
    assert report["totals"]["records_accepted"] == 20
    assert [key for key in s3.keys(lake, "lines/") if key.endswith(".parquet")]


async def test_a_job_without_credentials_says_so(reports_image, lake, tmp_path):
    secret = {"AWS_ENDPOINT_URL": lake, "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}
    status, printed = await with_jars(reports_image, tmp_path / "job", secret).run()
    assert status == 1, printed
    assert "redentials" in printed.splitlines()[-1]
