"""A client that keeps sending batches that are rejected: each is answered, and few are logged one by one."""

import asyncio
import time

from tests.proxy.wire import wire
from tests.proxy.world import until
from tests.session.conversation import DAY_MS, view_of
from tests.session.messages import produce
from tests.wire.batches import batch
from tsproxy.session.events import Throttled
from tsproxy.session.session import Session


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
