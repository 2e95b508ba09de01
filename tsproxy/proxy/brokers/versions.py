"""`BrokerVersions`: the versions of Produce that brokers support, for clients that never request them.

A session uses the versions in its own broker's answer to its client (ApiVersions). If the client never
requests them, the proxy only knows that a version which no broker supports closes the connection. So the
proxy queries each broker now and then.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Final

from tsproxy.cluster.admin_connection import ConversationError, connected
from tsproxy.config.settings import Config, Upstream
from tsproxy.log_events.catalogue import OFFERS_CRASHED
from tsproxy.model.addresses import Address
from tsproxy.proxy.notes import frames_of
from tsproxy.proxy.wait import wait_at_most
from tsproxy.tls.contexts import CurrentTls
from tsproxy.wire.k18_api_versions import Versions, produce_versions

POLL_INTERVAL_S: Final = 300.0
"""The interval of queries. Brokers are upgraded one at a time; until the next query a broker counts as
unchanged."""
RETRY_DELAY_S: Final = 30.0


class BrokerVersions:
    """Queries each broker. `on_versions` is called with the versions that any broker supports, and with None
    if the versions of one broker are unknown."""

    def __init__(
        self, upstream: Upstream, tls: CurrentTls | None, on_versions: Callable[[Versions | None], None]
    ) -> None:
        self._brokers: frozenset[Address] = frozenset()
        self._known: dict[Address, Versions] = {}
        self._on_versions = on_versions
        self._published: Versions | None = None
        self._tls = tls
        self._upstream = upstream
        self._wake = asyncio.Event()

    def set_brokers(self, brokers: Mapping[int, Address]) -> None:
        if (now := frozenset(brokers.values())) != self._brokers:
            self._brokers = now
            self._publish()
            self._wake.set()

    def apply(self, config: Config) -> None:
        self._upstream = config.upstream

    async def run(self) -> None:
        while True:
            self._wake.clear()
            try:
                for broker in sorted(self._brokers, key=str):
                    await self._query(broker)
                self._publish()
            except Exception as error:  # an error in our code: known versions stay, and the loop goes on
                OFFERS_CRASHED(error=type(error).__name__, frames=frames_of(error))
            is_known = self._brokers <= self._known.keys()
            await wait_at_most(POLL_INTERVAL_S if is_known else RETRY_DELAY_S, self._wake)

    async def _query(self, broker: Address) -> None:
        """Query one broker. Without an answer its versions are unknown."""
        self._known.pop(broker, None)
        with contextlib.suppress(ConversationError):
            tls = self._tls() if self._tls else None
            async with connected(broker, tls, self._upstream.sasl) as connection:
                if offers := await connection.offers():
                    self._known[broker] = produce_versions(offers)

    def _publish(self) -> None:
        known = [self._known[broker] for broker in self._brokers if broker in self._known]
        versions: Versions | None = None
        if known and len(known) == len(self._brokers):
            versions = min(oldest for oldest, _ in known), max(newest for _, newest in known)
        if versions != self._published:
            self._published = versions
            self._on_versions(versions)
