"""A configured listener while it runs: its ports, its view, its relays.

Clients bootstrap at one port and then go to the ports of single brokers. Node n has the port
`ports_from + n`; it is bound when the node is discovered and before any client is told of it, since
only nodes with an open port are in the view. Where a node's port leads is looked up for each
connection: brokers move.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from types import MappingProxyType

import structlog

from tsproxy.config.settings import Address, Config, Listener
from tsproxy.model.outcome import Peer
from tsproxy.model.view import Endpoint, View
from tsproxy.runtime.cluster import ClusterFacts
from tsproxy.runtime.limits.limit import Limit
from tsproxy.runtime.ports import ListenError, Port
from tsproxy.runtime.relay import Relay, Surroundings
from tsproxy.runtime.reload import Commit
from tsproxy.runtime.tls import CurrentTls, handshake_text
from tsproxy.runtime.topic_limits import EveryTopic
from tsproxy.runtime.upstream import Upstream, UpstreamError

log = structlog.get_logger()

Targets = Callable[[], Sequence[Address]]
"""Where connections of one port lead, asked for each of them."""


class Front:
    """One listener. Binding raises ListenError; nothing is accepted before `open`."""

    def __init__(
        self,
        listener: Listener,
        config: Config,
        tls: CurrentTls | None,
        upstream: Upstream,
        around: Surroundings,
    ) -> None:
        self.relays: set[Relay] = set()
        self._around = around
        self._brokers: dict[int, Address] = {}
        self._config = config
        self._facts = ClusterFacts()
        self._is_shared = config.workers > 1
        self._listener = listener
        self._next_bootstrap = 0
        self._nodes: dict[int, Port] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._tls = tls
        self._unserved: set[int] = set()
        self._upstream = upstream
        self._view = View(limits=config.session_limits, mode=config.mode)
        self._bootstrap = Port(listener.bind, self._into(self._bootstrap_targets), is_shared=self._is_shared)

    @property
    def name(self) -> str:
        return self._listener.name

    @property
    def address(self) -> Address:
        """Where clients bootstrap, with the real port."""
        return self._bootstrap.address

    @property
    def endpoints(self) -> dict[int, Endpoint]:
        """The brokers that are served here, as clients are told of them."""
        return dict(self._view.endpoints)

    def open(self) -> None:
        """Let clients bootstrap. To be called when brokers are known. Raises ListenError."""
        self._bootstrap.open()

    def see(self, facts: ClusterFacts) -> None:
        """Serve the brokers that there are now, and tell every session what is known now.

        A broker that is gone keeps its port, and connections to it fail: it may come back.
        """
        self._brokers.update(facts.brokers)
        for node_id in sorted(facts.brokers.keys() - self._nodes.keys()):
            self._serve_node(node_id)
        self._facts = facts
        self._renew_view()

    def prepare(self, config: Config) -> Commit:
        """A reload: every session goes by the new settings from its next bytes on; the sizes of frames
        hold for connections made from then on."""
        [listener] = [each for each in config.listeners if each.name == self.name]

        def commit() -> None:
            self._config = config
            self._listener = listener
            self._renew_view()

        return commit

    def _renew_view(self) -> None:
        """Tell every session what is known of the cluster and what is configured."""
        config, facts = self._config, self._facts
        self._view = View(
            endpoints=MappingProxyType(
                {
                    node_id: Endpoint(self._listener.advertised_host, port.address.port)
                    for node_id, port in self._nodes.items()
                }
            ),
            topics=facts.topics if config.limits is None else EveryTopic(config.limits),
            limits=config.session_limits,
            mode=config.mode,
            broker_needs_sasl=facts.needs_sasl,
        )
        for relay in self.relays:
            relay.see(self._view)

    def stop_accepting(self) -> None:
        self._bootstrap.close()
        for port in self._nodes.values():
            port.close()

    async def stop_connecting(self) -> None:
        """Give up on connections that are still being made."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _serve_node(self, node_id: int) -> None:
        number = self._listener.brokers.port_of(node_id)
        if number is None:
            self._cannot_serve(node_id, f"its id is not below brokers.count ({self._listener.brokers.count})")
            return
        try:
            port = Port(
                Address(self._listener.bind.host, number),
                self._into(lambda: [self._brokers[node_id]]),
                is_shared=self._is_shared,
            )
            port.open()
        except ListenError as error:
            self._cannot_serve(node_id, str(error))
            return
        self._nodes[node_id] = port
        self._unserved.discard(node_id)
        log.info(
            "broker_served",
            listener=self.name,
            node_id=node_id,
            address=str(port.address),
            upstream=str(self._brokers[node_id]),
        )

    def _cannot_serve(self, node_id: int, text: str) -> None:
        """Told once; tried again whenever brokers are refreshed."""
        if node_id not in self._unserved:
            self._unserved.add(node_id)
            log.error("broker_not_served", listener=self.name, node_id=node_id, error=text)

    def _bootstrap_targets(self) -> Sequence[Address]:
        """The given upstreams, beginning with the next one each time."""
        servers = self._config.upstream.bootstrap_servers
        start = self._next_bootstrap % len(servers)
        self._next_bootstrap = (start + 1) % len(servers)
        return servers[start:] + servers[:start]

    def _into(self, targets: Targets) -> Callable[[socket.socket, str, int], None]:
        def accepted(connection: socket.socket, host: str, port: int) -> None:
            if (limit := self._around.limits.admit(host)) is not None:
                connection.close()
                self._refused(host, port, limit)
                return
            task = asyncio.get_running_loop().create_task(self._connect(connection, host, port, targets))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        return accepted

    async def _connect(self, connection: socket.socket, host: str, port: int, targets: Targets) -> None:
        """Make a relay of an accepted connection; from then on it lives by its callbacks."""
        relay = Relay(Peer(self.name, host, port), self._view, self._around, self._ended)
        self.relays.add(relay)
        self._around.limits.join(relay, host)
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: relay.client,
                connection,
                ssl=self._tls() if self._tls else None,
                ssl_handshake_timeout=self._around.limits.handshake_s if self._tls else None,
            )
        except (OSError, TimeoutError) as error:
            self._handshake_failed(relay, host, port, error)
            return
        except BaseException:  # cancelled, or a mistake: in either case this client is gone
            relay.client_unavailable()
            raise
        try:
            await self._upstream.connect(targets(), relay.broker)
        except UpstreamError as error:
            relay.upstream_unavailable(str(error))
        except BaseException:  # cancelled, or a mistake
            relay.upstream_unavailable("the proxy gave up")
            raise
        else:
            relay.upstream_connected()

    def _ended(self, relay: Relay) -> None:
        self.relays.discard(relay)
        self._around.limits.leave(relay)

    def _refused(self, host: str, port: int, limit: Limit) -> None:
        facts = {"listener": self.name, "client": host, "client_port": port, "limit": limit.value}
        self._around.notes.warn(host, "connection_refused", facts)
        self._around.metrics.limit_reached(limit)

    def _handshake_failed(self, relay: Relay, host: str, port: int, error: Exception) -> None:
        text = handshake_text(error)
        if isinstance(error, ConnectionAbortedError):  # what both loops raise when its time is over
            self._around.metrics.limit_reached(Limit.HANDSHAKE)
            seconds = self._around.limits.handshake_s
            text = f"no TLS handshake within {seconds:g} s (limits.handshake): does the other side speak TLS?"
        facts = {"listener": self.name, "client": host, "client_port": port, "error": text}
        self._around.notes.warn(host, "tls_handshake_failed", facts)
        self._around.metrics.handshake_failed(self.name)
        relay.client_unavailable()
