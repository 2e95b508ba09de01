"""`LearntCluster`: the facts about the cluster that need no login of the proxy's own.

It learns brokers from the answers that the proxy forwards (`want_node`), so the proxy needs no user and no
permission. It cannot read a topic's limits; the configuration file holds the limits. It connects to brokers
without a request to check whether they are reachable.

After a start no broker is known until the first client bootstraps. Until then a client that connects directly
to a broker's port is rejected. Kafka's clients then bootstrap again.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from tsproxy.cluster.admin_connection import MOST_BROKERS, AdminConnection, may_be_broker
from tsproxy.cluster.upstream import Upstream, UpstreamError
from tsproxy.config.settings import Config
from tsproxy.config.settings import Upstream as Settings
from tsproxy.log_events.catalogue import UPSTREAM_REACHED, UPSTREAM_UNREACHABLE
from tsproxy.model.addresses import Address
from tsproxy.model.produce import TopicKey
from tsproxy.proxy.brokers.facts import ClusterFacts
from tsproxy.proxy.trouble import Trouble
from tsproxy.tls.contexts import CurrentTls

AGAIN_S: Final = 1.0
"""How long to wait before unreachable brokers are tried again."""


class LearntCluster:
    """Has the same interface as `Cluster`. `on_facts` is called at once, and for each broker that is
    learnt."""

    def __init__(
        self,
        upstream: Settings,
        tls: CurrentTls | None,
        on_facts: Callable[[ClusterFacts], None],
        on_reachable: Callable[[str | None], None],
    ) -> None:
        self._connector = Upstream(tls)
        self._facts = ClusterFacts(needs_sasl=upstream.needs_sasl)
        self._on_facts = on_facts
        self._on_reachable = on_reachable
        self._upstream = upstream
        self._trouble = Trouble(UPSTREAM_UNREACHABLE, UPSTREAM_REACHED, logs_changes=True)

    def apply(self, config: Config) -> None:
        """A reload: other bootstrap addresses."""
        self._upstream = config.upstream

    def want_topic(self, topic: TopicKey, address: str) -> None:
        """Does nothing: there is no connection that could read limits, or the name of an id."""

    def topic_used(self, topic: str) -> None:
        """Does nothing: no limits are read."""

    def warnings(self) -> list[str]:
        return []

    def hanging(self) -> list[str]:
        return []

    def limits_unknown(self) -> list[str]:
        return []

    def knows_topic(self, _topic: str) -> bool:
        return False

    def request_brokers(self) -> None:
        """Does nothing: there is no connection that could read the brokers."""

    def doubt_broker(self, _address: str) -> None:
        """Nothing: there is no own connection that could ask."""

    def client_connected(self, _address: Address) -> None:
        """Does nothing: no limits of brokers are read here."""

    def connections(self) -> Mapping[int, AdminConnection]:
        return {}

    def stamped_topics(self) -> Sequence[str]:
        return ()

    def want_node(self, node_id: int, address: Address) -> None:
        known = self._facts.brokers
        if not may_be_broker(node_id, address):
            return
        if known.get(node_id) != address and (node_id in known or len(known) < MOST_BROKERS):
            brokers = {**self._facts.brokers, node_id: address}
            self._facts = replace(self._facts, brokers=MappingProxyType(brokers))
            # Not from within the session that has read the answer: it gets the new facts like all sessions.
            asyncio.get_running_loop().call_soon(self._publish)

    async def run(self) -> None:
        """Accept clients, then check for ever whether brokers are reachable."""
        self._publish()
        while True:
            problem = await self._problem()
            self._on_reachable(problem)
            await asyncio.sleep(AGAIN_S if problem else self._upstream.refresh_ms / 1000)

    def _publish(self) -> None:
        self._on_facts(self._facts)

    async def _problem(self) -> str | None:
        addresses = dict.fromkeys((*self._upstream.bootstrap_servers, *self._facts.brokers.values()))
        end = _End()
        try:
            await self._connector.connect(tuple(addresses), end)
        except UpstreamError as error:
            self._trouble.failed(error, advice="tried again for ever")
            return str(error)
        end.close()
        self._trouble.over()
        return None


class _End(asyncio.Protocol):
    """Our end of a connection on which nothing is sent."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def close(self) -> None:
        self._transport.close()
