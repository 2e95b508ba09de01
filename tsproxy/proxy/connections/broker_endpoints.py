"""How clients address the brokers of one listener: each broker has its own port, or its own host name.

In both cases a broker's advertised address is a pure function of its node id, so that all workers and
replicas agree without communication. A broker is advertised only while the proxy accepts connections for it.
"""

from collections.abc import Callable, Set

from tsproxy.config.settings import BrokerHosts, BrokerPorts
from tsproxy.model.addresses import Address
from tsproxy.model.view import Endpoint
from tsproxy.proxy.ports import ListenError, Port

OpenPort = Callable[[int, int], Port]
"""(node_id, port; 0 for any free one) -> the bound port. Raises ListenError."""


class EndpointsByPort:
    """One port for each broker. A broker that is gone keeps its port, since it may come back. Until then
    connections to it fail."""

    def __init__(self, brokers: BrokerPorts, open_port: OpenPort) -> None:
        self._brokers = brokers
        self._open_port = open_port
        self._ports: dict[int, Port] = {}

    @property
    def node_ids(self) -> Set[int]:
        """The node ids of the served brokers."""
        return self._ports.keys()

    def has_place_for(self, node_id: int) -> bool:
        """True if this broker can be served, provided that its port is free."""
        return self._brokers.port_of(node_id) is not None

    def serve(self, node_id: int) -> None:
        """Serve this broker, so that it may be advertised to clients. Raises ListenError."""
        number = self._brokers.port_of(node_id)
        if number is None:
            raise ListenError(_outside(node_id, self._brokers))
        self._ports[node_id] = self._open_port(node_id, number)

    def endpoints(self, advertised_host: str) -> dict[int, Endpoint]:
        return {
            node_id: Endpoint(advertised_host, port.address.port) for node_id, port in self._ports.items()
        }

    def node_asked_for(self, host: str | None) -> int | None:  # noqa: ARG002  # the port names the broker
        """The broker that a connection to the bootstrap port asks for; None for any broker."""
        return None

    def close(self) -> None:
        """Stop accepting. Existing connections stay."""
        for port in self._ports.values():
            port.close()


class EndpointsByHost:
    """All brokers share the bootstrap port. The host name of the TLS handshake (SNI) names the broker."""

    def __init__(self, brokers: BrokerHosts, bootstrap: Address) -> None:
        self._brokers = brokers
        self._node_ids: set[int] = set()
        self._port = bootstrap.port

    @property
    def node_ids(self) -> Set[int]:
        return self._node_ids

    def has_place_for(self, node_id: int) -> bool:  # noqa: ARG002  # names never run out
        return True

    def serve(self, node_id: int) -> None:
        self._node_ids.add(node_id)

    def endpoints(self, advertised_host: str) -> dict[int, Endpoint]:  # noqa: ARG002  # not needed
        hosts = {node_id: self._brokers.host_of(node_id) for node_id in self._node_ids}
        return {node_id: Endpoint(host, self._port) for node_id, host in hosts.items()}

    def node_asked_for(self, host: str | None) -> int | None:
        return None if host is None else self._brokers.node_of(host)

    def close(self) -> None:
        """Does nothing: the bootstrap port is not closed here."""


Endpoints = EndpointsByPort | EndpointsByHost
"""The brokers of one listener."""


def _outside(node_id: int, brokers: BrokerPorts) -> str:
    first, last = brokers.first_id, brokers.first_id + brokers.count - 1
    return (
        f"its id is not among the {brokers.count} from {first} to {last} that have a port: set "
        "listeners[].brokers.first_id to the lowest node id and brokers.count to as many as there may be "
        f"from there on ({abs(node_id - first) + 1} or more), or serve by host names (brokers.host)"
    )
