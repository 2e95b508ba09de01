"""The `server.properties` of one broker, as a pure function of the cluster's settings.

Every broker is a controller, too, so that a test may kill any one of three. There are three listeners.
CLIENTS has the security of the test. INTERNAL is plain: it connects brokers with each other and with
`tsproxy.testing`'s own administration. The third is CONTROLLER. So security concerns only clients.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

CLIENTS: Final = "CLIENTS"
INTERNAL: Final = "INTERNAL"
CONTROLLER: Final = "CONTROLLER"
HOST: Final = "127.0.0.1"

SASL_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
"""With SASL all mechanisms are enabled; each client chooses."""

_AUTHORIZER: Final = "authorizer.class.name"
_SUPER_USERS: Final = "super.users"
_PLAIN_USER: Final = "User:ANONYMOUS"
"""The principal on the INTERNAL and CONTROLLER listeners."""


@dataclass(frozen=True, slots=True)
class NodePorts:
    """The ports of one broker, on HOST."""

    clients: int
    internal: int
    controller: int


@dataclass(frozen=True, slots=True)
class ClientSecurity:
    """The security of the CLIENTS listener. Paths name PEM files, with the key if one is needed.

    `truststore` verifies client certificates. If it is None, clients need none.
    """

    protocol: str = "PLAINTEXT"
    keystore: Path | None = None
    truststore: Path | None = None
    users: Mapping[str, str] = field(default_factory=dict)
    """Passwords by user name, for every SASL mechanism."""


def server_properties(
    node_id: int,
    ports: Mapping[int, NodePorts],
    security: ClientSecurity,
    data: Path,
    *,
    overrides: Mapping[str, str] | None = None,
    advertised_host: str = HOST,
) -> str:
    """The text of one broker's file. `ports` are those of all brokers by node id. `overrides` replace any
    other values.

    `advertised_host` is the host name for clients, in place of HOST. Brokers among themselves use HOST.
    """
    its = ports[node_id]
    copies = min(3, len(ports))
    properties = {
        "process.roles": "broker,controller",
        "node.id": str(node_id),
        "controller.quorum.voters": ",".join(f"{n}@{HOST}:{p.controller}" for n, p in ports.items()),
        "controller.listener.names": CONTROLLER,
        "inter.broker.listener.name": INTERNAL,
        "listeners": _listeners({CLIENTS: its.clients, INTERNAL: its.internal, CONTROLLER: its.controller}),
        "advertised.listeners": ",".join(
            [_listeners({CLIENTS: its.clients}, advertised_host), _listeners({INTERNAL: its.internal})]
        ),
        "listener.security.protocol.map": (
            f"{CLIENTS}:{security.protocol},{INTERNAL}:PLAINTEXT,{CONTROLLER}:PLAINTEXT"
        ),
        "log.dirs": str(data),
        "offsets.topic.num.partitions": "5",  # the default, fifty, only makes starts slower
        "offsets.topic.replication.factor": str(copies),
        "transaction.state.log.num.partitions": "5",
        "transaction.state.log.replication.factor": str(copies),
        "transaction.state.log.min.isr": str(min(2, copies)),
        "share.coordinator.state.topic.replication.factor": str(copies),
        "share.coordinator.state.topic.min.isr": str(min(2, copies)),
        "group.initial.rebalance.delay.ms": "0",
        # Members of the newer groups get assignments by heartbeat, every 5 s by default.
        **{f"group.{kind}.heartbeat.interval.ms": "500" for kind in ("consumer", "share")},
        **{f"group.{kind}.min.heartbeat.interval.ms": "500" for kind in ("consumer", "share")},
        "log.cleaner.dedupe.buffer.size": str(2 << 20),  # the default takes half of the heap at each start
        # A controller writes an idle record every 500 ms for its followers. One that is alone has none.
        **({} if len(ports) > 1 else {"metadata.max.idle.interval.ms": "0"}),
        # A killed broker may come back only when its old session has ended: 9 s by default.
        "broker.session.timeout.ms": "4000",
        "broker.heartbeat.interval.ms": "500",
        **_tls(security),
        **_sasl(security),
        **(overrides or {}),
    }
    if _AUTHORIZER in properties:
        # Otherwise neither the brokers nor the administration could connect to brokers.
        named = properties.get(_SUPER_USERS)
        properties[_SUPER_USERS] = f"{named};{_PLAIN_USER}" if named else _PLAIN_USER
    return "".join(f"{name}={_escaped(value)}\n" for name, value in properties.items())


def _listeners(ports: Mapping[str, int], host: str = HOST) -> str:
    return ",".join(f"{name}://{host}:{port}" for name, port in ports.items())


def _tls(security: ClientSecurity) -> dict[str, str]:
    if security.keystore is None:
        return {}
    prefix = f"listener.name.{CLIENTS.lower()}.ssl"
    properties = {f"{prefix}.keystore.type": "PEM", f"{prefix}.keystore.location": str(security.keystore)}
    if security.truststore is not None:
        properties |= {
            f"{prefix}.truststore.type": "PEM",
            f"{prefix}.truststore.location": str(security.truststore),
            f"{prefix}.client.auth": "required",
        }
    return properties


def _sasl(security: ClientSecurity) -> dict[str, str]:
    if not security.users:
        return {}
    prefix = f"listener.name.{CLIENTS.lower()}"
    common = "org.apache.kafka.common.security"
    users = " ".join(f'user_{name}="{password}"' for name, password in security.users.items())
    properties = {
        f"{prefix}.sasl.enabled.mechanisms": ",".join(SASL_MECHANISMS),
        f"{prefix}.plain.sasl.jaas.config": f"{common}.plain.PlainLoginModule required {users};",
    }
    for mechanism in SASL_MECHANISMS[1:]:
        login = f"{common}.scram.ScramLoginModule required;"
        properties[f"{prefix}.{mechanism.lower()}.sasl.jaas.config"] = login
    return properties


def scram_arguments(users: Mapping[str, str]) -> Sequence[str]:
    """Arguments for the storage tool that write the users' SCRAM credentials when it formats a node."""
    return [
        f"--add-scram={mechanism}=[name={name},password={password}]"
        for mechanism in SASL_MECHANISMS[1:]
        for name, password in users.items()
    ]


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")
