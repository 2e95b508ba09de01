"""A configured listener while it runs: its ports, its view, its connections.

Clients bootstrap at one port and then connect to single brokers: to a port for each broker, or to the
bootstrap port with a host name for each broker (`broker_endpoints`). A broker is in the view, and so
advertised to clients, only while the proxy accepts connections for it. The target of such a connection is
looked up for each connection, since brokers can move.
"""

import asyncio
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Final

from tsproxy.cluster.upstream import Upstream, UpstreamError
from tsproxy.config.settings import AddressesInConfigs, BrokerHosts, Config, Listener
from tsproxy.decisions.text import instant
from tsproxy.log_events.catalogue import (
    BROKER_NOT_SERVED,
    BROKER_SERVED,
    CLIENT_CONNECTED,
    CLIENT_LEFT,
    CONNECTION_REJECTED,
    LogEvent,
)
from tsproxy.model.addresses import Address
from tsproxy.model.outcome import Peer
from tsproxy.model.view import Endpoint, View
from tsproxy.proxy.admin.report import Broker
from tsproxy.proxy.brokers.facts import ClusterFacts
from tsproxy.proxy.connections.broker_endpoints import Endpoints, EndpointsByHost, EndpointsByPort
from tsproxy.proxy.connections.client_handshake import (
    Handshake,
    HandshakeError,
    Patience,
    Terms,
    shake_hands,
    source_of,
)
from tsproxy.proxy.connections.context import ConnectionContext
from tsproxy.proxy.connections.relay import Relay
from tsproxy.proxy.connections.views import Views
from tsproxy.proxy.limits.admission import Limit, ProxyReason
from tsproxy.proxy.metrics.results import BOOTSTRAP, NO_BROKER, Result
from tsproxy.proxy.ports import Accepted, ListenError, Port
from tsproxy.proxy.wait import cancelled
from tsproxy.tls.contexts import CurrentTls

LOOK_S: Final = 1.0
"""How often to see whether a client still waits for its broker."""


@dataclass(frozen=True, slots=True)
class Target:
    """The addresses to connect to, and the broker's name in counts of results."""

    broker: str
    addresses: Sequence[Address]


Targets = Callable[[Handshake], Target]
"""Computes the target of each connection."""


class ProxyListener:
    """One running listener. Binding raises ListenError. It accepts nothing before `open`."""

    def __init__(
        self,
        listener: Listener,
        config: Config,
        tls: CurrentTls | None,
        upstream: Upstream,
        context: ConnectionContext,
    ) -> None:
        self.relays: set[Relay] = set()
        self._context = context
        self._brokers: dict[int, Address] = {}
        self._config = config
        self._facts = ClusterFacts()
        self._gone_ms: dict[int, int] = {}
        """Since when the cluster has not named a broker, by its node id."""
        self._is_shared = config.workers > 1
        self._listener = listener
        self._next_bootstrap = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._tls = tls
        self._unserved: dict[int, str] = {}
        self._upstream = upstream
        self._produce_versions: tuple[int, int] | None = None
        self._policy = context.timed(config.policy)
        """The same object as long as nothing in it changes: by that, sessions know what they may keep."""
        self._views = Views(View(limits=config.session_limits, policy=self._policy))
        self._bootstrap = self._port(listener.bind, self._bootstrap_targets)
        self._served = self._serving()

    @property
    def name(self) -> str:
        return self._listener.name

    @property
    def address(self) -> Address:
        """The bootstrap address, with the real port."""
        return self._bootstrap.address

    @property
    def endpoints(self) -> dict[int, Endpoint]:
        """The brokers served here, with their advertised addresses."""
        return dict(self._views.view.endpoints)

    @property
    def brokers(self) -> list[Broker]:
        """The brokers of the cluster, with their state on this listener."""
        served, gone_ms = self._views.view.endpoints, self._gone_ms
        keeps_port = isinstance(self._served, EndpointsByPort)
        return [
            Broker(
                self.name,
                node_id,
                str(upstream),
                _text(served.get(node_id)),
                gone_since=instant(gone_ms[node_id]) if node_id in gone_ms else None,
                port_is_free_after="a restart of the proxy" if keeps_port and node_id in gone_ms else None,
            )
            for node_id, upstream in sorted(self._brokers.items())
        ]

    @property
    def unserved(self) -> dict[int, str]:
        """The brokers of the cluster that are not served here, with the reasons. Answers leave them out."""
        return {n: text for n, text in sorted(self._unserved.items()) if n in self._facts.brokers}

    @property
    def served_count(self) -> int:
        return len(self._facts.brokers.keys() & self._served.node_ids)

    def check_ports(self) -> None:
        """Raises ListenError if a broker of the cluster is not served because its port cannot be bound."""
        busy = [(n, text) for n, text in self.unserved.items() if self._served.has_place_for(n)]
        if busy:
            node_id, text = busy[0]
            raise ListenError(f"listener {self.name} cannot serve node {node_id}: {text}")

    def open(self) -> None:
        """Accept clients. Call it when brokers are known. Raises ListenError."""
        self._bootstrap.open()

    def apply_facts(self, facts: ClusterFacts) -> None:
        """Serve the current brokers, and give every session the current facts.

        A broker that is gone is still served, since it may come back. Connections to it fail until then.
        Brokers of another cluster do not come back.
        """
        if self._facts.cluster_id not in (None, facts.cluster_id):
            self._brokers.clear()
            self._unserved.clear()
        self._brokers.update(facts.brokers)
        now_ms = self._context.clock.now_ms()
        self._gone_ms = {n: self._gone_ms.get(n, now_ms) for n in self._brokers.keys() - facts.brokers.keys()}
        self._facts = facts
        for node_id in sorted(facts.brokers.keys() - self._served.node_ids):
            self._serve(node_id)
        self._renew_view()

    def serve_missing(self) -> bool:
        """Try once more to serve the unserved brokers. Returns whether more brokers are served now."""
        before = len(self._unserved)
        for node_id in sorted(self._unserved):
            self._serve(node_id)
        is_more = len(self._unserved) < before
        if is_more:
            self._renew_view()
        return is_more

    def suspend(self, is_suspended: bool) -> None:
        """Suspend enforcement, or resume it, from every session's next bytes on."""
        self._policy = replace(self._policy, is_suspended=is_suspended)
        self._renew_view()

    def offer(self, produce_versions: tuple[int, int] | None) -> None:
        """Set the versions of Produce that brokers support, for clients that have not requested them."""
        self._produce_versions = produce_versions
        self._renew_view()

    def apply(self, config: Config) -> None:
        """A reload: every session uses the new settings from its next bytes on. New frame sizes apply to new
        connections."""
        [listener] = [listener for listener in config.listeners if listener.name == self.name]
        self._config = config
        self._listener = listener
        self._policy = replace(self._context.timed(config.policy), is_suspended=self._policy.is_suspended)
        self._renew_view()

    def _renew_view(self) -> None:
        config, facts = self._config, self._facts
        served = self._served.endpoints(self._listener.advertised_host)
        view = View(
            endpoints=MappingProxyType({n: at for n, at in served.items() if n in self._brokers}),
            unserved=frozenset(self._unserved),
            brokers=MappingProxyType({n: Endpoint(at.host, at.port) for n, at in self._brokers.items()}),
            topics=facts.topics,
            topics_on_kafka_4=facts.topics_on_kafka_4,
            topic_names=facts.topic_names,
            may_describe=facts.may_describe,
            denied_ids=facts.denied_ids,
            reads_limits=facts.reads_limits and self._policy.asks_broker,
            unreadable_topics=facts.unreadable_topics,
            produce_versions=self._produce_versions,
            limits=config.session_limits,
            policy=self._policy,
            broker_needs_sasl=facts.needs_sasl,
            bearer_claim=config.upstream.bearer_claim,
            masks_addresses=self._listener.addresses_in_configs is AddressesInConfigs.MASK,
        )
        self._views.renew(view)

    def stop_accepting(self) -> None:
        self._bootstrap.close()
        self._served.close()

    async def stop_connecting(self) -> None:
        await cancelled(*self._tasks)

    def _serving(self) -> Endpoints:
        brokers = self._listener.brokers
        if isinstance(brokers, BrokerHosts):
            return EndpointsByHost(brokers, self.address)
        return EndpointsByPort(brokers, self._open_port)

    def _open_port(self, node_id: int, number: int) -> Port:
        """At the bootstrap port's IP address: all clients would wait while a name server is silent."""
        port = self._port(Address(self._bootstrap.ip, number), partial(self._target, node_id))
        port.open()
        return port

    def _port(self, address: Address, targets: Targets) -> Port:
        return Port(address, self._into(targets), is_shared=self._is_shared)

    def _serve(self, node_id: int) -> None:
        try:
            self._served.serve(node_id)
        except ListenError as error:
            self._cannot_serve(node_id, str(error))
            return
        self._unserved.pop(node_id, None)
        endpoint = self._served.endpoints(self._listener.advertised_host)[node_id]
        BROKER_SERVED(
            listener=self.name,
            node_id=node_id,
            address=_text(endpoint),
            upstream=str(self._brokers[node_id]),
        )

    def _cannot_serve(self, node_id: int, text: str) -> None:
        """Log the error once. `UnservedEndpoints` tries again, and logs the error each minute."""
        if node_id not in self._unserved:
            BROKER_NOT_SERVED(listener=self.name, node_id=node_id, error=text)
        self._unserved[node_id] = text

    def _bootstrap_targets(self, handshake: Handshake) -> Target:
        """The broker that the client requests by host name, or else the bootstrap servers. Each call begins
        with the next server. If none of them answers, the other brokers that are known are tried."""
        node_id = self._served.node_asked_for(handshake.asked_host)
        if node_id is not None:
            return self._target(node_id, handshake)
        servers = self._config.upstream.bootstrap_servers
        start = self._next_bootstrap % len(servers)
        self._next_bootstrap = (start + 1) % len(servers)
        known = dict.fromkeys([*servers[start:], *servers[:start], *self._brokers.values()])
        return Target(BOOTSTRAP, list(known))

    def _target(self, node_id: int, _: Handshake) -> Target:
        return Target(str(node_id), [self._brokers[node_id]] if node_id in self._brokers else [])

    def _into(self, targets: Targets) -> Accepted:
        def accepted(connection: socket.socket, host: str, port: int) -> bool:
            peer = Peer(self.name, host, port)
            if (limit := self._context.limits.admit(host)) is not None:
                connection.close()
                self._rejected(peer, limit)
                return False
            task = asyncio.get_running_loop().create_task(self._connect(connection, peer, targets))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return True

        return accepted

    async def _connect(self, connection: socket.socket, peer: Peer, targets: Targets) -> None:
        """Make a relay for an accepted connection. After that, the relay's callbacks drive the connection."""
        relay = Relay(peer, self._views, self._context, self._ended)
        self.relays.add(relay)
        self._context.limits.join(relay, peer.client_address)
        try:
            handshake = await self._handshake(connection, peer, relay)
        except HandshakeError as error:
            self._turned_away(error)
            relay.client_unavailable()
            return
        except BaseException:  # cancelled, or an error in our code: this client is gone in both cases
            relay.client_unavailable()
            raise
        if handshake is None:
            relay.client_unavailable()
            return
        relay.identify(handshake.peer)
        CLIENT_CONNECTED(**_who(handshake.peer))
        target = targets(handshake)
        relay.broker_name = target.broker
        clock, timings = self._context.clock, self._context.metrics.timings
        began_us = clock.monotonic_us()
        try:
            with _cancelled_if_left(relay):
                reached = await self._upstream.connect(target.addresses, relay.broker, relay.broker.disown)
        except UpstreamError as error:
            relay.upstream_unavailable(str(error))
        except BaseException:  # cancelled, or an error in our code
            relay.gave_up()
            raise
        else:
            timings.connected(target.broker, clock.monotonic_us() - began_us)
            relay.broker_address = str(reached)
            relay.upstream_connected()

    async def _handshake(self, connection: socket.socket, peer: Peer, relay: Relay) -> Handshake | None:
        """None if the client's address has too many connections. A connection counts for it before TLS: else
        silent clients would take all places of the load balancer's address for as long as TLS may take."""
        patience = Patience(self._context.limits.handshake_s)
        terms = Terms(self._listener, self._tls() if self._tls else None)
        source = await source_of(connection, peer, terms.listener.proxy_protocol, patience)
        if (limit := self._context.limits.move(relay, source.client_address)) is not None:
            connection.close()
            self._rejected(source, limit)
            return None
        return await shake_hands(connection, source, terms, patience, relay.client)

    def _ended(self, relay: Relay) -> None:
        CLIENT_LEFT(**_who(relay.peer))
        self.relays.discard(relay)
        self._context.limits.leave(relay)

    def _rejected(self, peer: Peer, limit: Limit) -> None:
        self._warn(CONNECTION_REJECTED, peer, {"limit": limit.value})
        self._context.metrics.limit_reached(limit)
        text = self._context.limits.text(limit)
        self._context.results.book(self.name, NO_BROKER, Result.LIMIT_REACHED, text)

    def _turned_away(self, error: HandshakeError) -> None:
        self._warn(error.event, error.peer, {"error": str(error)})
        if error.limit is not None:
            self._context.metrics.limit_reached(error.limit)
        if error.reason is ProxyReason.TLS_HANDSHAKE_FAILED:
            self._context.metrics.handshake_failed(self.name)
        else:
            self._context.metrics.session_closed(self.name, error.reason)
        if not error.has_left:
            self._context.results.book(self.name, NO_BROKER, error.result, str(error))

    def _warn(self, event: LogEvent, peer: Peer, facts: Mapping[str, str]) -> None:
        self._context.notes.write(peer.client_address, event, {**_who(peer), **facts})


@contextmanager
def _cancelled_if_left(relay: Relay) -> Iterator[None]:
    """Cancel this task if the client leaves without a byte. Nothing is read from it meanwhile."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None, "each accepted connection has a task"
    look: asyncio.TimerHandle

    def look_again() -> None:
        nonlocal look
        if relay.client_has_left():
            task.cancel()
        else:
            look = loop.call_later(LOOK_S, look_again)

    look = loop.call_later(LOOK_S, look_again)
    try:
        yield
    finally:
        look.cancel()


def _who(peer: Peer) -> dict[str, str | int]:
    """The client in log lines, before it has named itself."""
    return {"listener": peer.listener, "client": peer.client_address, "client_port": peer.client_port}


def _text(endpoint: Endpoint | None) -> str | None:
    return None if endpoint is None else str(Address(endpoint.host, endpoint.port))
