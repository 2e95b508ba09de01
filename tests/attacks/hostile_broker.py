"""A broker that speaks the protocol badly on purpose: `HostileBroker`.

It is an adversary, and imitates no broker. Its answers to clients and to the proxy itself are valid by
Kafka's schemas, or damaged in one of the ways of `DAMAGES`, by seed. The first answers to the proxy itself
may be honest, so that the proxy starts.
"""

import asyncio
import contextlib
import struct
from collections import Counter
from random import Random

from tests.attacks.any_message import HOSTS, body_of, is_flexible
from tests.wire.batches import unsigned
from tsproxy.wire.apis import APIS

API_VERSIONS, METADATA, DESCRIBE_CONFIGS = 18, 3, 32
OWN = b"tsproxy"
"""The client id of the proxy's own connections."""
LONG_HOST = b"h" * 32_000
MANY = 20_000
ENDLESS_BYTES = 16 << 20


def framed(correlation_id: int, body: bytes, *, with_tags: bool) -> bytes:
    payload = struct.pack(">i", correlation_id) + (b"\x00" if with_tags else b"") + body
    return struct.pack(">i", len(payload)) + payload


def honest_versions(version: int) -> bytes:
    """The body of ApiVersions: every API that the proxy knows."""
    offered = [struct.pack(">hhh", key, 0, api.max_version) for key, api in sorted(APIS.items())]
    if version >= 3:
        return b"\x00\x00" + unsigned(len(offered) + 1) + b"".join(o + b"\x00" for o in offered) + bytes(5)
    return struct.pack(">hi", 0, len(offered)) + b"".join(offered) + (bytes(4) if version else b"")


def metadata(version: int, brokers) -> bytes:
    """The body of Metadata 0 to 8 with these (node id, host, port), and one topic."""
    told = struct.pack(">i", 0) if version >= 3 else b""
    told += struct.pack(">i", len(brokers))
    for node_id, host, port in brokers:
        told += struct.pack(">ih", node_id, len(host)) + host + struct.pack(">i", port)
        told += struct.pack(">h", -1) if version >= 1 else b""
    told += struct.pack(">hs", 1, b"c") if version >= 2 else b""
    told += struct.pack(">i", 1) if version >= 1 else b""
    told += struct.pack(">ihh", 1, 0, 1) + b"t" + (b"\x00" if version >= 1 else b"")
    told += struct.pack(">ihii", 1, 0, 0, 1) + (struct.pack(">i", 0) if version >= 7 else b"")
    told += struct.pack(">iiii", 1, 1, 1, 1) + (struct.pack(">i", 0) if version >= 5 else b"")
    told += struct.pack(">ii", 0, 0) if version >= 8 else b""
    return told


class HostileBroker:
    """`honest` requests of the proxy itself are answered well, all others as the seed says."""

    def __init__(self, seed: int, *, honest: int = 40, honesty: float = 0.3) -> None:
        self.draws = Random(seed)
        self.port = 0
        self.did: Counter[str] = Counter()
        self.honest, self._honesty = honest, honesty
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "HostileBroker":
        first = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = first.sockets[0].getsockname()[1]
        self._servers = [first]
        for host in HOSTS[:2]:
            self._servers.append(await asyncio.start_server(self._serve, host.decode(), self.port))
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._converse(reader, writer)
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held = b""
        while True:
            size = int.from_bytes(await reader.readexactly(4), "big")
            request = await reader.readexactly(size)
            key, version, correlation_id, client_id_size = struct.unpack_from(">hhih", request)
            is_own = request[10 : 10 + max(0, client_id_size)] == OWN
            answer = self._answer(key, version, correlation_id, is_own=is_own)
            if is_own and self.honest > 0:
                self.honest -= 1
                self.did["honest"] += 1
            else:
                honesty = (
                    0.9 if is_own and key == API_VERSIONS else self._honesty
                )  # else it never gets further
                name = self.draws.choice(list(DAMAGES)) if self.draws.random() > honesty else "valid"
                self.did[f"{name}, own" if is_own else name] += 1
                if name == "silence":
                    continue
                if name == "out of order" and not held:
                    held = answer
                    continue
                answer = (
                    DAMAGES[name](self, answer, key, version, correlation_id, is_own)
                    if name != "valid"
                    else answer
                )
            if answer is None:
                return
            writer.write(answer + held)
            held = b""
            await writer.drain()
            if self.draws.random() < 0.03:
                return

    def _answer(self, key: int, version: int, correlation_id: int, *, is_own: bool) -> bytes:
        draws = self.draws
        if key == API_VERSIONS:
            return framed(correlation_id, honest_versions(version), with_tags=False)
        if key == METADATA and is_own and version <= 5:
            body = metadata(version, [(1, b"127.0.0.1", self.port), (2, HOSTS[0], self.port)])
        elif key == DESCRIBE_CONFIGS and is_own:
            body = struct.pack(">iihhbh", 0, 1, 0, -1, 2, 1) + b"t" + struct.pack(">i", 0)
        else:
            body = body_of(key, "response", version, draws, self.port)
        return framed(correlation_id, body, with_tags=is_flexible(key, "response", version))


def _random_bytes(broker, answer, *_):
    return broker.draws.randbytes(broker.draws.choice((3, 20, 500, 5_000)))


def _flipped(broker, answer, *_):
    data = bytearray(answer)
    for _ in range(broker.draws.choice((1, 1, 3, 20))):
        data[broker.draws.randrange(4, len(data))] = broker.draws.choice((0, 1, 0x7F, 0x80, 0xFF))
    return bytes(data)


def _cut(broker, answer, *_):
    """A shorter frame, whose size says so."""
    payload = answer[4 : broker.draws.randrange(4, len(answer))]
    return struct.pack(">i", len(payload)) + payload


def _more(broker, answer, *_):
    payload = answer[4:] + broker.draws.randbytes(broker.draws.choice((1, 8, 300)))
    return struct.pack(">i", len(payload)) + payload


def _wrong_correlation_id(broker, answer, *_):
    return answer[:4] + struct.pack(">i", broker.draws.choice((-1, 0, 7, 2**31 - 1))) + answer[8:]


def _announced(broker, answer, *_):
    size = broker.draws.choice((-1, -(2**31), 0, 1, 3, 2**31 - 1, 200 << 20, 70 << 20))
    return struct.pack(">i", size) + answer[4:]


def _twice(broker, answer, *_):
    return answer + answer


def _other_version(broker, answer, key, version, correlation_id, is_own):
    other = broker.draws.randint(0, APIS[key].max_version)
    body = body_of(key, "response", other, broker.draws, broker.port)
    return framed(correlation_id, body, with_tags=is_flexible(key, "response", version))


def _other_api(broker, answer, key, version, correlation_id, is_own):
    other = broker.draws.choice(list(APIS))
    body = body_of(other, "response", APIS[other].max_version, broker.draws, broker.port)
    return framed(correlation_id, body, with_tags=is_flexible(key, "response", version))


def _many(broker, answer, key, version, correlation_id, is_own):
    """Arrays that announce very much, in few bytes, or endless brokers."""
    if key == METADATA and version <= 8:
        brokers = [(node, HOSTS[node % 3], broker.port) for node in range(MANY)]
        return framed(correlation_id, metadata(version, brokers), with_tags=False)
    many = b"\x7f\xff\xff\xff" if not is_flexible(key, "response", version) else b"\xff\xff\xff\xff\x07"
    return framed(correlation_id, many * 20, with_tags=is_flexible(key, "response", version))


def _odd_hosts(broker, answer, key, version, correlation_id, is_own):
    if key != METADATA or version > 8:
        return answer
    draws = broker.draws
    hosts = (LONG_HOST, b"", b"a..b", b"\xff\xfe", b"::1", b"127.66.0.9", b"x\r\ny", b"\x00")
    ports = (-1, 0, 65_536, 2**31 - 1, broker.port)
    nodes = (-1, 1, 2, 3, 2**31 - 1, -(2**31))
    brokers = [(draws.choice(nodes), draws.choice(hosts), draws.choice(ports)) for _ in range(5)]
    return framed(correlation_id, metadata(version, brokers), with_tags=False)


def _endless(broker, answer, *_):
    return struct.pack(">i", 2**31 - 1) + answer[4:] + bytes(broker.draws.choice((1 << 20, ENDLESS_BYTES)))


DAMAGES = {
    "random bytes": _random_bytes,
    "flipped": _flipped,
    "cut": _cut,
    "more": _more,
    "wrong correlation id": _wrong_correlation_id,
    "announced": _announced,
    "twice": _twice,
    "other version": _other_version,
    "other api": _other_api,
    "many": _many,
    "odd hosts": _odd_hosts,
    "endless": _endless,
    "closes": lambda *_: None,
    "silence": None,
    "out of order": lambda broker, answer, *_: answer,
}
