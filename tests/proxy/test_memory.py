"""The memory of one connection is bounded: by configuration, and nothing for answers that nobody reads."""

import asyncio
import contextlib
import subprocess
import sys
import tracemalloc

import pytest

from tests.proxy.frames import answer, request
from tests.proxy.loops import on_both_loops
from tests.proxy.wire import MIB, is_reading, wire
from tests.proxy.world import World, until
from tests.session.conversation import NOW_MS, view_of
from tests.session.messages import FETCH, produce
from tests.wire.batches import batch
from tsproxy.model.verdict import TopicLimits
from tsproxy.proxy.connections.back_pressure import HIGH_WATER_BYTES
from tsproxy.proxy.pipe.buffers import MAX_READY, READ_BYTES, SPARE

CONNECTIONS = 12


@contextlib.asynccontextmanager
async def wires(world, view=None):
    async with contextlib.AsyncExitStack() as stack:
        yield [await stack.enter_async_context(wire(world, view)) for _ in range(CONNECTIONS)]


@contextlib.contextmanager
def growth():
    """The highest growth of Python's own memory within the block."""
    peak = []
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        yield peak
        peak.append(tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()


@on_both_loops
async def test_slow_consumers_of_large_fetch_answers_cost_no_memory():
    """However much is under way: a quarter of a gibibyte, here."""
    asked, told = request(1, 100, FETCH, 12), answer(1, 20 * MIB)
    async with wires(World()) as made:
        for each in made:
            await each.client_sends(asked)
            await each.broker_gets(len(asked))
        with growth() as peak:
            blasts = [asyncio.create_task(each.broker_sends(told)) for each in made]
            for each in made:
                await until(lambda relay=each.relay: not is_reading(relay.broker))
            held = [each.relay.held_bytes for each in made]

        assert not any(blast.done() for blast in blasts)
        assert max(held) <= HIGH_WATER_BYTES + READ_BYTES
        assert peak[0] <= CONNECTIONS * (HIGH_WATER_BYTES + READ_BYTES) + MIB
        for blast in blasts:
            blast.cancel()


@on_both_loops
@pytest.mark.parametrize("produce_frame", [MIB // 2, 3 * MIB])
async def test_what_a_connection_takes_before_a_stuck_broker_is_bounded_by_configuration(produce_frame):
    """Its clients send the largest requests they may, for as long as anybody takes them."""
    view = view_of(limits=TopicLimits(max_message_bytes=produce_frame), produce_frame=produce_frame)
    largest = produce({"t": {0: batch([NOW_MS], value=bytes(produce_frame - 200))}})
    sent = largest * 4
    async with wires(World(), view) as made:
        with growth() as peak:
            blasts = [asyncio.create_task(each.client_sends(sent)) for each in made]
            for each in made:
                await until(lambda relay=each.relay: not is_reading(relay.client))
            held = [each.relay.held_bytes for each in made]

        assert not any(blast.done() for blast in blasts)
        assert max(held) <= HIGH_WATER_BYTES + READ_BYTES + produce_frame
        ready = MAX_READY * READ_BYTES + SPARE.most_bytes
        assert peak[0] <= CONNECTIONS * (HIGH_WATER_BYTES + READ_BYTES + 2 * produce_frame) + ready
        for blast in blasts:
            blast.cancel()


FAULTS = """
import random, resource, sys
import lz4.frame
from tsproxy.proxy.startup import keep_freed_memory
from tsproxy.wire import one_shot

if sys.argv[1] == "kept":
    keep_freed_memory()
batch = lz4.frame.compress(random.Random(0).randbytes(40_000) * 25, block_linked=False)
read = lambda: one_shot.decompressed(3, batch, 1 << 20, 8 << 20)
assert len(read()) == len(read()) == 1_000_000
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    read()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("memory", "is_kept"), [("kept", True), ("given back", False)])
def test_a_batch_of_a_megabyte_costs_no_page_faults(memory, is_kept):
    """Fewer than a hundred in fifty batches may be Python's own."""
    told = subprocess.run([sys.executable, "-c", FAULTS, memory], capture_output=True, check=True, text=True)
    assert (int(told.stdout) < 100) == is_kept
