"""`listeners`: where clients connect, and how each broker is served to them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Final, Self

from tsproxy.config import values
from tsproxy.config.keys import Kind, fixed, keys_for, keys_of, live, section
from tsproxy.config.kinds import (
    BIND,
    CIDR,
    CIPHERS,
    HOST,
    MAPPING_RULE,
    NAME,
    PATH,
    SECRET,
    TEXT,
    choice,
    number,
)
from tsproxy.config.settings.upstream import TlsVersion
from tsproxy.config.values import Secret
from tsproxy.model.addresses import Address, Network
from tsproxy.model.principals import MappingRule


class ClientAuth(StrEnum):
    """Kafka's `ssl.client.auth`."""

    REQUIRED = "required"
    REQUESTED = "requested"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTls:
    """TLS of a port to which others connect."""

    certificate: Path = live(PATH, "PEM file of the certificate shown to clients, with its chain.")
    key: Path = live(PATH, "PEM file of its private key.")
    key_password: Secret | None = live(SECRET, "The passphrase of an encrypted `key`.", default=None)
    min_version: TlsVersion = live(choice(TlsVersion), "The oldest version of TLS to speak.", default="1.2")
    ciphers: str | None = live(TEXT, CIPHERS, default=None)
    client_ca: Path | None = live(
        PATH, "PEM file of the authorities that clients' certificates are checked against.", default=None
    )
    client_crl: Path | None = live(
        PATH,
        "PEM file of revocation lists (CRL), one for each authority that signs clients' certificates.",
        default=None,
    )
    client_auth: ClientAuth = live(
        choice(ClientAuth),
        "Whether clients show a certificate; without it `required` where `client_ca` is given, else `none`.",
        default=None,
        otherwise=ClientAuth.NONE,
    )
    place: str = field(compare=False, default="")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerTls(ServerTls):
    principal_mapping: tuple[MappingRule, ...] = live(
        MAPPING_RULE,
        "How a certificate's subject becomes a principal: Kafka's `ssl.principal.mapping.rules`, one "
        "rule for each item; without it the subject as it is.",
        default=None,
        many=True,
    )


@dataclass(frozen=True, slots=True)
class BrokerPorts:
    """Node n is served on `ports_from + n - first_id`, for `count` ids from `first_id` on; `ports_from` 0
    takes any free port (tests)."""

    ports_from: int = fixed(
        number(0, 65535),
        "Broker n is served on this port + n - `first_id`; without it the port after `bind`. 0 takes "
        "any free ports.",
        default=None,
    )
    count: int = fixed(
        number(1, 65535),
        "How many node ids are served; each takes a port.",
        default="200",
    )
    first_id: int = fixed(
        number(0, 2**31 - 1),
        "The lowest node id. Some clusters from ZooKeeper's time begin at 1001.",
        default="0",
    )

    def port_of(self, node_id: int) -> int | None:
        """The port of a node; None if it lies outside the range. It follows from the node id alone, so all
        workers and replicas agree without communication."""
        place = node_id - self.first_id
        if not 0 <= place < self.count:
            return None
        return self.ports_from + place if self.ports_from else 0


@dataclass(frozen=True, slots=True)
class BrokerHosts:
    """Node n is served under its own host name, which the TLS handshake names (SNI)."""

    before: str
    after: str

    count: ClassVar[int] = 0
    """The number of ports that only brokers use: none."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """The host name with `{node_id}` in it. Raises ValueError."""
        allowed = "a host name with {node_id} in it once, such as b{node_id}.kafka.example.com"
        before, placeholder, after = text.strip().lower().partition("{node_id}")
        try:
            values.host(f"{before}0{after}")
        except ValueError:
            raise ValueError(allowed) from None
        if not placeholder:
            raise ValueError(allowed)
        return cls(before, after)

    def __str__(self) -> str:
        return f"{self.before}{{node_id}}{self.after}"

    def host_of(self, node_id: int) -> str:
        return f"{self.before}{node_id}{self.after}"

    def node_of(self, host: str) -> int | None:
        """The node to which a host name in lower case belongs; None for any other name."""
        digits = host.removeprefix(self.before).removesuffix(self.after)
        is_number = digits.isascii() and digits.isdigit() and len(digits) <= 10
        return int(digits) if is_number and host == self.host_of(int(digits)) else None


_BROKERS_KEYS: Final = {
    **keys_of(BrokerPorts),
    **keys_for(
        BrokerHosts,
        {
            "host": fixed(
                Kind("host with `{node_id}`", BrokerHosts.parse),
                "Instead of ports: broker n is served at `bind` under this host name (SNI). Needs `tls`.",
                default=None,
            )
        },
    ),
}
"""The keys of both ways to serve brokers, side by side. `host` decides between them (`build`)."""


class ProxyProtocolVersion(StrEnum):
    """The form in which a load balancer names the client."""

    V2 = "v2"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyProtocol:
    """Every connection begins with a PROXY header. Only `trusted` addresses may connect."""

    version: ProxyProtocolVersion = live(
        choice(ProxyProtocolVersion), "The version of the PROXY protocol header.", default="v2"
    )
    trusted: tuple[Network, ...] = live(
        CIDR,
        "The load balancer's addresses. A connection from elsewhere is closed: it could claim any address.",
        path="from",
        many=True,
    )


class AddressesInConfigs(StrEnum):
    """How DescribeConfigs answers show brokers' addresses; clients do not connect to those."""

    MASK = "mask"
    PASS = "pass"  # noqa: S105  # no password


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    name: str = fixed(NAME, "Names the listener in metrics and in the decision log.", default="default")
    bind: Address = fixed(BIND, "The address where clients bootstrap. Port 0 takes any free port.")
    advertised_host: str = live(
        HOST, "The host that clients get for every broker; without it the host of `bind`.", default=None
    )
    brokers: BrokerPorts | BrokerHosts = section(BrokerPorts, _BROKERS_KEYS)
    tls: ListenerTls | None = section(ListenerTls, optional="Clients use TLS if this section is present.")
    proxy_protocol: ProxyProtocol | None = section(
        ProxyProtocol,
        optional="Every connection begins with a PROXY protocol header if this section is present.",
        live=True,
        example="{ version: v2, from: [10.0.0.0/8] } with the load balancer's addresses",
    )
    addresses_in_configs: AddressesInConfigs = live(
        choice(AddressesInConfigs),
        "Whether answers of DescribeConfigs and DescribeQuorum, and error texts of AlterConfigs and "
        "IncrementalAlterConfigs, lose (`mask`) or keep (`pass`) addresses of brokers and controllers.",
        default="mask",
    )
    place: str = field(compare=False, default="")

    def ports(self) -> Iterator[tuple[str, range]]:
        """The keys that make the proxy listen, each with its ports. Ports that the system chooses are left
        out."""
        if self.bind.port:
            yield "bind", range(self.bind.port, self.bind.port + 1)
        if isinstance(self.brokers, BrokerPorts) and self.brokers.ports_from:
            yield "brokers", range(self.brokers.ports_from, self.brokers.ports_from + self.brokers.count)
