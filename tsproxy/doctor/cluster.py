"""Reaches the cluster as the proxy would: bootstrap servers, then each broker by itself."""

import asyncio
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Final

from tsproxy.cluster.admin_connection import AdminConnection, ClusterAnswer, ConversationError, connected
from tsproxy.cluster.client_options import wire_mechanism
from tsproxy.config.settings import Config, Upstream
from tsproxy.doctor.findings import Check, Finding, few
from tsproxy.model.addresses import Address
from tsproxy.model.kafka import ApiKey
from tsproxy.proxy.brokers.own_addresses import own_listener
from tsproxy.tls.contexts import upstream_context
from tsproxy.wire.apis import APIS
from tsproxy.wire.k18_api_versions import BrokerVersions, produce_versions

CLUSTER: Final = Check("cluster")
VERSIONS: Final = Check("versions")


@dataclass(frozen=True, slots=True)
class Server:
    """One bootstrap server. `error` says why it cannot be used; None if it can. `mechanisms`: the SASL
    mechanisms of that listener, None if it has no SASL."""

    address: Address
    is_connected: bool = False
    mechanisms: Sequence[str] | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """The bootstrap servers. `connection` and `answer` belong to the first server that can be used."""

    servers: Sequence[Server]
    connection: AdminConnection | None = None
    answer: ClusterAnswer | None = None

    @property
    def brokers(self) -> Mapping[int, Address]:
        return self.answer.brokers if self.answer else {}


@dataclass(frozen=True, slots=True)
class Node:
    """One broker."""

    node_id: int
    address: Address
    connection: AdminConnection | None = None
    error: str = ""
    offers: BrokerVersions = field(default_factory=dict)


async def look(config: Config, stack: AsyncExitStack) -> Seen:
    """Try every bootstrap server. `stack` keeps the connection of the first one that can be used."""
    upstream = config.upstream
    tls = upstream_context(upstream.tls) if upstream.tls else None
    servers = await asyncio.gather(*(_look_at(upstream, addr, tls) for addr in upstream.bootstrap_servers))
    for server in servers:
        if server.error is None:
            try:
                connection = await stack.enter_async_context(connected(server.address, tls, upstream.sasl))
                return Seen(servers, connection, await connection.cluster(with_topics=True))
            except ConversationError as error:  # the server answered a moment ago, and has stopped since
                servers = [replace(peer, error=str(error)) if peer is server else peer for peer in servers]
    return Seen(servers)


async def _look_at(upstream: Upstream, address: Address, tls: ssl.SSLContext | None) -> Server:
    try:
        # The first connection is without a login, to find out which mechanisms this listener has.
        async with connected(address, tls, None) as connection:
            mechanisms = await connection.sasl_mechanisms(wire_mechanism(upstream.sasl))
    except ConversationError as error:
        return Server(address, error=str(error))
    try:
        async with connected(address, tls, upstream.sasl) as connection:
            answer = await connection.cluster()
            error_text = None if answer.brokers else f"{address}: the cluster has no brokers yet"
    except ConversationError as error:
        error_text = str(error)
    return Server(address, True, mechanisms, error_text)


def bootstrap(config: Config, seen: Seen) -> Iterator[Finding]:
    """The findings about bootstrap servers. One server that can be used is enough."""
    usable = [server for server in seen.servers if server.error is None]
    grade = CLUSTER.warning if usable else CLUSTER.problem
    for server in seen.servers:
        if server.error is not None and not _is_login(config, server):
            yield grade(server.error, _advice(config, server))
    if seen.answer is not None:
        cluster_id, brokers = seen.answer.cluster_id, seen.answer.brokers
        name = f"cluster {cluster_id}" if cluster_id else "the cluster"
        yield CLUSTER.ok(
            f"{name} answers at {usable[0].address}; node ids {few([*map(str, sorted(brokers))])}"
        )


def _is_login(config: Config, server: Server) -> bool:
    """True if the login failed, which the findings about security explain."""
    return server.is_connected and (config.upstream.sasl is not None or server.mechanisms is not None)


def _advice(config: Config, server: Server) -> str:
    listener = own_listener(server.address, config.listeners)
    if listener is not None:
        return f"this proxy's own listener {listener!r} listens there: name the brokers instead"
    return (
        "is the broker running, may this machine connect to that port (firewall), and does the port speak as "
        "upstream.tls says: TLS by a certificate of that authority (ca), or plain text without the section?"
    )


async def reach_brokers(config: Config, seen: Seen, stack: AsyncExitStack) -> list[Node]:
    """Each broker of the cluster, at the address that clients of the proxy are connected to."""
    upstream = config.upstream
    tls = upstream_context(upstream.tls) if upstream.tls else None
    brokers = sorted(seen.brokers.items())
    return [*await asyncio.gather(*(_reach(upstream, *broker, tls, stack) for broker in brokers))]


async def _reach(
    upstream: Upstream, node_id: int, address: Address, tls: ssl.SSLContext | None, stack: AsyncExitStack
) -> Node:
    try:
        connection = await stack.enter_async_context(connected(address, tls, upstream.sasl))
        offers = await connection.offers()
    except ConversationError as error:
        return Node(node_id, address, error=str(error))
    return Node(node_id, address, connection, offers=offers)


def versions(nodes: Sequence[Node]) -> Iterator[Finding]:
    """The findings about each broker: can it be reached, and which versions of Produce does it take."""
    most = APIS[ApiKey.PRODUCE].max_version
    for node in nodes:
        oldest, newest = produce_versions(node.offers)
        text = f"node {node.node_id} at {node.address}: Produce {oldest} to {newest}"
        if node.connection is None:
            yield CLUSTER.problem(
                f"node {node.node_id}: {node.error}",
                "the proxy connects clients to this address, which the broker advertises "
                "(advertised.listeners): make it reachable from this machine",
            )
        elif oldest > most:
            yield VERSIONS.problem(f"{text}; this tsproxy knows {most} at most", "install a newer tsproxy")
        else:
            yield VERSIONS.ok(text)
