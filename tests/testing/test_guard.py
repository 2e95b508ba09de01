"""However the owner of a cluster goes, its brokers and its data go too."""

import asyncio
import json
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE

import pytest

from tests.full_only import variations
from tests.processes import is_alive
from tests.proxy.world import until
from tsproxy.testing.guard import start_guard
from tsproxy.testing.kafka_cluster import KafkaCluster

OWNER = """
import asyncio, json, sys
from tsproxy.testing.kafka_cluster import KafkaCluster

async def own():
    async with KafkaCluster() as kafka:
        node = kafka.node(1)
        print(json.dumps({"pid": node.pid, "folder": str(node.folder.parent)}), flush=True)
        await asyncio.Event().wait()

asyncio.run(own())
"""


def test_the_end_of_a_guard_is_the_end_of_its_group_and_its_folder(tmp_path):
    """Even of a process that asks to be spared, and would not miss the folder."""
    folder = tmp_path / "data"
    folder.mkdir()
    guard = start_guard(folder)
    stubborn = "trap '' TERM INT HUP; echo here; sleep 600"
    member = subprocess.Popen(["sh", "-c", stubborn], stdout=PIPE, process_group=guard.pid)
    assert member.stdout.readline() == b"here\n"
    guard.communicate()
    member.communicate()
    assert member.returncode == -signal.SIGKILL
    assert not folder.exists()


@pytest.mark.broker
@pytest.mark.parametrize(
    "how",
    variations("a signal that can be heard", [signal.SIGKILL, signal.SIGINT], but=[signal.SIGKILL]),
)
def test_brokers_end_with_a_process_that_is_killed(how):
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=PIPE, stderr=DEVNULL) as owner:
        left = json.loads(owner.stdout.readline())
        assert is_alive(left["pid"])
        owner.send_signal(how)
    asyncio.run(until(lambda: not is_alive(left["pid"]) and not Path(left["folder"]).exists()))


@pytest.mark.broker
async def test_brokers_end_with_a_start_that_is_cancelled():
    def is_started() -> bool:
        with suppress(KeyError):
            return kafka.node(1).is_started
        return False

    kafka = KafkaCluster()
    starting = asyncio.create_task(kafka.__aenter__())
    await until(is_started)
    pid = kafka.node(1).pid
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not is_alive(pid)
    assert not kafka.node(1).folder.parent.exists()
