"""Reads the requests of clients on their way to the proxy: the versions that each client really uses.

The proxy advertises another address of this machine, and a relay listens there on the proxy's own ports. So
every client comes through the relay, whichever broker it goes to. Plain text only. A client is known by its
client id: each program uses the name of its family.
"""

import asyncio
from collections import defaultdict
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from tests.clients.two_ways import until_either_ends
from tsproxy.model.kafka import ApiKey
from tsproxy.wire.apis import APIS
from tsproxy.wire.headers import read_request_header
from tsproxy.wire.k18_api_versions import read_client_software

HOST = "127.0.0.2"
PROXY = "127.0.0.1"
_CHUNK_BYTES = 1 << 16
_SIZE_BYTES = 4


@dataclass
class Asked:
    """The requests of one client: API name -> versions. `software` is what it says of itself (KIP-511)."""

    versions: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    software: set[str] = field(default_factory=set)


class Capture:
    def __init__(self):
        self.by_client = defaultdict(Asked)

    @asynccontextmanager
    async def on(self, ports):
        """Relay these ports of the proxy until the block ends."""
        async with AsyncExitStack() as stack:
            for port in ports:
                server = await asyncio.start_server(self._relay_to(port), HOST, port)
                stack.callback(server.close)
            yield self

    def _relay_to(self, port):
        async def relay(reader, writer):
            try:
                to_proxy = await asyncio.open_connection(PROXY, port)
            except OSError:
                writer.close()
                return
            await _copy_both((reader, writer), to_proxy, Requests(self.by_client))

        return relay


async def _copy_both(client, proxy, requests):
    """Copy in both directions until either side ends its own; then both connections close."""
    (from_client, to_client), (from_proxy, to_proxy) = client, proxy
    try:
        await until_either_ends(
            _copy(from_client, to_proxy, requests.take),
            _copy(from_proxy, to_client, lambda _: None),
        )
    finally:
        to_client.close()
        to_proxy.close()


async def _copy(reader, writer, look):
    while data := await reader.read(_CHUNK_BYTES):
        look(data)
        writer.write(data)
        await writer.drain()


class Requests:
    """The requests of one connection, cut out of its bytes."""

    def __init__(self, by_client):
        self._by_client = by_client
        self._rest = b""

    def take(self, data):
        self._rest += data
        while len(self._rest) >= _SIZE_BYTES:
            end = _SIZE_BYTES + int.from_bytes(self._rest[:_SIZE_BYTES], "big")
            if len(self._rest) < end:
                return
            self._book(self._rest[_SIZE_BYTES:end])
            self._rest = self._rest[end:]

    def _book(self, payload):
        header = read_request_header(payload)
        asked = self._by_client[header.client_id]
        asked.versions[APIS[header.api_key].name].add(header.api_version)
        if header.api_key == ApiKey.API_VERSIONS:
            software = read_client_software(header.api_version, payload[header.body_start :])
            if software is not None:
                asked.software.add(software)
