"""The configuration as the rest of the program sees it: frozen, typed, checked.

Defaults live in the table of `keys`, not here, so that the documentation cannot disagree.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Self

from tsproxy.config.connection_limits import ConnectionLimits
from tsproxy.config.parsed import Parsed
from tsproxy.decisions.privacy import Shown
from tsproxy.model.addresses import Network
from tsproxy.model.policy import Policy
from tsproxy.model.principals import MappingRule
from tsproxy.model.view import SessionLimits


@dataclass(frozen=True, slots=True)
class Address:
    """A host and port to connect to or to listen on; never one that a client is told."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class Secret:
    """A value that shows itself to nobody who does not ask by name."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


class BrokersFrom(StrEnum):
    """Who tells the proxy which brokers there are."""

    OWN_CONNECTION = "own_connection"
    CLIENTS = "clients"


class SaslMechanism(StrEnum):
    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"
    OAUTHBEARER = "OAUTHBEARER"
    AWS_MSK_IAM = "AWS_MSK_IAM"
    GSSAPI = "GSSAPI"


class ClientAuth(StrEnum):
    """Kafka's `ssl.client.auth`."""

    REQUIRED = "required"
    REQUESTED = "requested"
    NONE = "none"


class TlsVersion(StrEnum):
    """The oldest version of TLS that is spoken."""

    V1_2 = "1.2"
    V1_3 = "1.3"


@dataclass(frozen=True, slots=True)
class Password:
    """For PLAIN and SCRAM."""

    username: str
    password: Secret


@dataclass(frozen=True, slots=True)
class TokenFile:
    """For OAUTHBEARER: a file that somebody else keeps fresh, read at every login."""

    path: Path


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """For OAUTHBEARER: tokens from an endpoint (RFC 6749, section 4.4). `ca` None trusts what the system
    trusts."""

    endpoint: str
    client_id: str
    client_secret: Secret
    scope: str | None = None
    ca: Path | None = None


@dataclass(frozen=True, slots=True)
class MskIam:
    """For AWS_MSK_IAM: credentials come as AWS's own tools find them, or from `profile` or `role_arn`."""

    region: str
    profile: str | None = None
    role_arn: str | None = None


@dataclass(frozen=True, slots=True)
class Kerberos:
    """For GSSAPI: tickets come as MIT Kerberos finds them (KRB5_CLIENT_KTNAME, a credential cache)."""

    service_name: str = "kafka"


Credentials = Password | TokenFile | ClientCredentials | MskIam | Kerberos


@dataclass(frozen=True, slots=True)
class Sasl:
    """How the proxy's own connection shows who it is."""

    mechanism: SaslMechanism
    credentials: Credentials

    @property
    def brings_token(self) -> bool:
        """True where it logs in with a token that somebody else has made."""
        return isinstance(self.credentials, TokenFile | ClientCredentials | MskIam)

    @property
    def user(self) -> str:
        """Who that is, in words for operators."""
        match self.credentials:
            case Password(username=name):
                return f"the user {name!r}"
            case ClientCredentials(client_id=name):
                return f"the client {name!r}"
            case _:
                return f"the principal that authenticates by {self.mechanism.value}"


@dataclass(frozen=True, slots=True)
class UpstreamTls:
    """PEM files; `ca` None trusts what the system trusts. `ciphers` as OpenSSL names them, None for its own
    choice. `place` is where the file says so."""

    ca: Path | None
    certificate: Path | None
    key: Path | None
    key_password: Secret | None = None
    min_version: TlsVersion = TlsVersion.V1_2
    ciphers: str | None = None
    place: str = field(compare=False, default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class ListenerTls:
    certificate: Path
    key: Path
    client_ca: Path | None
    client_auth: ClientAuth
    key_password: Secret | None = None
    min_version: TlsVersion = TlsVersion.V1_2
    principal_mapping: tuple[MappingRule, ...] = ()
    client_crl: Path | None = None
    ciphers: str | None = None
    place: str = field(compare=False, default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class Upstream:
    bootstrap_servers: tuple[Address, ...]
    tls: UpstreamTls | None
    sasl: Sasl | None
    refresh_ms: int
    brokers_from: BrokersFrom = BrokersFrom.OWN_CONNECTION
    clients_use_sasl: bool | None = None
    """None where the own connection shows it."""
    bearer_claim: str = "sub"
    """Of OAUTHBEARER tokens: what brokers make the principal of."""

    @property
    def needs_sasl(self) -> bool:
        """True where a client is accepted by SASL alone."""
        return self.sasl is not None if self.clients_use_sasl is None else self.clients_use_sasl


@dataclass(frozen=True, slots=True)
class BrokerPorts:
    """Node n is served on `ports_from + n - first_id`, for `count` ids from `first_id` on; `ports_from` 0
    takes any free port (tests)."""

    ports_from: int
    count: int
    first_id: int = 0

    def port_of(self, node_id: int) -> int | None:
        """The port of a node, or None where it lies outside the range. A pure function of its id, so
        that all workers and replicas agree without talking."""
        place = node_id - self.first_id
        if not 0 <= place < self.count:
            return None
        return self.ports_from + place if self.ports_from else 0


@dataclass(frozen=True, slots=True)
class BrokerHosts:
    """Node n is served under a host name of its own, told apart by the TLS handshake (SNI)."""

    before: str
    after: str

    count: ClassVar[int] = 0
    """Ports of their own, which they have none of."""

    def __str__(self) -> str:
        return f"{self.before}{{node_id}}{self.after}"

    def host_of(self, node_id: int) -> str:
        return f"{self.before}{node_id}{self.after}"

    def node_of(self, host: str) -> int | None:
        """The node that a host name in lower case stands for, None for any other name."""
        digits = host.removeprefix(self.before).removesuffix(self.after)
        is_number = digits.isascii() and digits.isdigit() and len(digits) <= 10
        return int(digits) if is_number and host == self.host_of(int(digits)) else None


class ProxyProtocolVersion(StrEnum):
    """The form in which a load balancer says who the client is."""

    V2 = "v2"


@dataclass(frozen=True, slots=True)
class ProxyProtocol:
    """Every connection begins with a PROXY header. `trusted`: who may connect, and is believed."""

    version: ProxyProtocolVersion
    trusted: tuple[Network, ...]


class AddressesInConfigs(StrEnum):
    """What becomes of brokers' addresses among their configuration, which nobody connects to."""

    MASK = "mask"
    PASS = "pass"  # noqa: S105  # no password


@dataclass(frozen=True, slots=True)
class Listener:
    name: str
    bind: Address
    advertised_host: str
    brokers: BrokerPorts | BrokerHosts
    tls: ListenerTls | None
    proxy_protocol: ProxyProtocol | None = None
    addresses_in_configs: AddressesInConfigs = AddressesInConfigs.MASK
    place: str = field(compare=False, default="")


@dataclass(frozen=True, slots=True)
class Retention:
    """How long closed decision files are kept; None keeps them whatever their age, or size together."""

    age_ms: int | None
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """The topic that decisions go to as well; without servers of its own it is upstream's."""

    name: str
    bootstrap_servers: tuple[Address, ...]


@dataclass(frozen=True, slots=True)
class Decisions:
    directory: Path
    interval_ms: int
    rotate_every_ms: int
    rotate_size_bytes: int
    sync_every_ms: int | None
    """None where the system alone decides when a file that is being written reaches the disk."""
    retention: Retention
    addresses: Shown = Shown.KEEP
    principals: Shown = Shown.KEEP
    salt: Secret | None = None
    """Of their hashes; None where one that is kept in the folder will do."""
    topic: TopicSettings | None = None

    @property
    def hashes(self) -> bool:
        return Shown.HASH in (self.addresses, self.principals)


@dataclass(frozen=True, slots=True)
class DeadLetterSettings:
    """Where copies of rejected records go, and how much may wait to be copied."""

    topic: str
    max_in_flight_bytes: int
    max_records: int

    def share(self, workers: int) -> Self:
        """What one of so many workers may keep, rounded up."""
        return replace(
            self,
            max_in_flight_bytes=-(-self.max_in_flight_bytes // workers),
            max_records=-(-self.max_records // workers),
        )


class WhenBeyond(StrEnum):
    """What is done while this proxy's clock is too far from the brokers'."""

    WARN = "warn"
    AUDIT = "audit"
    """Nothing is enforced: whatever would be rejected is counted, and left to the brokers."""


@dataclass(frozen=True, slots=True)
class ClockProbe:
    topic: str
    every_ms: int


@dataclass(frozen=True, slots=True)
class ClockSettings:
    """`probe` None where brokers' clocks are not measured."""

    max_offset_ms: int
    when_beyond: WhenBeyond
    probe: ClockProbe | None


class LogLevel(StrEnum):
    """The least of what the operators' log tells."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Config:
    upstream: Upstream
    listeners: tuple[Listener, ...]
    policy: Policy
    decisions: Decisions
    dead_letters: DeadLetterSettings | None
    """None where no copies are made."""
    clock: ClockSettings
    session_limits: SessionLimits
    connection_limits: ConnectionLimits
    drain_delay_ms: int
    """How long a proxy that was told to stop still takes clients."""
    drain_timeout_ms: int
    admin_bind: Address | None
    """None where the admin port is off."""
    admin_hosts: tuple[str, ...]
    """Names by which a browser may ask there, beside addresses, localhost and the host of `admin_bind`."""
    workers: int
    """Processes that share the listening ports; 1 is this process alone."""
    log_level: LogLevel
    parsed: Parsed = field(compare=False, repr=False)
    """Every value by its key, as it was written or by default: what a reload compares."""

    @property
    def stop_ms(self) -> int:
        """How long stopping in order may take."""
        return self.drain_delay_ms + self.drain_timeout_ms
