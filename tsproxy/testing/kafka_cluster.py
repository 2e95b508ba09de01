"""One to three real Apache Kafka brokers for as long as an `async with` lasts.

    async with KafkaCluster(version="4.4.0", nodes=3) as kafka:
        await kafka.create_topic("orders", partitions=6, replication=3)
        await kafka.stop_node(2)
        print(await kafka.end_offsets("orders"))

Brokers run in KRaft mode, each with a controller, on free loopback ports and in a temporary folder. When the
block ends, or this process is killed, a guard (`guard.py`) ends them. Tried versions: 3.9.1, 4.3.1 and
4.4.0.
"""

import asyncio
import itertools
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from aiokafka.errors import KafkaError

from tsproxy.testing.admin import Admin, connect
from tsproxy.testing.client_options import ClientOptions, Identity, Login
from tsproxy.testing.formatting import format_nodes, prepare_classes
from tsproxy.testing.guard import guarded_folder
from tsproxy.testing.jars import fetch_kafka_jars
from tsproxy.testing.kafka_node import KafkaNode, PortTakenError, Runtime
from tsproxy.testing.ports import free_ports, is_free
from tsproxy.testing.server_properties import (
    HOST,
    ClientSecurity,
    NodePorts,
    scram_arguments,
    server_properties,
)

if TYPE_CHECKING:  # needs `cryptography`, but plain listeners do not
    from tsproxy.testing.certificates import CertificateAuthority

DEFAULT_VERSION: Final = "4.4.0"

_TLS: Final = frozenset({"SSL", "SASL_SSL"})
_SASL: Final = frozenset({"SASL_PLAINTEXT", "SASL_SSL"})
_PLAIN_WORD: Final = re.compile(r"[A-Za-z0-9._-]+")
_PORTS_PER_NODE: Final = 3
_STARTS: Final = 3
_START_TIMEOUT_S: Final = 240
"""Three brokers on a busy machine of two cores have taken two minutes to form."""
_POLL_S: Final = 0.03
_DATA: Final = "log.dirs"
_MARKER: Final = "leader.replication.throttled.replicas"


class KafkaCluster:
    """A cluster of `nodes` brokers (a number, or the node ids themselves) of Kafka `version`.

    `versions` names other versions by node id: a cluster in the middle of an upgrade. Its features are those
    of the oldest version (`metadata.version`).

    `security` is that of the clients' listener: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL. With `mutual_tls`
    clients need a certificate, too. Every SASL mechanism knows all `users` (passwords by name; letters,
    digits, `.`, `_`, `-`). TLS needs an `authority` that signs certificates; a proxy may use the same one.

    `properties` are added to every broker's server.properties, and `node_properties` to that of one broker.
    They override the defaults. If they name an authorizer, the connection for administration stays a super
    user. `advertised_host` is the host name that brokers give to clients, for tests that distinguish a
    broker's own address from a proxy's. `port` is the first broker's port for clients, and the others have
    the ports after it. Without it, any free ports are used.
    """

    def __init__(
        self,
        version: str = DEFAULT_VERSION,
        nodes: int | Sequence[int] = 1,
        *,
        versions: Mapping[int, str] | None = None,
        security: str = "PLAINTEXT",
        mutual_tls: bool = False,
        users: Mapping[str, str] | None = None,
        authority: "CertificateAuthority | None" = None,
        properties: Mapping[str, str] | None = None,
        node_properties: Mapping[int, Mapping[str, str]] | None = None,
        advertised_host: str = HOST,
        port: int | None = None,
        heap: str = "256m",
    ) -> None:
        self.version = version
        self.node_ids = tuple(range(1, nodes + 1)) if isinstance(nodes, int) else tuple(nodes)
        self.versions = {n: (versions or {}).get(n, version) for n in self.node_ids}
        self._security = security
        self._mutual_tls = mutual_tls
        self._authority = authority
        self._users = dict(users or {})
        self._properties = dict(properties or {})
        self._node_properties = dict(node_properties or {})
        self._advertised_host = advertised_host
        self._port = port
        self._heap = heap
        self._nodes: dict[int, KafkaNode] = {}
        self._closing = AsyncExitStack()
        self._marks = itertools.count()
        self._identity: Identity | None = None
        _check_security(security, mutual_tls, authority, self._users)
        if any(_DATA in overrides for overrides in (self._properties, *self._node_properties.values())):
            raise ValueError(f"{_DATA} cannot be set: the data has a temporary folder, below $TMPDIR")

    async def __aenter__(self) -> Self:
        jars = {}
        for version in sorted(set(self.versions.values()), key=_as_numbers):
            jars[version] = await asyncio.to_thread(fetch_kafka_jars, version)
            await prepare_classes(jars[version])
        for _ in range(_STARTS - 1):
            with suppress(PortTakenError):
                await self._start(jars)
                return self
        await self._start(jars)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._closing.aclose()

    @property
    def bootstrap_servers(self) -> str:
        """The clients' listeners of all nodes, running or stopped: `127.0.0.1:20001,127.0.0.1:20004`."""
        return ",".join(f"{node.host}:{node.port}" for node in self._nodes.values())

    def client_options(self, user: str | None = None, mechanism: str = "PLAIN") -> ClientOptions:
        """The options of a client. With SASL it logs in as `user`, or as the first one, by `mechanism`.

        If clients need a certificate, it gets one with the common name `client`.
        """
        ca = self._authority.certificate if self._authority is not None else None
        options = ClientOptions(self.bootstrap_servers, self._security, ca, self._identity)
        if not self._users:
            return options
        name = user if user is not None else next(iter(self._users))
        return replace(options, login=Login(name, self._users[name], mechanism))

    def node(self, node_id: int) -> KafkaNode:
        """One broker, with its host, port, pid and folder."""
        return self._nodes[node_id]

    def log_text(self, node_id: int) -> str:
        """The whole log of a broker."""
        return self.node(node_id).log_text()

    async def start_node(self, node_id: int, version: str | None = None) -> None:
        """Starts a stopped or killed broker again, with its old ports and data. `version` is another version,
        as in an upgrade. The cluster keeps its features.

        Returns when the broker serves and has caught up, so that the test may stop another one.
        """
        if version is not None:
            self.node(node_id).upgrade(await asyncio.to_thread(fetch_kafka_jars, version))
            self.versions[node_id] = version

        async def is_back() -> bool:
            if not await self._is_formed():
                return False
            async with self._admin(node_id) as admin:
                return node_id not in await admin.lagging()

        self.node(node_id).start()
        await self._until(is_back, f"node {node_id} is back")

    async def stop_node(self, node_id: int) -> None:
        """Stops a broker normally. Returns when its process has ended."""
        await self.node(node_id).stop()

    async def kill_node(self, node_id: int) -> None:
        """Kills a broker. Returns when its process has ended."""
        await self.node(node_id).kill()

    async def create_topic(
        self, name: str, partitions: int = 1, replication: int = 1, config: Mapping[str, str] | None = None
    ) -> None:
        """Creates a topic. Returns when every running broker knows it and all its leaders serve it."""
        async with self._admin() as admin:
            await admin.create_topic(
                name, partitions=partitions, replication=replication, config=dict(config or {})
            )

        async def is_served() -> bool:
            known = [await admin.leaders(name) async for admin in self._every_admin()]
            # A broker names a topic a moment before it opens the log; offsets come from the log.
            return all(known) and len(await self.end_offsets(name)) == partitions

        await self._until(is_served, f"topic {name} is served")

    async def alter_topic(self, name: str, config: Mapping[str, str | None]) -> None:
        """Sets topic configs; None restores a default. Returns when they are in force.

        Brokers apply changes one after the other. So a second, harmless change follows the first: a broker
        that shows the second one has applied the first.
        """
        mark = f"0:{next(self._marks)}"
        async with self._admin() as admin:
            await admin.alter_topic(name, config)
            await admin.alter_topic(name, {_MARKER: mark})

        async def is_in_force() -> bool:
            seen = [(await admin.topic_config(name))[_MARKER] async for admin in self._every_admin()]
            return all(value == mark for value in seen)

        await self._until(is_in_force, f"topic {name} has its new configuration")
        async with self._admin() as admin:
            await admin.alter_topic(name, {_MARKER: None})

    async def delete_topic(self, name: str) -> None:
        """Deletes a topic. Returns when no running broker knows it any more."""
        async with self._admin() as admin:
            await admin.delete_topic(name)

        async def is_gone() -> bool:
            known = [await admin.leaders(name) async for admin in self._every_admin()]
            return not any(known)

        await self._until(is_gone, f"topic {name} is gone")

    async def topic_config(self, name: str) -> dict[str, str]:
        """A topic's whole configuration in force, with defaults."""
        async with self._admin() as admin:
            return await admin.topic_config(name)

    async def end_offsets(self, topic: str) -> dict[int, int]:
        """The offset of the next record of each partition, as consumers see it.

        Without transactions that is the number of records. With replicas, a record that was sent with acks=1
        may appear a moment later. The leaders answer; if a partition has no running leader, this method waits
        for one. Raises LookupError if the topic does not exist.
        """
        offsets: dict[int, int] = {}

        async def is_known() -> bool:
            async with self._admin() as admin:
                leaders = await admin.leaders(topic)
            if leaders is None:
                raise LookupError(f"there is no topic {topic}")
            running = {node.node_id for node in self._started()}
            if not running.issuperset(leaders.values()):
                return False
            for node_id in set(leaders.values()):
                led = [partition for partition, leader in leaders.items() if leader == node_id]
                async with self._admin(node_id) as admin:
                    offsets.update(await admin.end_offsets(topic, led))
            return True

        await self._until(is_known, f"every partition of {topic} has a leader")
        return dict(sorted(offsets.items()))

    async def _start(self, jars: Mapping[str, Path]) -> None:
        """Tries to start with one choice of ports; removes everything if that fails. `jars` are by version,
        the oldest first: the storage tool of the oldest version writes the first metadata, which newer
        brokers can read, too."""
        async with AsyncExitStack() as stack:
            stack.callback(self._reap)
            folder, group = await stack.enter_async_context(guarded_folder("tsproxy-kafka-"))
            runtimes = {version: Runtime(path, self._heap, group) for version, path in jars.items()}
            ports = _choose_ports(self.node_ids, self._port)
            self._nodes = {
                n: KafkaNode(n, ports[n], folder / f"node-{n}", runtimes[self.versions[n]])
                for n in self.node_ids
            }
            security = self._client_security()
            scram = scram_arguments(security.users)
            texts = {
                n: server_properties(
                    n,
                    ports,
                    security,
                    node.data,
                    overrides=self._own(n),
                    advertised_host=self._advertised_host,
                )
                for n, node in self._nodes.items()
            }
            oldest = next(iter(jars.values()))
            is_like_others = not (scram or self._properties or self._node_properties)
            kept = oldest.with_name(f"{oldest.name}.formatted") if is_like_others else None
            by_age = sorted(self._nodes.values(), key=lambda node: _as_numbers(self.versions[node.node_id]))
            await format_nodes(by_age, texts, scram, kept)
            for node in self._nodes.values():
                node.start()
            await self._until(self._is_formed, "the brokers serve")
            self._closing = stack.pop_all()

    def _own(self, node_id: int) -> dict[str, str]:
        return {**self._properties, **self._node_properties.get(node_id, {})}

    def _client_security(self) -> ClientSecurity:
        """The CLIENTS listener's security, with the certificates it needs."""
        if self._authority is None:
            return ClientSecurity(self._security, users=self._users)
        keystore = self._authority.issue("broker").keystore
        if not self._mutual_tls:
            return ClientSecurity(self._security, keystore, users=self._users)
        self._identity = self._authority.issue("client")
        return ClientSecurity(self._security, keystore, self._authority.certificate, self._users)

    async def _is_formed(self) -> bool:
        """True if every started broker is up and names every started broker to its clients."""
        started = self._started()
        # Ask every broker, so that one that has died raises its error at once.
        if False in [node.is_up() for node in started]:
            return False
        expected = {node.node_id for node in started}
        known = [await admin.node_ids() async for admin in self._every_admin()]
        return all(expected <= nodes for nodes in known)

    async def _until(self, is_so: Callable[[], Awaitable[bool]], what: str) -> None:
        """Waits until `is_so` returns True, and repeats it while brokers do not answer."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _START_TIMEOUT_S
        while True:
            rejection: Exception | None = None
            try:
                if await is_so():
                    return
            except (OSError, KafkaError) as error:
                rejection = error
            if loop.time() > deadline:
                raise TimeoutError(f"waited {_START_TIMEOUT_S} s in vain until {what}") from rejection
            await asyncio.sleep(_POLL_S)

    @asynccontextmanager
    async def _admin(self, node_id: int | None = None) -> AsyncIterator[Admin]:
        """A connection to the given broker, or to any running one."""
        started = self._started()
        if not started:
            raise RuntimeError("no broker of this cluster is running")
        node = started[0] if node_id is None else self._nodes[node_id]
        async with connect(node.host, node.internal_port) as admin:
            yield admin

    async def _every_admin(self) -> AsyncIterator[Admin]:
        for node in self._started():
            async with connect(node.host, node.internal_port) as admin:
                yield admin

    def _started(self) -> list[KafkaNode]:
        return [node for node in self._nodes.values() if node.is_started]

    def _reap(self) -> None:
        for node in self._nodes.values():
            node.reap()


def _as_numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _choose_ports(node_ids: Sequence[int], first: int | None) -> dict[int, NodePorts]:
    """Ports for each node; those for clients from `first` on. Raises PortTakenError if one is busy."""
    ports = iter(free_ports(_PORTS_PER_NODE * len(node_ids)))
    chosen = {node_id: NodePorts(next(ports), next(ports), next(ports)) for node_id in node_ids}
    if first is None:
        return chosen
    fixed = range(first, first + len(node_ids))
    for port in fixed:
        if not is_free(port):
            raise PortTakenError(
                f"port {port} of {HOST} is in use: stop that program, or choose another port"
            )
    return {
        node_id: replace(chosen[node_id], clients=port) for node_id, port in zip(node_ids, fixed, strict=True)
    }


def _check_security(
    security: str, mutual_tls: bool, authority: object | None, users: Mapping[str, str]
) -> None:
    """Raises ValueError for values that a broker would reject late, or would misunderstand silently."""
    if security not in {"PLAINTEXT"} | _TLS | _SASL:
        raise ValueError(f"{security} is none of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL")
    if (authority is not None) != (security in _TLS):
        raise ValueError(f"{security}: an authority goes with SSL and SASL_SSL, and only with them")
    if mutual_tls and security not in _TLS:
        raise ValueError(f"mutual_tls needs SSL or SASL_SSL, not {security}")
    if bool(users) != (security in _SASL):
        raise ValueError(f"{security}: users go with SASL_PLAINTEXT and SASL_SSL, and only with them")
    for word in (*users, *users.values()):
        if not _PLAIN_WORD.fullmatch(word):
            raise ValueError("users and passwords here are letters, digits, '.', '_' and '-'")
