"""`python -m benchmarks.crowd`: many clients over few connections. Every batch is two hours ahead.

Prints `ready` when all connections have been rejected once, waits for `go`, and prints one line of JSON.
Every answer must reject (code 32). Each connection has one request in flight; client ids take turns on it.
"""

import argparse
import asyncio
import itertools
import json
import struct
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from benchmarks.frames import TWO_HOURS_MS, Shape, opening_and_produce
from tsproxy.model.kafka import ErrorCode

SHAPE: Final = Shape(1_000, ahead_ms=TWO_HOURS_MS)
LONG_NAME_CHARS: Final = 300
"""The length of a new client id: longer than the longest name that the decision log writes."""
_SETTLE_S: Final = 20.0
_ANSWER_CODE_AT: Final = 4 + 1 + 1 + 1 + len(SHAPE.topic_names[0]) + 1 + 4
"""The offset of the error code in a ProduceResponse v11: after correlation id, tags, one topic by name, one
partition by index."""


def names(clients: int, part: int, parts: int) -> Iterator[str]:
    """Client ids for one of `parts` connections, without end. With 0 clients each id is new and long."""
    if clients:
        return itertools.cycle([f"client-{number:05d}" for number in range(part % clients, clients, parts)])
    return (f"{part}-{number}-".ljust(LONG_NAME_CHARS, "x") for number in itertools.count())


@dataclass(slots=True)
class Connection:
    """One connection of the crowd."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    names: Iterator[str]
    produce: tuple[bytes, bytes]
    """A Produce request in two parts: before the client id's length, and after the client id."""
    waits_s: list[float] = field(default_factory=list)

    @classmethod
    async def open(cls, port: int, names: Iterator[str]) -> "Connection":
        opening, produce = opening_and_produce(SHAPE, "")
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        made = cls(reader, writer, names, (produce[4:12], produce[14:]))
        for request in opening:
            writer.write(request)
            await made._answer()
        return made

    async def settle(self) -> None:
        """Sends until a batch is rejected: the proxy asks for a topic's limits at its first use."""
        deadline_s = time.monotonic() + _SETTLE_S
        while await self._sent() != ErrorCode.INVALID_TIMESTAMP:
            if time.monotonic() > deadline_s:
                raise SystemExit("nothing is rejected")
            await asyncio.sleep(0.05)

    async def send_until(self, end_s: float) -> None:
        while (begun_s := time.monotonic()) < end_s:
            if (code := await self._sent()) != ErrorCode.INVALID_TIMESTAMP:
                raise SystemExit(f"answered with code {code}")
            self.waits_s.append(time.monotonic() - begun_s)

    async def _sent(self) -> int:
        before, after = self.produce
        name = next(self.names).encode()
        request = before + struct.pack(">h", len(name)) + name + after
        self.writer.write(struct.pack(">i", len(request)) + request)
        answer = await self._answer()
        code: int = struct.unpack_from(">h", answer, _ANSWER_CODE_AT)[0]
        return code

    async def _answer(self) -> bytes:
        size = int.from_bytes(await self.reader.readexactly(4), "big")
        return await self.reader.readexactly(size)


async def crowd(port: int, connections: int, clients: int, seconds: float) -> None:
    made = [await Connection.open(port, names(clients, part, connections)) for part in range(connections)]
    await made[0].settle()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    begun_s = time.monotonic()
    await asyncio.gather(*(each.send_until(begun_s + seconds) for each in made))
    waits_ms = sorted(1000 * wait for each in made for wait in each.waits_s)
    facts = {
        "requests": len(waits_ms),
        "p99_ms": waits_ms[len(waits_ms) * 99 // 100],
        "longest_ms": waits_ms[-1],
    }
    print(json.dumps(facts), flush=True)
    await asyncio.to_thread(sys.stdin.readline)  # the caller measures the proxy before its clients disconnect


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crowd")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--connections", type=int, required=True)
    parser.add_argument("--clients", type=int, required=True, help="0: each request a new, long client id")
    parser.add_argument("--seconds", type=float, required=True)
    options = parser.parse_args()
    asyncio.run(crowd(options.port, options.connections, options.clients, options.seconds))


if __name__ == "__main__":
    main()
