"""Hostile clients of a life. They connect to the proxy itself, each from an address of its own.

They send forbidden records, garbage, and too much of everything. A record that no rule allows has a value
that ends as in `verdict.FORBIDDEN`. So one that is stored is found there.
"""

import asyncio
import contextlib
import random
import struct
import time
from collections import Counter

from rigs.chaos.producers import TEN_YEARS_MS
from rigs.chaos.verdict import FORBIDDEN
from tests.attacks.attacker import produce
from tests.authority.inputs import INPUTS
from tests.session.messages import API_VERSIONS, METADATA, request
from tests.wire.batches import CODECS, NONE, batch

PATIENCE_S = 2.0
"""An attacker that waits gives up after so long: the proxy is killed beside it."""
CROWD = 150
MAX_OF_AN_ADDRESS = 100
"""`limits.connections_per_address` of the proxy. A crowd is more than that."""
WORKERS = 2
FLOOD_OF_NAMES = 500
_ATTEMPTS = [each.attempt for each in INPUTS if each.attempt is not None]


class Attackers:
    """`count` of them. `run` attacks until `stop`."""

    def __init__(self, address, topic, count, seed, attacks):
        self.tried = Counter()
        """How often each attack was made."""
        self.most_served = 0
        """The most connections of one address that were served at once."""
        self._host, self._port = address
        self._topic = topic
        self._count, self._seed = count, seed
        self._attacks = attacks
        self._numbers = iter(range(1 << 30))
        self._stopping = asyncio.Event()

    def stop(self):
        self._stopping.set()

    async def run(self):
        await asyncio.gather(*(self._attack(n) for n in range(self._count)))

    async def _attack(self, number):
        chance, source = random.Random(f"{self._seed}-{number}"), f"127.0.1.{number + 1}"
        while not self._stopping.is_set():
            attack = chance.choice(self._attacks)
            # The proxy is killed, drains, or has had enough of this address.
            with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                await attack(self, source, chance)
                self.tried[attack.__name__] += 1
            await asyncio.sleep(chance.uniform(0, 0.1))

    @contextlib.asynccontextmanager
    async def _connected(self, source):
        opening = asyncio.open_connection(self._host, self._port, local_addr=(source, 0), limit=1 << 12)
        reader, writer = await asyncio.wait_for(opening, PATIENCE_S)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()

    async def _sent(self, source, data, rest_s=0.0):
        """Send, read nothing for so long, and leave without a word."""
        async with self._connected(source) as (_, writer):
            writer.write(data)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(writer.drain(), PATIENCE_S)
            await asyncio.sleep(rest_s)

    def _forbidden(self, chance):
        """A batch of records far ahead, under a header that may say otherwise."""
        codec, now_ms = chance.choice([NONE, *CODECS.values()]), int(time.time() * 1000)
        value = f"attack:{next(self._numbers)}{FORBIDDEN}".encode()
        said = {"max_timestamp": now_ms} if chance.random() < 0.5 else {}
        return batch([now_ms, now_ms + TEN_YEARS_MS], codec, value=value, **said)

    async def garbage(self, source, chance):
        await self._sent(source, chance.randbytes(chance.choice([10, 1_000, 100_000])))

    async def announced_and_not_sent(self, source, chance):
        whole = produce(self._topic.encode(), self._forbidden(chance))
        beginning = struct.pack(">i", 50_000_000) + whole[4:-10] + bytes(chance.choice([0, 1_000, 500_000]))
        await self._sent(source, beginning, chance.uniform(0, 2))

    async def forbidden_records(self, source, chance):
        async with self._connected(source) as (reader, writer):
            for n in range(chance.randrange(1, 20)):
                name = f"attacker-{chance.randrange(5)}".encode()
                acks = chance.choice([-1, -1, 1, 0])
                writer.write(
                    produce(
                        self._topic.encode(),
                        self._forbidden(chance),
                        client_id=name,
                        acks=acks,
                        correlation_id=n,
                    )
                )
            await asyncio.wait_for(reader.read(1 << 12), PATIENCE_S)

    async def names_without_end(self, source, chance):
        """Each request has another client id, and a topic that does not exist."""
        frames = (
            produce(
                f"invented-{next(self._numbers)}".encode(),
                self._forbidden(chance),
                client_id=chance.randbytes(60).hex().encode(),
            )
            for _ in range(FLOOD_OF_NAMES)
        )
        await self._sent(source, b"".join(frames))

    async def ids_without_end(self, source, chance):
        """Produce 13 with a thousand invented topic ids."""
        body = b"\x00" + struct.pack(">hi", -1, 1_000) + b"\xe9\x07"
        body += b"".join(chance.randbytes(16) + b"\x02" + bytes(4) + b"\x00\x00\x00" for _ in range(1_000))
        await self._sent(source, request(0, 13, body + b"\x00") * 3, 0.5)

    async def reads_nothing(self, source, chance):
        await self._sent(source, request(METADATA, 1, b"\xff\xff\xff\xff") * 500, chance.uniform(0, 2))

    async def crowd(self, source, chance):
        async with contextlib.AsyncExitStack() as stack:
            opening = (stack.enter_async_context(self._connected(source)) for _ in range(CROWD))
            opened = await asyncio.gather(*opening, return_exceptions=True)
            opened = [ends for ends in opened if not isinstance(ends, BaseException)]
            answered = await asyncio.gather(*(_is_served(*ends) for ends in opened))
            self.most_served = max(self.most_served, sum(answered))

    async def attempts_of_authority(self, source, chance):
        for step in chance.choice(_ATTEMPTS)(chance):
            await self._sent(source, step)


async def _is_served(reader, writer):
    """Whether the proxy answers. The system may have accepted a connection that the proxy closes unread."""
    writer.write(request(API_VERSIONS))
    with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
        return bool(await asyncio.wait_for(reader.readexactly(4), PATIENCE_S))
    return False


ATTACKS = [
    Attackers.garbage,
    Attackers.announced_and_not_sent,
    Attackers.forbidden_records,
    Attackers.names_without_end,
    Attackers.ids_without_end,
    Attackers.reads_nothing,
    Attackers.crowd,
    Attackers.attempts_of_authority,
]
