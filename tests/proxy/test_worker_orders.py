"""A worker says that it has heard an order. One whose orders crash drains, and its log says why."""

import asyncio

from structlog.testing import capture_logs

from tsproxy.proxy.workers.worker import _obey


class Slow:
    """A proxy whose report takes longer than the supervisor waits."""

    async def report(self):
        await asyncio.Event().wait()

    def close(self):
        pass


async def test_a_worker_says_that_it_has_heard_an_order_before_it_answers(channels):
    """A report may take long on a machine that is overloaded. No worker is killed for that."""
    supervisor, channel = channels
    supervisor.send({"order": "report", "id": 1})
    obeying = asyncio.create_task(_obey(channel, Slow()))
    async with asyncio.timeout(30):
        assert await anext(supervisor.lines()) == {"event": "heard"}
    obeying.cancel()
    await asyncio.gather(obeying, return_exceptions=True)


class NoMemory:
    """A proxy that has no memory for a report."""

    is_closed = False

    async def report(self):
        raise MemoryError

    def close(self):
        self.is_closed = True


async def test_orders_that_crash_are_logged_and_the_worker_drains(channels):
    supervisor, channel = channels
    proxy = NoMemory()
    supervisor.send({"order": "report", "id": 1})
    with capture_logs() as logged:
        async with asyncio.timeout(30):
            await _obey(channel, proxy)
    assert proxy.is_closed
    assert [(each["event"], each["error"]) for each in logged] == [("orders_crashed", "MemoryError")]
    assert logged[0]["frames"][-1].endswith("report")
