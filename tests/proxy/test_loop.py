"""The loops that the proxy runs on."""

import asyncio
import socket
import threading

import pytest

from tests.proxy.loops import LOOPS
from tests.proxy.world import PATIENCE_S
from tsproxy.cluster.upstream import hosts_of
from tsproxy.model.addresses import Address
from tsproxy.proxy.loop import LOOK_UPS, run

CLIENTS = 3 * LOOK_UPS


@pytest.fixture
def asked(monkeypatch):
    """The names that the silent name servers were asked for."""
    names, is_over, ask = [], threading.Event(), socket.getaddrinfo

    def getaddrinfo(host, *arguments, **options):
        if not host.startswith("broker"):
            return ask(host, *arguments, **options)
        names.append(host)
        is_over.wait()
        raise socket.gaierror(socket.EAI_AGAIN, "no name")

    monkeypatch.setattr("socket.getaddrinfo", getaddrinfo)
    yield names
    is_over.set()


@pytest.mark.parametrize("loop_name", LOOPS)
def test_name_servers_that_are_silent_delay_neither_other_work_nor_the_end(loop_name, asked):
    """The last lines of the decision log are such work. A resolver tries these servers for up to a minute."""
    reached = []

    async def main():
        broker = Address("broker", 9092)
        looked_up = (hosts_of(broker, 0.01) for _ in range(CLIENTS))
        errors = await asyncio.gather(*looked_up, return_exceptions=True)
        assert {type(error) for error in errors} == {socket.gaierror}
        reached.append(await asyncio.to_thread(lambda: "another thread"))

    life = threading.Thread(target=run, args=(loop_name, main), daemon=True)
    life.start()
    life.join(PATIENCE_S)
    assert not life.is_alive()
    assert reached == ["another thread"]
    assert 0 < len(asked) <= LOOK_UPS  # nobody waits for the others any more
