"""Reaches the cluster as the proxy would: host names, bootstrap servers, then each broker by itself."""

import asyncio
import shlex
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final, Literal

from tsproxy.cluster.admin_connection import AdminConnection, ClusterAnswer, ConversationError, connected
from tsproxy.cluster.client_options import wire_mechanism
from tsproxy.cluster.upstream import hosts_of
from tsproxy.config.settings import Config, Upstream
from tsproxy.doctor.findings import Check, Finding, few
from tsproxy.model.addresses import Address, ip_or_none
from tsproxy.model.kafka import ApiKey
from tsproxy.proxy.brokers.own_addresses import listener_at, own_listener
from tsproxy.tls.contexts import upstream_context
from tsproxy.wire.apis import APIS
from tsproxy.wire.k18_api_versions import FETCH_ON_4_FROM, BrokerVersions, produce_versions

NAMES: Final = Check("names")
CLUSTER: Final = Check("cluster")
VERSIONS: Final = Check("versions")
LOOK_UP_S: Final = 5.0
BROKER_CONFIGS: Final = ("advertised.listeners", "listener.security.protocol.map")


@dataclass(frozen=True, slots=True)
class Server:
    """One bootstrap server. `error` says why it cannot be used; None if it can. `mechanisms`: the SASL
    mechanisms of that listener, None if it has no SASL. `certificate` is the certificate that the server sent
    (DER)."""

    address: Address
    names: Sequence[str] | str
    """Its IP addresses, or why there are none."""
    is_connected: bool = False
    mechanisms: Sequence[str] | None = None
    certificate: bytes | None = None
    error: str | None = None
    speaks: Literal["tls", "plain"] | None = None
    """If the proxy cannot connect: the protocol that works there if nothing is checked."""


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
    """One broker. `settings` is None if its configuration may not be read."""

    node_id: int
    address: Address
    connection: AdminConnection | None = None
    error: str = ""
    offers: BrokerVersions = field(default_factory=dict)
    settings: Mapping[str, str | None] | None = None

    @property
    def is_kafka_4(self) -> bool:
        oldest, _ = self.offers.get(ApiKey.FETCH, (0, 0))
        return oldest >= FETCH_ON_4_FROM


async def look(config: Config, stack: AsyncExitStack) -> Seen:
    """Try every bootstrap server. `stack` keeps the connection of the first one that can be used."""
    upstream = config.upstream
    tls = upstream_context(upstream.tls) if upstream.tls else None
    servers = await asyncio.gather(*(_look_at(upstream, each, tls) for each in upstream.bootstrap_servers))
    for server in servers:
        if server.error is None:
            try:
                connection = await stack.enter_async_context(connected(server.address, tls, upstream.sasl))
                return Seen(servers, connection, await connection.cluster(with_topics=True))
            except ConversationError:  # the server answered a moment ago, and has stopped since
                continue
    return Seen(servers)


async def _look_at(upstream: Upstream, address: Address, tls: ssl.SSLContext | None) -> Server:
    names = await look_up(address)
    if isinstance(names, str):
        return Server(address, names, error=names)
    try:
        # The first connection is without a login, to find out which mechanisms this listener has.
        async with connected(address, tls, None) as connection:
            certificate = connection.peer_certificate()
            mechanisms = await connection.sasl_mechanisms(wire_mechanism(upstream.sasl))
    except ConversationError as error:
        return Server(address, names, error=str(error), speaks=await _speaks(address))
    try:
        async with connected(address, tls, upstream.sasl) as connection:
            answer = await connection.cluster()
            error_text = None if answer.brokers else f"{address}: the cluster has no brokers yet"
    except ConversationError as error:
        error_text = str(error)
    return Server(address, names, True, mechanisms, certificate, error_text)


async def look_up(address: Address) -> Sequence[str] | str:
    """The IP addresses of a host, or why there are none."""
    try:
        return await hosts_of(address, LOOK_UP_S)
    except (OSError, UnicodeError) as error:
        return f"{address.host}: {getattr(error, 'strerror', None) or 'not a host name'}"


async def _speaks(address: Address) -> Literal["tls", "plain"] | None:
    if not await _connects(address):
        return None
    if await _connects(address, unchecked_tls()):
        return "tls"
    try:
        async with connected(address, None, None):
            return "plain"
    except ConversationError:
        return None


def unchecked_tls() -> ssl.SSLContext:
    """A TLS context that checks no certificate. It is for finding out whether a port speaks TLS, and for
    nothing secret."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def _connects(address: Address, context: ssl.SSLContext | None = None) -> bool:
    """True if somebody accepts a connection there, and the TLS handshake of `context` succeeds."""
    try:
        async with asyncio.timeout(LOOK_UP_S):
            _, writer = await asyncio.open_connection(address.host, address.port, ssl=context)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


def bootstrap(config: Config, seen: Seen) -> Iterator[Finding]:
    """The findings about host names and bootstrap servers. One server that can be used is enough."""
    usable = [each for each in seen.servers if each.error is None]
    grade = CLUSTER.warning if usable else CLUSTER.problem
    for server in seen.servers:
        yield _name(server, is_enough=bool(usable))
    for server in seen.servers:
        if server.error is not None and not isinstance(server.names, str) and not _is_login(config, server):
            command = f"nc -vz {shlex.quote(server.address.host)} {server.address.port}"
            yield grade(server.error, _advice(config, server), None if server.speaks else command)
    if usable and seen.answer is not None:
        cluster_id, brokers = seen.answer.cluster_id, seen.answer.brokers
        name = f"cluster {cluster_id}" if cluster_id else "the cluster"
        yield CLUSTER.ok(
            f"{name} answers at {usable[0].address}; node ids {few([*map(str, sorted(brokers))])}"
        )
        if (listener := listener_at(brokers, config.listeners)) is not None:
            yield CLUSTER.warning(
                f"its brokers have the addresses that this proxy's listener {listener!r} gives to clients",
                "name the brokers' own addresses in upstream.bootstrap_servers, not a proxy's",
            )
    elif usable:
        yield CLUSTER.ok(f"{few([str(each.address) for each in usable])} can be connected")


def _is_login(config: Config, server: Server) -> bool:
    """True if the login failed, which the findings about security explain."""
    return server.is_connected and (config.upstream.sasl is not None or server.mechanisms is not None)


def _name(server: Server, *, is_enough: bool) -> Finding:
    host = server.address.host
    if isinstance(server.names, str):
        grade = NAMES.warning if is_enough else NAMES.problem
        return grade(server.names, "correct upstream.bootstrap_servers, or the name service of this machine")
    if ip_or_none(host) is not None:
        return NAMES.ok(f"{host} is an address")
    return NAMES.ok(f"{host} is {few(server.names)}")


def _advice(config: Config, server: Server) -> str:
    listener = own_listener(server.address, config.listeners)
    if listener is not None:
        return f"that is where this proxy's own listener {listener!r} listens: name the brokers instead"
    if server.speaks == "tls" and config.upstream.tls is None:
        return "this port speaks TLS: add upstream.tls with the authority of the brokers' certificates (ca)"
    if server.speaks == "tls":
        return (
            "upstream.tls.ca must name the authority of the brokers' certificates, and bootstrap_servers a "
            "host name of theirs; if brokers want a certificate of ours: upstream.tls.certificate and key"
        )
    if server.speaks == "plain":
        return "this port speaks plain text: remove upstream.tls, or name a listener with TLS"
    return "is the broker running, and may this machine connect to that port (firewall, network policy)?"


async def reach_brokers(config: Config, seen: Seen, stack: AsyncExitStack) -> list[Node]:
    """Each broker of the cluster, at the address that clients of the proxy are connected to."""
    upstream = config.upstream
    tls = upstream_context(upstream.tls) if upstream.tls else None
    return list(
        await asyncio.gather(
            *(
                _reach(upstream, node_id, address, tls, stack)
                for node_id, address in sorted(seen.brokers.items())
            )
        )
    )


async def _reach(
    upstream: Upstream, node_id: int, address: Address, tls: ssl.SSLContext | None, stack: AsyncExitStack
) -> Node:
    try:
        connection = await stack.enter_async_context(connected(address, tls, upstream.sasl))
        offers = await connection.offers()
        broker = await connection.describe_broker(node_id, BROKER_CONFIGS)
    except ConversationError as error:
        return Node(node_id, address, error=str(error))
    settings = broker.settings if broker.error_code == 0 else None
    return Node(node_id, address, connection, offers=offers, settings=settings)


def versions(nodes: Sequence[Node]) -> Iterator[Finding]:
    """The findings about each broker: can it be reached, and which versions does it speak."""
    for node in nodes:
        if node.connection is None:
            yield CLUSTER.problem(
                f"node {node.node_id}: {node.error}",
                "the proxy connects clients to this address, which the broker advertises "
                "(advertised.listeners): make it reachable from this machine",
            )
            continue
        yield _versions_of(node)
    reached = {node.is_kafka_4 for node in nodes if node.connection is not None}
    if len(reached) > 1:
        old = [str(node.node_id) for node in nodes if node.connection is not None and not node.is_kafka_4]
        yield VERSIONS.warning(
            f"brokers of Kafka 4 and older ones are mixed; older: node {few(old)}",
            "finish the upgrade; until then the loosest limits hold here, and each leader rejects by its own",
        )


def _versions_of(node: Node) -> Finding:
    oldest, newest = produce_versions(node.offers)
    api = APIS[ApiKey.PRODUCE]
    kafka = "Kafka 4" if node.is_kafka_4 else "Kafka before 4.0"
    _, newest_versions = node.offers.get(ApiKey.API_VERSIONS, (0, 0))
    text = f"node {node.node_id} at {node.address}: {kafka}, Produce {oldest} to {newest}"
    if oldest > api.max_version:
        return VERSIONS.problem(
            f"{text}; this tsproxy knows Produce up to {api.max_version}", "install a newer tsproxy"
        )
    text += f", ApiVersions to {newest_versions}"
    if newest > api.max_version:
        text += f"; clients are offered Produce up to {api.max_version}"
    return VERSIONS.ok(text)
