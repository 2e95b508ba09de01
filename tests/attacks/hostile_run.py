"""A proxy between clients and a broker that speaks the protocol badly: the run, and what must hold of it.

The broker may answer anything, to clients and to the proxy itself. No client gets a broker's address from an
answer that is valid by Kafka's schemas, nothing in the proxy raises, it goes on serving its pages, and its
memory is bounded.
"""

import asyncio
import struct
import sys
import time
from dataclasses import dataclass, field
from random import Random

from tests.attacks.any_message import LEAK, body_of, is_flexible
from tests.attacks.attacker import HOST, port_of, resident_mib
from tests.attacks.hostile_broker import DAMAGES, HostileBroker
from tests.proxy.running import page
from tests.wire.schemas import Versions, messages
from tsproxy.testing.proxy import RunningProxy
from tsproxy.wire.apis import APIS

AT_ONCE = 20
PATIENCE_S = 0.3
"""A client leaves when it has heard nothing for so long."""
NAMING = (0, 1, 3, 3, 10, 32, 55, 60, 78, 79)
RAW_TOKENS = (17, 0)
"""After SaslHandshake v0, a broker sends tokens until the login is over. Nobody else can read them."""
MAX_MIB = 400.0


@dataclass
class Result:
    """`leaks`: what was asked and the bytes around an address. `wrong`: lines of the log that no broker may
    cause."""

    most_mib: float = 0.0
    leaks: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def any_request(draws: Random, correlation_id: int) -> bytes:
    """A request of any API and version that is valid by Kafka's schemas."""
    key = draws.choice((*NAMING, *APIS))
    known = Versions.of(messages()[key, "request"]["validVersions"])
    version = draws.choice(
        [v for v in range(APIS[key].max_version + 1) if v in known and (key, v) != RAW_TOKENS]
    )
    tags = b"\x00" if is_flexible(key, "request", version) else b""
    payload = struct.pack(">hhih", key, version, correlation_id, 3) + b"app" + tags
    payload += body_of(key, "request", version, draws)
    return struct.pack(">i", len(payload)) + payload


async def client(port: int, draws: Random, result: Result) -> None:
    """One connection: some requests, and all that comes back."""
    received = bytearray()
    requests = [any_request(draws, number) for number in range(draws.randint(1, 4))]
    try:
        reader, writer = await asyncio.open_connection(HOST, port)
    except ConnectionError:
        return
    try:
        writer.write(b"".join(requests))
        while True:
            async with asyncio.timeout(PATIENCE_S):
                data = await reader.read(1 << 18)
            if not data:
                break
            received += data
            del received[: -(1 << 20)]
    except (TimeoutError, ConnectionError):
        pass
    finally:
        writer.transport.abort()
    if LEAK in received:
        at = received.index(LEAK)
        result.leaks.append(
            f"{[each[4:8].hex() for each in requests]} {bytes(received[max(0, at - 60) : at + 60])!r}"
        )


async def run(seconds: float, seed: int, *, least: int = 0, is_valid: bool = False) -> Result:
    """One proxy, and rounds of clients for so long, and until the broker has given the least of answers.

    Damaged ones count, or with `is_valid` all: then every answer is valid by the schemas.
    """
    kinds = ("valid",) if is_valid else DAMAGES
    draws, result = Random(seed), Result()
    async with HostileBroker(seed, honest=sys.maxsize, honesty=1.0 if is_valid else 0.4) as broker:
        settings = {"upstream.admin.refresh": "1s", "limits.drain_timeout": "1s"}
        async with RunningProxy(broker.bootstrap_servers, settings=settings) as proxy:
            broker.honest = 0  # the proxy has started
            until_s = time.monotonic() + seconds
            while time.monotonic() < until_s or sum(broker.did[kind] for kind in kinds) < least:
                await asyncio.gather(*(client(port_of(proxy), draws, result) for _ in range(AT_ONCE)))
                status, _ = await page(proxy.admin_address, "/livez")
                assert status == 200
                result.most_mib = max(result.most_mib, resident_mib(proxy))
        for line in proxy.log:
            if line["level"] in ("error", "critical") and line["event"] not in EXPECTED:
                result.wrong.append(str(line))
    return result


EXPECTED = ("upstream_unreachable", "own_login_failed")
"""Errors in the log for which a broker is to blame."""
