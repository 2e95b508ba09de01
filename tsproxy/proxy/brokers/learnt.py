"""What the proxy knows of the cluster without a connection of its own: `LearntCluster`.

Brokers are learnt from the answers that pass by (`want_node`), so the proxy needs no user and no
permission. It cannot know a topic's limits; the file says them. Whether brokers can be reached is found
out by connecting, without a request.

After a start nobody is known until the first client bootstraps. A client that goes straight to a broker's
port is rejected until then; Kafka's clients bootstrap again.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

import structlog

from tsproxy.cluster.admin_connection import AdminConnection
from tsproxy.cluster.upstream import Upstream, UpstreamError
from tsproxy.config.settings import Config
from tsproxy.config.settings import Upstream as Settings
from tsproxy.model.addresses import Address
from tsproxy.proxy.brokers.discovery import ClusterFacts
from tsproxy.proxy.reloadable import Commit
from tsproxy.proxy.trouble import Trouble
from tsproxy.tls.contexts import CurrentTls

log = structlog.get_logger()

AGAIN_S: Final = 1.0
"""How soon brokers that cannot be reached are tried again."""

MOST_BROKERS: Final = 10_000


class LearntCluster:
    """The same face as `Cluster`. `on_facts` is called at once, and with each broker that is learnt."""

    def __init__(
        self,
        upstream: Settings,
        tls: CurrentTls | None,
        on_facts: Callable[[ClusterFacts], None],
        on_reachable: Callable[[bool], None],
    ) -> None:
        self._connector = Upstream(tls)
        self._facts = ClusterFacts(needs_sasl=upstream.needs_sasl)
        self._on_facts = on_facts
        self._on_reachable = on_reachable
        self._upstream = upstream
        self._trouble = Trouble("upstream_unreachable", "upstream_reached", logs_changes=True)

    def prepare(self, config: Config) -> Commit:
        """A reload: other addresses to begin with."""

        def commit() -> None:
            self._upstream = config.upstream

        return commit

    def want_topic(self, topic: str) -> None:
        """Nobody can be asked."""

    def knows_topic(self, _topic: str) -> bool:
        return False

    def meet(self, _address: Address) -> None:
        """Nobody is asked for limits that it may have changed."""

    def connections(self) -> Mapping[int, AdminConnection]:
        return {}

    def stamped_topics(self) -> Sequence[str]:
        return ()

    def want_node(self, node_id: int, address: Address) -> None:
        """An answer named a broker that is not known, or that has moved."""
        known = self._facts.brokers
        if known.get(node_id) != address and (node_id in known or len(known) < MOST_BROKERS):
            brokers = {**self._facts.brokers, node_id: address}
            self._facts = replace(self._facts, brokers=MappingProxyType(brokers))
            # Not from within the session that has read the answer: it hears of it as all others do.
            asyncio.get_running_loop().call_soon(self._tell)

    async def run(self) -> None:
        """Let clients in, then see for ever whether brokers can be reached."""
        self._tell()
        while True:
            is_reachable = await self._is_reachable()
            self._on_reachable(is_reachable)
            await asyncio.sleep(self._upstream.refresh_ms / 1000 if is_reachable else AGAIN_S)

    def _tell(self) -> None:
        self._on_facts(self._facts)

    async def _is_reachable(self) -> bool:
        addresses = dict.fromkeys((*self._upstream.bootstrap_servers, *self._facts.brokers.values()))
        end = _End()
        try:
            await self._connector.connect(tuple(addresses), end)
        except UpstreamError as error:
            self._trouble.failed(error, advice="tried again for ever")
            return False
        end.close()
        self._trouble.over()
        return True


class _End(asyncio.Protocol):
    """Our end of a connection that nothing is sent on."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def close(self) -> None:
        self._transport.close()
