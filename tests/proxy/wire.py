"""A relay between two real sockets, whose other ends are the test's: nobody reads or writes by itself."""

import asyncio
import contextlib
import socket

from tests.proxy.world import PATIENCE_S, World, until
from tsproxy.model.outcome import Peer
from tsproxy.model.view import View
from tsproxy.proxy.connections.relay import Relay
from tsproxy.proxy.connections.views import Views

MIB = 1 << 20

PEER = Peer("default", "192.0.2.7", 5555)


class Wire:
    """A client's socket, a broker's socket, and a relay between them."""

    def __init__(self, world: World, view: View) -> None:
        self.world = world
        self.ended = asyncio.Event()
        self.views = Views(view)
        self.relay = Relay(PEER, self.views, world.surroundings, lambda _: self.ended.set())
        self.client, self._client_inside = socket.socketpair()
        self.broker, self._broker_inside = socket.socketpair()
        for each in (self.client, self._client_inside, self.broker, self._broker_inside):
            each.setblocking(False)

    async def accept(self):
        """The proxy takes the client's connection."""
        await _loop().connect_accepted_socket(lambda: self.relay.client, self._client_inside)

    async def connect(self):
        """The broker's connection is made."""
        await _loop().connect_accepted_socket(lambda: self.relay.broker, self._broker_inside)
        self.relay.upstream_connected()

    async def client_sends(self, data):
        await _loop().sock_sendall(self.client, data)

    async def broker_sends(self, data):
        await _loop().sock_sendall(self.broker, data)

    async def client_gets(self, size):
        return await _exactly(self.client, size)

    async def broker_gets(self, size):
        return await _exactly(self.broker, size)

    async def asks(self, data):
        """The client's bytes reach the broker as they are."""
        await self.client_sends(data)
        assert await self.broker_gets(len(data)) == data

    async def is_told(self, data):
        """The broker's bytes reach the client as they are."""
        await self.broker_sends(data)
        assert await self.client_gets(len(data)) == data

    async def client_gets_rest(self):
        """All up to the end of the connection."""
        return await _rest(self.client)

    async def client_sees_end(self):
        return await _rest(self.client) == b""

    async def broker_sees_end(self):
        return await _rest(self.broker) == b""


def _loop():
    return asyncio.get_running_loop()


async def _exactly(end, size):
    received = bytearray()
    async with asyncio.timeout(PATIENCE_S):
        while len(received) < size:
            data = await _loop().sock_recv(end, min(MIB, size - len(received)))
            assert data, f"the end after {len(received)} of {size} bytes"
            received += data
    return bytes(received)


async def _rest(end):
    received = bytearray()
    async with asyncio.timeout(PATIENCE_S):
        while data := await _loop().sock_recv(end, MIB):
            received += data
    return bytes(received)


@contextlib.asynccontextmanager
async def wire(world=None, view=None, *, accepted=True, connected=True, gate=None):
    """A `Wire` in that world, gone with all its sockets when the block ends. Then the jobs at the gate may
    go, so that nothing waits for them."""
    made = Wire(world or World(), view or View())
    if accepted:
        await made.accept()
    if accepted and connected:
        await made.connect()
    try:
        yield made
    finally:
        if gate is not None:
            gate.may_go.set()
        made.relay.abort()
        for each in (made.client, made.broker):
            each.close()
        await until(made.ended.is_set)


def is_reading(protocol):
    return protocol.transport.is_reading()


def unsent_bytes(protocol):
    return protocol.transport.get_write_buffer_size()
