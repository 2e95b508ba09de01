"""A proxy needs so little that unit and container can deny all else: here is what it writes."""

import os
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from tests.full_only import variations
from tsproxy.testing.proxy import RunningProxy

pytestmark = pytest.mark.broker

WATCHER = """\
import os, sys

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGES = {"os.mkdir": 0, "os.rename": 1, "os.remove": 0, "os.link": 1, "os.symlink": 1, "os.truncate": 0}

def look(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        wanted = isinstance(path, (str, bytes)) and flags & WRITES
    else:
        wanted = event in CHANGES
        path = arguments[CHANGES[event]] if wanted else None
    if wanted:
        os.write(TOLD, os.fsencode(os.path.abspath(path)) + b"\\n")

TOLD = os.open(os.environ["WATCHED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
sys.addaudithook(look)
"""
"""A `sitecustomize` that tells which files a Python process changes, in all its processes."""


@pytest.mark.parametrize("workers", variations("one process writes no more than two", ["1", "2"], but=["2"]))
async def test_a_proxy_writes_to_its_decision_folder_alone(kafka_440, topic, tmp_path: Path, workers: str):
    """Under systemd all else is read-only (`ProtectSystem=strict`), in the container, too (`read_only`)."""
    (tmp_path / "sitecustomize.py").write_text(WATCHER)
    decisions, watched = tmp_path / "decisions", tmp_path / "watched"
    await kafka_440.create_topic(topic)
    environment = {
        "WATCHED": str(watched),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    async with (
        RunningProxy(
            kafka_440.bootstrap_servers,
            decisions=decisions,
            settings={"workers": workers},
            environment=environment,
        ) as proxy,
        AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer,
    ):
        await producer.send_and_wait(topic, b"value")
    written = {Path(line) for line in watched.read_text().splitlines()}
    assert any(path.parent == decisions for path in written)
    own = {path for path in written if path == decisions or decisions in path.parents}
    assert {path for path in written - own if path != Path(os.devnull)} == set()
