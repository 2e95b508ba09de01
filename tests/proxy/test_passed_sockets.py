"""Sockets that a service manager keeps open: one proxy takes over from another, and no client is refused."""

import asyncio
import socket
from contextlib import ExitStack

import pytest

from tests.e2e.load import under_load
from tests.proxy.frames import request
from tests.proxy.pass_sockets import passing
from tests.proxy.running import HOST, TWO, one_process
from tests.proxy.world import PATIENCE_S, until
from tsproxy.testing.client_options import ClientOptions
from tsproxy.testing.ports import free_ports
from tsproxy.testing.proxy import ProxyError, RunningProxy

API_VERSIONS = 18


class Ports:
    """A bootstrap port, and the port of broker 1, held open as a service manager holds them."""

    def __init__(self, stack):
        self.bootstrap, self.broker, self.later = free_ports(3)
        self.sockets = [
            stack.enter_context(socket.create_server((HOST, port))) for port in (self.bootstrap, self.broker)
        ]

    def config(self, kafka, path):
        path.write_text(
            f"""\
upstream: {{ bootstrap_servers: ["{kafka.bootstrap_servers}"] }}
listeners:
  - {{ bind: "{HOST}:{self.bootstrap}", brokers: {{ ports_from: {self.broker}, first_id: 1, count: 2 }} }}
"""
        )
        return path


@pytest.fixture
def ports(monkeypatch):
    with ExitStack() as stack:
        ports = Ports(stack)
        passing(monkeypatch, ports.sockets)
        yield ports


class Callers:
    """New clients, all the time, at each port: what became of them. A proxy closes connections that it has
    accepted in its last moment and that no request has come on, as at any drain; they are not refused."""

    def __init__(self, ports):
        self.answered = 0
        self.refused = 0
        self._ports = ports

    async def call(self, over):
        async with asyncio.TaskGroup() as group:
            for port in (self._ports.bootstrap, self._ports.broker) * 2:
                group.create_task(self._call(port, over))

    async def _call(self, port, over):
        while not over.is_set():
            try:
                self.answered += await answered(port)
            except ConnectionRefusedError:
                self.refused += 1
            except (ConnectionResetError, BrokenPipeError, asyncio.IncompleteReadError):
                await asyncio.sleep(0.01)


async def answered(port):
    """Connects, asks for ApiVersions and returns True with the answer. Raises what the client meets."""
    async with asyncio.timeout(PATIENCE_S):
        reader, writer = await asyncio.open_connection(HOST, port)
        try:
            writer.write(request(1, 0, API_VERSIONS, 0))
            size = int.from_bytes(await reader.readexactly(4), "big")
            await reader.readexactly(size)
        finally:
            writer.close()
    return True


@one_process("one process takes over as workers do; test_workers.py has their starts and ends")
async def test_the_next_proxy_takes_over_under_load_and_refuses_nobody(
    kafka_440, topic, tmp_path, ports, arguments
):
    """It starts while the other one serves, and then the other one drains."""
    await kafka_440.create_topic(topic, partitions=3)
    config = ports.config(kafka_440, tmp_path / "tsproxy.yaml")
    callers, over = Callers(ports), asyncio.Event()
    options = ClientOptions(f"{HOST}:{ports.bootstrap}", "PLAINTEXT")

    async def next_proxy():
        return await RunningProxy(config=config, arguments=arguments).__aenter__()

    now = await next_proxy()
    try:
        calling = asyncio.create_task(callers.call(over))
        async with under_load(topic, options, librdkafka=1, java=0) as load:
            for _ in range(3):
                before, now = now, await next_proxy()
                await before.__aexit__(None, None, None)
                assert before.log[-1]["clients_cut"] == 0
                await load.goes_on(20)
                so_far = callers.answered
                await until(lambda so_far=so_far: callers.answered > so_far + 20)
        over.set()
        await calling
    finally:
        await now.__aexit__(None, None, None)
    await load.is_in_the_log_once(kafka_440)
    assert callers.refused == 0


async def test_a_client_that_comes_between_two_proxies_waits_and_is_served(kafka_440, tmp_path, ports):
    config = ports.config(kafka_440, tmp_path / "tsproxy.yaml")
    async with RunningProxy(config=config):
        assert await answered(ports.bootstrap)
    waiting = [asyncio.create_task(answered(port)) for port in (ports.bootstrap, ports.broker)]
    await asyncio.sleep(0)
    async with RunningProxy(config=config):
        assert await asyncio.gather(*waiting) == [True, True]


@pytest.mark.parametrize("arguments", [(), TWO], ids=["one process", "workers"])
async def test_a_socket_that_no_listener_uses_ends_the_start(
    kafka_440, tmp_path, monkeypatch, ports, arguments
):
    """Clients would wait in its queue for ever."""
    config = ports.config(kafka_440, tmp_path / "tsproxy.yaml")
    with socket.create_server((HOST, 0)) as other:
        passing(monkeypatch, [*ports.sockets, other])
        told = rf"no listener uses the socket that was passed for {HOST}:{other.getsockname()[1]}"
        with pytest.raises(ProxyError, match=told):
            await RunningProxy(config=config, arguments=arguments).__aenter__()


async def test_a_socket_that_does_not_listen_ends_the_start(kafka_440, tmp_path, monkeypatch, ports):
    config = ports.config(kafka_440, tmp_path / "tsproxy.yaml")
    with socket.socket() as bound:
        bound.bind((HOST, ports.later))
        passing(monkeypatch, [bound])
        with pytest.raises(ProxyError, match=r"descriptor 3 \(LISTEN_FDS\) is no listening TCP socket"):
            await RunningProxy(config=config).__aenter__()
