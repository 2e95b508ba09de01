"""A server in this process that answers each request by a script."""

import asyncio
import contextlib
import struct
from dataclasses import dataclass

from tests.session.messages import answer
from tsproxy.model.addresses import Address

HOST = "127.0.0.1"
HEADER = struct.Struct(">hhih")


@dataclass(frozen=True)
class Question:
    """The header of a request, and the number of its connection."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: bytes = b""
    connection: int = 0

    def answer(self, body):
        """A whole answer with this body."""
        return answer(self.api_key, self.api_version, body, self.correlation_id)


class ScriptedBroker:
    """`answers` has a function for each API, and `otherwise` is the one for all other APIs.

    It gets the `Question`, and returns the bytes that go to the client. None closes the connection. The end
    of an `async with` closes all connections.
    """

    def __init__(self, answers=None, otherwise=None, *, tls=None, hosts=(HOST,)):
        self.port = 0
        self._answers, self._otherwise = answers or {}, otherwise
        self._connections, self._servers, self._tasks = 0, [], set()
        self._hosts, self._tls = hosts, tls

    @property
    def address(self):
        return Address(HOST, self.port)

    @property
    def bootstrap_servers(self):
        return str(self.address)

    async def __aenter__(self):
        for host in self._hosts:
            server = await asyncio.start_server(self._serve, host, self.port, ssl=self._tls)
            self._servers.append(server)
            self.port = server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        for server in self._servers:
            server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader, writer):
        task, number = asyncio.current_task(), self._connections
        self._tasks.add(task)
        self._connections += 1
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while (told := self._answer_to(await _request(reader), number)) is not None:
                    writer.write(told)
                    await writer.drain()
        finally:
            self._tasks.discard(task)
            writer.close()

    def _answer_to(self, request, number):
        api_key, version, correlation_id, size = HEADER.unpack_from(request)
        client_id = request[HEADER.size : HEADER.size + max(0, size)]
        question = Question(api_key, version, correlation_id, client_id, number)
        return self._answers.get(api_key, self._otherwise)(question)


async def _request(reader):
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
