"""The shipper of ship-the-log.md, run by a shell, with rclone and an S3 server."""

import os
import re
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

from tests.spark_reports import s3
from tests.spark_reports.logs import line, write

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "ship-the-log.md").read_text()


@pytest.mark.skipif(shutil.which("rclone") is None, reason="needs rclone: apt-get install rclone")
@pytest.mark.full_only("fetches an S3 server; test_inputs.py reads folders by day")
@pytest.mark.timeout(1_800)
def test_each_closed_file_arrives_once_in_the_folder_of_its_day(tmp_path):
    """A second run finds nothing new, and a file that is being written stays."""
    [script] = re.findall(r"^```sh\n(# ship-decisions.*?)^```$", PAGE, re.M | re.S)
    folder = tmp_path / "decisions"
    names = [f"decisions-202611{day}T1{hour}0000Z-px-1-b-0001.jsonl" for day in (20, 21) for hour in (0, 1)]
    names[0] += ".gz"
    for number, name in enumerate([*names, "decisions-20261121T130000Z-px-1-b-0002.jsonl.open"]):
        write(folder / name, line(number))
    (folder / ".salt").write_text("secret")
    with s3.server(tmp_path) as url:
        own = {"TYPE": "s3", "PROVIDER": "Other", "ENDPOINT": url, "REGION": "us-east-1",
               "ACCESS_KEY_ID": "any", "SECRET_ACCESS_KEY": "any"}  # fmt: skip
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        environment = kept | {f"RCLONE_CONFIG_LAKE_{name}": value for name, value in own.items()}
        script = textwrap.dedent(script).replace("/var/lib/tsproxy/decisions", str(folder))
        for _ in range(2):
            done = subprocess.run(
                ["sh", "-eu"], input=script, env=environment, capture_output=True, text=True
            )
            assert done.returncode == 0, done.stderr
            found = s3.keys(url, "tsproxy/")
        proxy = os.uname().nodename
        assert found == [f"tsproxy/2026-11-{name[16:18]}/{proxy}/{name}" for name in names]
        assert s3.get(url, f"lake/{found[1]}") == (folder / names[1]).read_bytes()
