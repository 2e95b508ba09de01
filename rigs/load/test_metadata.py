"""Metadata of 100,000 topics: the proxy replaces the brokers' addresses, and everybody else is served."""

import asyncio
import struct
import time
from functools import cache

import pytest

from tests.proxy.loops import on_both_loops
from tests.proxy.test_memory import growth
from tests.proxy.wire import MIB, wire
from tests.proxy.world import World
from tests.session.conversation import view_of
from tests.session.messages import HEARTBEAT, METADATA, answer, request

TOPICS = 100_000
VERSION = 12
TIMES_ITS_SIZE = 6
"""So much memory, for the answer as it came and as it leaves."""
MOST_TURN_CPU_S = 0.1
"""CPU between two turns of the loop: nobody else is served meanwhile."""
ASKED = request(METADATA, VERSION, b"\x00\x01\x00\x00")
BESIDE, BESIDE_ANSWER = request(HEARTBEAT, 0), answer(HEARTBEAT, 0, bytes(2))


def unsigned(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def node(host, port):
    return struct.pack(">i", 1) + unsigned(len(host) + 1) + host + struct.pack(">i", port) + b"\x00\x00"


@cache
def metadata(host, port):
    """One broker, and topics of one partition with three replicas."""
    partition = struct.pack(">hiii", 0, 0, 1, 5) + (b"\x04" + struct.pack(">iii", 1, 2, 3)) * 2 + b"\x01\x00"
    after_name = b"\x00\x02" + partition + struct.pack(">i", -(2**31)) + b"\x00"
    topics = [
        b"\x00\x00" + unsigned(13) + b"topic-%06d" % n + n.to_bytes(16, "big") + after_name
        for n in range(TOPICS)
    ]
    head = bytes(4) + b"\x02" + node(host, port) + b"\x00" + struct.pack(">i", 1)
    return answer(METADATA, VERSION, head + unsigned(TOPICS + 1) + b"".join(topics) + b"\x00")


BROKER, PROXY = (b"broker", 9092), (b"proxy.example", 9193)


@pytest.fixture(scope="module", autouse=True)
def told():
    """Both answers are made before a test looks at CPU and memory, but not while tests are collected."""
    return metadata(*BROKER), metadata(*PROXY)


class Turns:
    """Inside `with`, the turns of the loop. `longest_cpu_s` is the most CPU between two of them."""

    def __enter__(self):
        self.longest_cpu_s, self._before_s = 0.0, time.process_time()
        self._next = asyncio.get_running_loop().call_soon(self._turn)
        return self

    def __exit__(self, *_):
        self._next.cancel()

    def _turn(self):
        now_s = time.process_time()
        self.longest_cpu_s, self._before_s = max(self.longest_cpu_s, now_s - self._before_s), now_s
        self._next = asyncio.get_running_loop().call_soon(self._turn)


async def carried(the):
    """The answer passes, and the client has it with the proxy's own address."""
    await the.client_sends(ASKED)
    await the.broker_gets(len(ASKED))
    sending = asyncio.create_task(the.broker_sends(metadata(*BROKER)))
    expected = metadata(*PROXY)
    assert await the.client_gets(len(expected)) == expected
    await sending


@on_both_loops
async def test_everybody_else_is_served_while_it_passes():
    mib = round(len(metadata(*BROKER)) / MIB, 1)
    world = World()
    async with wire(world, view_of()) as the, wire(world, view_of()) as other:
        carrying, served = asyncio.create_task(carried(the)), 0
        with Turns() as turns:
            while not carrying.done():
                await other.client_sends(BESIDE)
                await other.broker_gets(len(BESIDE))
                await other.broker_sends(BESIDE_ANSWER)
                assert await other.client_gets(len(BESIDE_ANSWER)) == BESIDE_ANSWER
                served += 1
            await carrying
    longest_s = turns.longest_cpu_s
    print({"mib": mib, "turn_cpu_s": round(longest_s, 3), "served_beside": served})
    assert 0 < longest_s <= MOST_TURN_CPU_S
    assert served > 1


@on_both_loops
async def test_it_takes_a_bounded_memory():
    async with wire(World(), view_of()) as the:
        with growth() as peak:
            await carried(the)
    size = len(metadata(*BROKER))
    print({"mib": round(size / MIB, 1), "times_its_size": round(peak[0] / size, 1)})
    assert peak[0] <= TIMES_ITS_SIZE * size
