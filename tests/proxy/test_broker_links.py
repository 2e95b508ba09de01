"""One connection of the proxy's own to each broker."""

import asyncio
import contextlib

from tsproxy.cluster.admin_connection import RejectedError
from tsproxy.model.addresses import Address
from tsproxy.proxy.brokers.links import BrokerLink


async def test_a_login_that_was_rejected_is_not_repeated_as_fast_as_clients_come():
    """Brokers count logins that fail, and may lock the user out: 289 in 6 s were seen."""
    tried = []

    @contextlib.asynccontextmanager
    async def rejected(address, _on_end):
        tried.append(address)
        raise RejectedError(f"{address}: the password is wrong")
        yield

    link = BrokerLink(1, Address("kafka-1", 9092), rejected, lambda: None, lambda: None)
    running = asyncio.create_task(link.run())
    for _ in range(1_000):
        link.client_connected()
        await asyncio.sleep(0)
    running.cancel()
    assert len(tried) == 1
