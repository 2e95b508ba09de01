"""The outside of a proxy in a process of its own: its pages, its log, its workers."""

import asyncio
import socket
import struct
import subprocess
import sys
import urllib.error
import urllib.request
from http import HTTPStatus
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from tests.kit.client import connect
from tests.proxy.world import PATIENCE_S, until
from tests.session.messages import FETCH, request

HOST = "127.0.0.1"
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")
TWO = ("--workers", "2")
EITHER = pytest.mark.parametrize("arguments", [(), TWO], ids=["one process", "workers"])
"""The test runs twice: with one process, and with workers."""


def one_process(reason):
    """As EITHER, but `make test` runs the test with one process alone, for this reason."""
    workers = pytest.param(TWO, marks=pytest.mark.full_only(reason))
    return pytest.mark.parametrize("arguments", [(), workers], ids=["one process", "workers"])


EVERY_SECOND = {"decisions.interval": "1s"}
WAITING = 77
"""The correlation id of a Fetch that waits."""


def file_for(kafka, folder, listeners="{ bind: '127.0.0.1:0' }", more=""):
    """A configuration file for a proxy before these brokers. One that is there is replaced."""
    upstream = f"upstream: {{ bootstrap_servers: [{kafka.bootstrap_servers}] }}"
    return put(folder / "tsproxy.yaml", f"{upstream}\nlisteners: [{listeners}]\n{more}")


def put(file, text):
    """As a careful writer does: the new file is whole before it has the name."""
    beside = file.with_suffix(".new")
    beside.write_text(text)
    return beside.rename(file)


async def page(address, path, token=None):
    """Status and text of a page of the admin port."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    asked = urllib.request.Request(f"http://{address}{path}", headers=headers)

    def get():
        try:
            with urllib.request.urlopen(asked, timeout=PATIENCE_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    return await asyncio.to_thread(get)


async def until_page(proxy, path, status, text):
    """Waits until a page has that status and holds that text."""

    async def is_there():
        found = await page(proxy.admin_address, path)
        return found[0] == status and text in found[1]

    await until(is_there, f"{path} has {status} and {text!r}")


async def series(proxy, token=None):
    """Every series of the metrics page with its value. Raises OSError if there is no such page now."""
    status, text = await page(proxy.admin_address, "/metrics", token)
    if status != HTTPStatus.OK:
        raise ConnectionError(text)
    lines = [line.rpartition(" ") for line in text.splitlines() if line[0] != "#"]
    assert len({name for name, _, _ in lines}) == len(lines)
    return {name: float(value) for name, _, value in lines}


def faked_by(file):
    """The environment of a process whose clock is as far from the right one as this file says, if libfaketime
    is here. By default, waits of Python's threads for each other would take 0.4 s instead of 5 ms."""
    if not FAKETIME.exists():
        return {}
    faked = {"FAKETIME_TIMESTAMP_FILE": str(file), "LD_PRELOAD": str(FAKETIME), "FAKETIME_NO_CACHE": "1"}
    more = {"FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_FORCE_MONOTONIC_FIX": "0", "NO_FAKE_STAT": "1"}
    return faked | more


async def send(proxy, topic, value=b"x", **record):
    """One record, on connections of its own."""
    async with AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer:
        await producer.send_and_wait(topic, value, **record)


def events(proxy):
    return [line["event"] for line in proxy.log]


def limits_are_known(proxy, topic):
    """Until the proxy knows the topic's limits, the broker judges alone."""
    return any(line.get("kind") == "limits" and line.get("topic") == topic for line in proxy.decisions())


def pids(proxy):
    """Worker -> the process id of its newest life that lets clients in."""
    return {line["worker"]: line["pid"] for line in proxy.log if line["event"] == "worker_started"}


def rejects(address):
    """Whether nobody listens at `host:port`."""
    host, _, port = str(address).rpartition(":")
    try:
        socket.create_connection((host, int(port))).close()
    except ConnectionRefusedError:
        return True
    return False


async def waiting_consumer(proxy, topic, max_wait_ms):
    """A connection with a Fetch that the broker is holding; returns when the proxy has passed it on."""
    client = await connect(f"{HOST}:{proxy.facts['brokers']['default']['1']}")
    asked = _fetch(topic, max_wait_ms)
    await client.write(asked)

    async def has_passed():
        _, metrics = await page(proxy.admin_address, "/metrics")
        return f'tsproxy_bytes_total{{direction="from_client"}} {len(asked)}.0' in metrics

    await until(has_passed, "the request has passed")
    return client


async def is_answered(client):
    """Whether the next frame answers the Fetch of `waiting_consumer`."""
    async with asyncio.timeout(PATIENCE_S):
        return int.from_bytes((await client.read())[:4]) == WAITING


async def is_cut_off(client):
    """Whether the connection ends without an answer."""
    async with client, asyncio.timeout(PATIENCE_S):
        return await client.rest() == b""


def _fetch(topic, max_wait_ms):
    """A Fetch v4 request for a record that has not come yet."""
    name = topic.encode()
    body = struct.pack(">iiiib", -1, max_wait_ms, 1, 1 << 20, 0)
    body += struct.pack(f">ih{len(name)}siiqi", 1, len(name), name, 1, 0, 0, 1 << 20)
    return request(FETCH, 4, body, WAITING)


def command(*arguments, environment=None):
    """Runs `tsproxy …` to its end."""
    return subprocess.run(
        [sys.executable, "-m", "tsproxy", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=environment,
    )
