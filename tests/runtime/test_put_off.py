"""A refusal is put off while its client should be silent, whichever connection it comes on (KIP-219)."""

import contextlib
from dataclasses import dataclass, field, replace

from tests.runtime.loops import on_both_loops
from tests.runtime.surroundings import World, until
from tests.runtime.test_relay import Wire, is_reading
from tests.session.conversation import HOUR_MS, view_of
from tests.session.messages import produce
from tests.wire.batches import batch
from tsproxy.model.outcome import Peer
from tsproxy.runtime.clock import Clock
from tsproxy.session.throttle import FREE_MS, Throttle

CLIENT = Peer("default", "192.0.2.7", 4444)
"""At the address that `Wire` gives to all."""
MOST_MS = 60_000


@dataclass
class SilencedWorld(World):
    """Where the client has been told to be silent for `silence_ms`."""

    silence_ms: int = 0
    throttle: Throttle = field(default_factory=Throttle)

    def __post_init__(self):
        self.throttle.refused(CLIENT, int(FREE_MS) + self.silence_ms, 0, Clock().now_ms(), MOST_MS)

    @property
    def surroundings(self):
        return replace(super().surroundings, throttle=self.throttle)


@contextlib.asynccontextmanager
async def wire(world):
    """A new connection of that client."""
    made = Wire(world, view_of(throttle_ms=MOST_MS))
    await made.accept()
    await made.connect()
    try:
        yield made
    finally:
        made.relay.cut()
        for each in (made.client, made.broker):
            each.close()
        await until(made.ended.is_set)


def bad():
    return produce({"t": {0: batch([Clock().now_ms() + 2 * HOUR_MS])}}, correlation_id=1)


async def answered(the):
    """The correlation id of the answer that comes next."""
    size = int.from_bytes(await the.client_gets(4), "big")
    return int.from_bytes((await the.client_gets(size))[:4], "big")


@on_both_loops
async def test_a_new_connection_is_answered_when_the_silence_is_over():
    began_ms = Clock().now_ms()
    world = SilencedWorld(silence_ms=300)
    async with wire(world) as the:
        await the.client_sends(bad())
        assert await answered(the) == 1
        assert Clock().now_ms() - began_ms >= 299  # clocks of two kinds, each rounded
        assert world.metric("tsproxy_throttle_seconds_total") > 0
    assert [outcome.verdict for outcome in world.outcomes] == ["rejected"]


@on_both_loops
async def test_a_proxy_that_drains_still_gives_the_answer():
    async with wire(SilencedWorld(silence_ms=300)) as the:
        await the.client_sends(bad())
        await until(lambda: not is_reading(the.relay.client))
        the.relay.drain()
        assert await answered(the) == 1
        assert await the.client_sees_end()


@on_both_loops
async def test_a_connection_that_is_cut_off_meanwhile_is_over_at_once():
    world = SilencedWorld(silence_ms=MOST_MS)
    async with wire(world) as the:
        await the.client_sends(bad())
        await until(lambda: not is_reading(the.relay.client))
        the.relay.cut()
        await until(the.ended.is_set)
    assert [outcome.verdict for outcome in world.outcomes] == ["rejected"]
    assert "session_crashed" not in world.told.events()


@on_both_loops
async def test_what_is_kept_waiting_is_not_taken_for_slow():
    async with wire(world := SilencedWorld(silence_ms=100)) as the:
        the.relay.time_next()
        await the.client_sends(bad())
        assert await answered(the) == 1
        assert not [line for line in world.metrics.render().decode().splitlines() if 'api="Produce"' in line]
