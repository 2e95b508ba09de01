"""One to three real Apache Kafka brokers for as long as an `async with` lasts.

    async with KafkaCluster(version="4.3.1", nodes=3) as kafka:
        await kafka.create_topic("orders", partitions=6, replication=3)
        await kafka.stop_node(2)
        print(await kafka.end_offsets("orders"))

Brokers run in KRaft mode, each its own controller, on free loopback ports and in a temporary
folder. They are gone when the block ends, however it ends; should this process be killed, a guard
(`guard.py`) ends them all the same. Versions tried: 3.9.1 and 4.3.1.
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
from tsproxy.testing.class_archive import prepare_classes
from tsproxy.testing.client_options import ClientOptions, Login
from tsproxy.testing.formatting import format_nodes
from tsproxy.testing.guarded import guarded_folder
from tsproxy.testing.identity import Identity
from tsproxy.testing.jars import fetch_kafka_jars
from tsproxy.testing.kafka_node import KafkaNode, PortTakenError, Runtime
from tsproxy.testing.ports import free_ports
from tsproxy.testing.server_properties import (
    HOST,
    ClientSecurity,
    NodePorts,
    scram_arguments,
    server_properties,
)

if TYPE_CHECKING:  # needs `cryptography`, which plain listeners do without
    from tsproxy.testing.certificates import CertificateAuthority

DEFAULT_VERSION: Final = "4.3.1"

_TLS: Final = frozenset({"SSL", "SASL_SSL"})
_SASL: Final = frozenset({"SASL_PLAINTEXT", "SASL_SSL"})
_PLAIN_WORD: Final = re.compile(r"[A-Za-z0-9._-]+")
_PORTS_PER_NODE: Final = 3
_STARTS: Final = 3
_PATIENCE_S: Final = 240
"""Three brokers on a busy machine of two cores have taken two minutes to form."""
_POLL_S: Final = 0.03
_MARKER: Final = "leader.replication.throttled.replicas"


class KafkaCluster:
    """A cluster of `nodes` brokers (a number, or the node ids themselves), as a rule of one Kafka version.

    `versions` names those of another version than `version` by node id: a cluster in the middle of a roll.
    Its features are those of the oldest (`metadata.version`).

    `security` is what clients meet: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL. With `mutual_tls`
    they need a certificate as well. `users` (passwords by name; letters, digits, `.`, `_`, `-`) are
    known to every SASL mechanism. TLS needs an `authority` to sign for it, which a proxy may share.
    `properties` are added to every broker's server.properties and win over the kit's own,
    `node_properties` to one broker's. Where
    they name an authorizer, the kit itself stays a super user. `advertised_host` is the name that
    brokers tell their clients, for tests that must tell a broker's own address from a proxy's.
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
        self._heap = heap
        self._nodes: dict[int, KafkaNode] = {}
        self._closing = AsyncExitStack()
        self._marks = itertools.count()
        self._identity: Identity | None = None
        _check_security(security, mutual_tls, authority, self._users)

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
        """The clients' listeners of all nodes, running or not: `127.0.0.1:20001,127.0.0.1:20004`."""
        return ",".join(f"{node.host}:{node.port}" for node in self._nodes.values())

    def client_options(self, user: str | None = None, mechanism: str = "PLAIN") -> ClientOptions:
        """How a client connects: as `user`, or the first one, by `mechanism` where there is SASL.

        Where certificates are asked for, it is given one with the common name `client`.
        """
        ca = self._authority.certificate if self._authority is not None else None
        options = ClientOptions(self.bootstrap_servers, self._security, ca, self._identity)
        if not self._users:
            return options
        name = user if user is not None else next(iter(self._users))
        return replace(options, login=Login(name, self._users[name], mechanism))

    def node(self, node_id: int) -> KafkaNode:
        """One broker: its host, port, pid and folder."""
        return self._nodes[node_id]

    def log_text(self, node_id: int) -> str:
        """All that a broker has logged."""
        return self.node(node_id).log_text()

    async def start_node(self, node_id: int) -> None:
        """Starts a stopped or killed broker again, on its old ports and data.

        Returns when it serves and has caught up, so that another one may be stopped next.
        """

        async def is_back() -> bool:
            if not await self._is_formed():
                return False
            async with self._admin(node_id) as admin:
                return node_id not in await admin.lagging()

        self.node(node_id).start()
        await self._until(is_back, f"node {node_id} is back")

    async def stop_node(self, node_id: int) -> None:
        """Stops a broker in good order; returns when its process has ended."""
        await self.node(node_id).stop()

    async def kill_node(self, node_id: int) -> None:
        """Kills a broker without warning; returns when its process has ended."""
        await self.node(node_id).kill()

    async def create_topic(
        self, name: str, partitions: int = 1, replication: int = 1, config: Mapping[str, str] | None = None
    ) -> None:
        """Creates a topic; returns when every running broker knows it and all its leaders serve it."""
        async with self._admin() as admin:
            await admin.create_topic(
                name, partitions=partitions, replication=replication, config=dict(config or {})
            )

        async def is_served() -> bool:
            known = [await admin.leaders(name) async for admin in self._every_admin()]
            # A broker tells of a topic a moment before it opens the log; offsets come from the log.
            return all(known) and len(await self.end_offsets(name)) == partitions

        await self._until(is_served, f"topic {name} is served")

    async def alter_topic(self, name: str, config: Mapping[str, str | None]) -> None:
        """Sets topic configs, None meaning the default again; returns when they are in force.

        Brokers apply changes in their order, each to the end before the next. So a second, harmless
        change follows the first: where it can be seen, the first one is done.
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
        """Deletes a topic; returns when no running broker knows it any more."""
        async with self._admin() as admin:
            await admin.delete_topic(name)

        async def is_gone() -> bool:
            known = [await admin.leaders(name) async for admin in self._every_admin()]
            return not any(known)

        await self._until(is_gone, f"topic {name} is gone")

    async def topic_config(self, name: str) -> dict[str, str]:
        """A topic's whole configuration as a broker has it in force."""
        async with self._admin() as admin:
            return await admin.topic_config(name)

    async def end_offsets(self, topic: str) -> dict[int, int]:
        """The offset that the next record of each partition will get, as far as consumers may see.

        That is the number of its records, where there are no transactions; with replicas, a record
        sent with acks=1 may be seen a moment later. Asked of the leaders themselves; while a
        partition has none that runs, the answer waits for one. Raises LookupError where there is no
        such topic.
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
        """One try with one choice of ports; leaves nothing behind where it fails. `jars` by version, the
        oldest first: its storage tool writes the cluster's first metadata, which newer brokers read."""
        async with AsyncExitStack() as stack:
            stack.callback(self._reap)
            folder, group = await stack.enter_async_context(guarded_folder("tsproxy-kafka-"))
            runtimes = {version: Runtime(each, self._heap, group) for version, each in jars.items()}
            ports = _choose_ports(self.node_ids)
            self._nodes = {
                n: KafkaNode(n, ports[n], folder / f"node-{n}", runtimes[self.versions[n]])
                for n in self.node_ids
            }
            security = self._client_security()
            scram = scram_arguments(security.users)
            texts = {
                n: server_properties(n, ports, security, node.data, self._own(n), self._advertised_host)
                for n, node in self._nodes.items()
            }
            oldest = next(iter(jars.values()))
            is_like_others = not (scram or self._properties or self._node_properties)
            kept = oldest.with_name(f"{oldest.name}.checkpoint") if is_like_others else None
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
        """True when every started broker is up and tells its clients about every started broker."""
        started = self._started()
        # Every one is asked: whichever has died is to be heard at once.
        if False in [node.is_up() for node in started]:
            return False
        expected = {node.node_id for node in started}
        known = [await admin.node_ids() async for admin in self._every_admin()]
        return all(expected <= nodes for nodes in known)

    async def _until(self, is_so: Callable[[], Awaitable[bool]], what: str) -> None:
        """Waits for a fact; brokers that do not answer yet, or not that, are asked again."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _PATIENCE_S
        while True:
            rejection: Exception | None = None
            try:
                if await is_so():
                    return
            except (OSError, KafkaError) as error:
                rejection = error
            if loop.time() > deadline:
                raise TimeoutError(f"waited {_PATIENCE_S} s in vain until {what}") from rejection
            await asyncio.sleep(_POLL_S)

    @asynccontextmanager
    async def _admin(self, node_id: int | None = None) -> AsyncIterator[Admin]:
        """A connection to the given broker, or to any that runs."""
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


def _choose_ports(node_ids: Sequence[int]) -> dict[int, NodePorts]:
    ports = iter(free_ports(_PORTS_PER_NODE * len(node_ids)))
    return {node_id: NodePorts(next(ports), next(ports), next(ports)) for node_id in node_ids}


def _check_security(
    security: str, mutual_tls: bool, authority: object | None, users: Mapping[str, str]
) -> None:
    """Raises ValueError for what a broker would reject late, or silently take for something else."""
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
