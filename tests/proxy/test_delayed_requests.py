"""A rejected request is delayed while its client should be muted, on whichever connection (KIP-219)."""

from dataclasses import replace

from tests.proxy.loops import on_both_loops
from tests.proxy.wire import PEER, is_reading, wire
from tests.proxy.world import World, until
from tests.session.conversation import HOUR_MS, view_of
from tests.session.messages import produce
from tests.wire.batches import batch
from tsproxy.clock import Clock
from tsproxy.session.throttle import FREE_MS

OTHER_CONNECTION = replace(PEER, client_port=4444)
"""Another connection of the same client."""
MAX_MS = 60_000


def throttled(throttle_ms):
    """A world in which the client has been throttled for so long."""
    world = World()
    world.throttle.rejected(OTHER_CONNECTION, int(FREE_MS) + throttle_ms, 0, Clock().now_ms(), MAX_MS)
    return world


def connection(world):
    """A new one of that client."""
    return wire(world, view_of(throttle_ms=MAX_MS))


def bad():
    return produce({"t": {0: batch([Clock().now_ms() + 2 * HOUR_MS])}}, correlation_id=1)


async def answered(the):
    """The correlation id of the answer that comes next."""
    size = int.from_bytes(await the.client_gets(4), "big")
    return int.from_bytes((await the.client_gets(size))[:4], "big")


@on_both_loops
async def test_a_new_connection_is_answered_when_the_mute_is_over():
    began_ms = Clock().now_ms()
    world = throttled(300)
    async with connection(world) as the:
        await the.client_sends(bad())
        assert await answered(the) == 1
        assert Clock().now_ms() - began_ms >= 299  # clocks of two kinds, each rounded
        assert world.metric("tsproxy_throttle_seconds_total") > 0
    assert [outcome.verdict for outcome in world.outcomes] == ["rejected"]


@on_both_loops
async def test_a_proxy_that_drains_still_gives_the_answer():
    async with connection(throttled(300)) as the:
        await the.client_sends(bad())
        await until(lambda: not is_reading(the.relay.client))
        the.relay.drain()
        assert await answered(the) == 1
        assert await the.client_sees_end()


@on_both_loops
async def test_a_connection_that_is_cut_off_meanwhile_is_over_at_once():
    world = throttled(MAX_MS)
    async with connection(world) as the:
        await the.client_sends(bad())
        await until(lambda: not is_reading(the.relay.client))
        the.relay.abort()
        await until(the.ended.is_set)
    assert [outcome.verdict for outcome in world.outcomes] == ["rejected"]
    assert "session_crashed" not in world.logged.events()


@on_both_loops
async def test_a_delayed_request_is_not_measured_as_slow():
    async with connection(world := throttled(100)) as the:
        the.relay.time_next()
        await the.client_sends(bad())
        assert await answered(the) == 1
        assert not [line for line in world.metrics.render().decode().splitlines() if 'api="Produce"' in line]
