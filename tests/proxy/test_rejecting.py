"""A client that keeps sending batches that are rejected: each is answered, and few are logged one by one."""

import asyncio
import time

import pytest

from tests.proxy.loops import on_both_loops
from tests.proxy.wire import wire
from tests.proxy.world import until
from tests.session.conversation import DAY_MS, view_of
from tests.session.messages import produce
from tests.wire.batches import batch
from tsproxy.session.events import Throttled
from tsproxy.session.session import Session


@on_both_loops
async def test_each_is_answered_none_goes_on_and_all_are_counted():
    asked = produce({"t": {0: batch([time.time_ns() // 1_000_000 + DAY_MS] * 3)}}, version=9)
    async with wire() as the:
        the.views.renew(view_of())
        await the.client_sends(asked)
        size = int.from_bytes(first := await the.client_gets(4), "big")
        first += await the.client_gets(size)
        for _ in range(4):
            await the.client_sends(asked * 5)
            for _ in range(5):
                assert len(await the.client_gets(len(first))) == len(first)
        with pytest.raises(BlockingIOError):
            the.broker.recv(1)

        drained = the.relay.drain_totals()
        totals = [each for each in (*the.world.totals, *drained) if each.bad_records]
        assert totals, "most of them were counted together"
        assert len(the.world.outcomes) + sum(each.batches for each in totals) == 21
        assert (
            sum(each.bad_records for each in the.world.outcomes) + sum(each.bad_records for each in totals)
            == 3 * 21
        )


async def test_a_mistake_of_ours_while_the_fast_path_rejects_ends_that_connection_alone(monkeypatch):
    """The connection is closed while native code is in the middle of a read, and goes on after it."""
    asked = produce({"t": {0: batch([time.time_ns() // 1_000_000 + DAY_MS])}}, version=9)
    feed = Session.feed

    def crash(self, event, now_ms, monotonic_ms=None):
        if isinstance(event, Throttled):
            raise KeyError("ours")
        return feed(self, event, now_ms, monotonic_ms)

    async with wire() as the:
        the.views.renew(view_of())
        await the.client_sends(asked)
        await the.client_gets(4)
        monkeypatch.setattr(Session, "feed", crash)
        sending = asyncio.create_task(the.client_sends(asked * 2_000))
        await until(lambda: the.world.logged.of("session_crashed"))
        assert await the.broker_sees_end()
        sending.cancel()
