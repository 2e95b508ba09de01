"""The plain brokers of a shared run (`sharing.py`): one of each version for all processes, not one for each.

The process that gives out the tests holds a lock in a folder. The first process whose test asks for a broker
starts this program, which owns the broker. The program ends, and the broker with it, when the lock is free:
the run has ended, or was killed.
"""

import asyncio
import fcntl
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.kafka_node import KafkaNode, Runtime
from tsproxy.testing.server_properties import NodePorts

KEY = "shared_brokers"
"""The name of the folder's path in what a process is told (`workerinput`)."""
_ROOT = Path(__file__).parents[1]
_RUN = "run.lock"
_POLL_S = 0.05
_owners: list["subprocess.Popen[bytes]"] = []
"""Kept, since Python warns of a process that is forgotten while it runs."""


NEVER_KILLED = {"broker.session.timeout.ms": "600000"}
"""A broker that no test kills has no short session, which would end while its process waits for a core:
without a leader a partition answers 6 where its limits would answer 32."""


class Attached(KafkaCluster):
    """A cluster of one broker that another process owns: a test can use it, but not stop it."""

    def __init__(self, version: str, told: Mapping[str, Any]) -> None:
        super().__init__(version)
        ports, folder = NodePorts(*told["ports"]), Path(told["folder"])
        self._nodes = {1: _AttachedNode(1, ports, folder, Runtime(Path(), "", 0))}

    async def __aenter__(self) -> "Attached":
        return self


class _AttachedNode(KafkaNode):
    @property
    def is_started(self) -> bool:
        return True


@contextmanager
def folder_of_a_run() -> Iterator[Path]:
    """The folder for `attached`. The brokers that were started for it end with the block."""
    with TemporaryDirectory(prefix="tsproxy-shared-") as name, _locked(Path(name, _RUN), fcntl.LOCK_EX):
        yield Path(name)


def attached(config: pytest.Config, version: str) -> Attached | None:
    """The run's broker of this version; None if one process runs all tests."""
    told: Mapping[str, str] = getattr(config, "workerinput", {})
    if KEY not in told:
        return None
    folder = Path(told[KEY])
    found = folder / f"{version}.json"
    with _locked(folder / f"{version}.lock", fcntl.LOCK_EX):
        if not found.exists():
            _start(version, found)
    return Attached(version, json.loads(found.read_text()))


def _start(version: str, found: Path) -> None:
    log = found.with_suffix(".log")
    with log.open("wb") as written:
        owner = subprocess.Popen(
            [sys.executable, "-m", "tests.shared_brokers", version, str(found)],
            cwd=_ROOT,
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=written,
            start_new_session=True,  # Ctrl-C must not end the broker before the tests that use it
        )
    _owners.append(owner)
    while not found.exists():
        if owner.poll() is not None:
            raise RuntimeError(f"the shared broker {version} did not start:\n{log.read_text()}")
        time.sleep(_POLL_S)


@contextmanager
def _locked(path: Path, kind: int) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, kind)
        yield


def _wait_until_the_run_ends(folder: Path) -> None:
    with _locked(folder / _RUN, fcntl.LOCK_SH):
        pass


async def _own(version: str, found: Path) -> None:
    async with KafkaCluster(version, properties=NEVER_KILLED) as kafka:
        node = kafka.node(1)
        ports = (node.port, node.internal_port, node.controller_port)
        unfinished = found.with_suffix(".part")
        unfinished.write_text(json.dumps({"ports": ports, "folder": str(node.folder)}))
        unfinished.rename(found)
        await asyncio.to_thread(_wait_until_the_run_ends, found.parent)


if __name__ == "__main__":
    asyncio.run(_own(sys.argv[1], Path(sys.argv[2])))
