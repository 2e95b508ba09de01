"""The table of all configuration keys: what is read, what is checked, and what the docs say.

`docs/configuration.md` carries this table as `python -m tsproxy.config.reference` prints it; a test
compares them. A key is listed here when the feature behind it exists, not before.
"""

from dataclasses import dataclass
from typing import Final

from tsproxy.config import values
from tsproxy.config.settings import ClientAuth, LimitsFrom, SaslMechanism
from tsproxy.config.values import Parser
from tsproxy.model.view import Mode

KAFKA_NAMES: Final = "message.timestamp."


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value looks like, in a word for the docs, and how it is read."""

    word: str
    parse: Parser


@dataclass(frozen=True, slots=True)
class Key:
    """One key. `default` is written as a user would write it; None stands for "no value"."""

    path: str
    kind: Kind
    meaning: str
    default: str | None = None
    is_required: bool = False
    is_list: bool = False

    @property
    def steps(self) -> list[str]:
        """The names on the way to the key. Kafka's own names have dots and are one key here."""
        above, kafka_name, rest = self.path.partition(KAFKA_NAMES)
        return [*above.rstrip(".").split("."), kafka_name + rest] if kafka_name else self.path.split(".")


DURATION: Final = Kind("duration", values.duration_ms)
BOUND: Final = Kind("duration or `unlimited`", values.bound_ms)
SIZE: Final = Kind("size", values.size_bytes)
FILE_SIZE: Final = Kind("size", values.file_size_bytes)
ADDRESS: Final = Kind("host:port", values.upstream_address)
BIND: Final = Kind("host:port", values.bind_address)
BIND_OR_OFF: Final = Kind("host:port or `off`", values.bind_address_or_off)
HOST: Final = Kind("host", values.host)
PATH: Final = Kind("path", values.path)
NAME: Final = Kind("name", values.name)
TEXT: Final = Kind("text", values.not_empty)
SECRET: Final = Kind("secret", values.secret)
MODE: Final = Kind(" or ".join(f"`{mode}`" for mode in Mode), values.one_of(Mode))
LIMITS_FROM: Final = Kind(" or ".join(f"`{each}`" for each in LimitsFrom), values.one_of(LimitsFrom))
MECHANISM: Final = Kind(" or ".join(f"`{m}`" for m in SaslMechanism), values.one_of(SaslMechanism))
CLIENT_AUTH: Final = Kind(" or ".join(f"`{choice}`" for choice in ClientAuth), values.one_of(ClientAuth))


def _number(lowest: int, highest: int) -> Kind:
    return Kind("number", values.whole_number(lowest, highest))


OPTIONAL_SECTIONS: Final = {
    "upstream.tls": "Connections to brokers use TLS where this section is present, even as `{}`.",
    "upstream.admin.sasl": "How the proxy's own connection authenticates; clients bring what is theirs.",
    "listeners[].tls": "Clients of this listener use TLS where this section is present.",
}
"""Sections that mean something by being there; absent, they are None."""

KEYS: Final = (
    Key(
        "upstream.bootstrap_servers",
        ADDRESS,
        "The brokers to begin with; the others are discovered.",
        is_required=True,
        is_list=True,
    ),
    Key(
        "upstream.tls.ca",
        PATH,
        "PEM file of the authorities that brokers are checked against; without it the system's.",
    ),
    Key(
        "upstream.tls.certificate",
        PATH,
        "PEM file of the certificate shown to brokers (mutual TLS), with `key`.",
    ),
    Key("upstream.tls.key", PATH, "PEM file of that certificate's private key."),
    Key(
        "upstream.admin.refresh",
        DURATION,
        "How often brokers and the limits of all topics in use are read again.",
        default="30s",
    ),
    Key(
        "upstream.admin.sasl.mechanism",
        MECHANISM,
        "SASL mechanism of the proxy's own connection.",
        is_required=True,
    ),
    Key("upstream.admin.sasl.username", TEXT, "Its user name.", is_required=True),
    Key(
        "upstream.admin.sasl.password",
        SECRET,
        "Its password; better from `${VARIABLE}` than in the file.",
        is_required=True,
    ),
    Key(
        "listeners[].name", NAME, "Names the listener in metrics and in the decision log.", default="default"
    ),
    Key("listeners[].bind", BIND, "Where clients bootstrap. Port 0 takes any free port.", is_required=True),
    Key(
        "listeners[].advertised_host",
        HOST,
        "The host that clients are told for every broker; without it the host of `bind`.",
    ),
    Key(
        "listeners[].brokers.ports_from",
        _number(0, 65535),
        "Broker n is served on this port + n; without it the port after `bind`. 0 takes any free ports.",
    ),
    Key(
        "listeners[].brokers.count",
        _number(1, 65535),
        "Node ids from 0 to count - 1 can be served.",
        default="200",
    ),
    Key(
        "listeners[].tls.certificate",
        PATH,
        "PEM file of the certificate shown to clients, with its chain.",
        is_required=True,
    ),
    Key("listeners[].tls.key", PATH, "PEM file of its private key.", is_required=True),
    Key(
        "listeners[].tls.client_ca",
        PATH,
        "PEM file of the authorities that clients' certificates are checked against.",
    ),
    Key(
        "listeners[].tls.client_auth",
        CLIENT_AUTH,
        "Whether clients show a certificate; without it `required` where `client_ca` is given, else `none`.",
    ),
    Key(
        "policy.mode",
        MODE,
        "`enforce` refuses bad batches, `off` judges nothing.",
        default="enforce",
    ),
    Key(
        "policy.limits_from",
        LIMITS_FROM,
        "`broker`: each topic's own limits; `config`: `policy.defaults` for every topic, where the proxy "
        "may not read how topics are configured.",
        default="broker",
    ),
    Key(
        "policy.defaults.message.timestamp.before.max.ms",
        BOUND,
        "How far a record may lie behind the clock, with `limits_from: config`.",
        default="unlimited",
    ),
    Key(
        "policy.defaults.message.timestamp.after.max.ms",
        BOUND,
        "How far a record may lie ahead of the clock, with `limits_from: config`.",
        default="1h",
    ),
    Key(
        "decisions.directory",
        PATH,
        "Folder of the decision log; made if it is missing.",
        default="tsproxy-decisions",
    ),
    Key(
        "decisions.rotate.every",
        DURATION,
        "A decision file is closed at this age, whatever its size.",
        default="15m",
    ),
    Key("decisions.rotate.size", FILE_SIZE, "A decision file is closed at this size.", default="128MiB"),
    Key(
        "limits.produce_frame",
        SIZE,
        "Largest Produce request; brokers' `socket.request.max.bytes` is as much.",
        default="100MiB",
    ),
    Key("limits.other_frame", SIZE, "Largest request of any other kind.", default="8MiB"),
    Key(
        "limits.share_answer",
        SIZE,
        "Largest answer of ShareFetch and ShareAcknowledge, which are held whole.",
        default="100MiB",
    ),
    Key(
        "limits.in_flight_requests",
        _number(1, 1_000_000),
        "Requests of one connection that wait for an answer.",
        default="1000",
    ),
    Key("limits.decompressed_batch", SIZE, "Largest batch after decompression.", default="256MiB"),
    Key("limits.records_per_batch", _number(1, 100_000_000), "Most records in one batch.", default="1000000"),
    Key(
        "limits.culprits_listed",
        _number(1, 1_000_000),
        "Most records named in one answer as refused; all are counted.",
        default="10000",
    ),
    Key("limits.zstd_window", SIZE, "Largest window a zstd frame may ask for.", default="8MiB"),
    Key(
        "limits.drain_timeout",
        DURATION,
        "How long SIGTERM waits for requests that brokers are still answering.",
        default="30s",
    ),
    Key(
        "admin.bind",
        BIND_OR_OFF,
        "Where `/metrics`, `/livez` and `/readyz` are served.",
        default="127.0.0.1:9464",
    ),
    Key(
        "workers",
        _number(1, 256),
        "Processes that share the listening ports; more than 1 adds a supervisor over them.",
        default="1",
    ),
)


Branch = dict[str, "Key | Branch | ListOf"]


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose items are sections of one shape."""

    branch: Branch


def key_tree() -> Branch:
    """The table as a tree: section name -> key, section, or list of sections."""
    root: Branch = {}
    for key in KEYS:
        *sections, leaf = key.steps
        branch = root
        for section in sections:
            name = section.removesuffix("[]")
            below = branch.setdefault(name, ListOf({}) if section != name else {})
            assert not isinstance(below, Key), f"{key.path} lies below a key"
            branch = below.branch if isinstance(below, ListOf) else below
        branch[leaf] = key
    return root
