"""What a key of the configuration is: where it stands, how its value is read, when it takes effect.

The keys themselves stand in `keys`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from tsproxy.config import equivalents, patterns, values
from tsproxy.config.settings import (
    AddressesInConfigs,
    BrokersFrom,
    ClientAuth,
    LogLevel,
    ProxyProtocolVersion,
    SaslMechanism,
    TlsVersion,
    WhenBeyond,
)
from tsproxy.config.values import Parser
from tsproxy.decisions.privacy import Shown
from tsproxy.model.custom_rule import OnError
from tsproxy.model.kafka import LONG_MAX
from tsproxy.model.policy import Choice, LimitsFrom, Mode, OnViolation, Preset
from tsproxy.model.principals import MappingRule

KAFKA_NAMES: Final = "message.timestamp."
HIDDEN: Final = "***"
"""In place of a secret."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value looks like, in a word for the docs, and how it is read.

    For editors: `pattern` is what fits the whole of every text that `parse` takes (it may fit more),
    `choices` are all there are, `bounds` those of a number. `write` makes of a value a text (or number)
    that reads as the same one; a secret's shows nothing of it. `meant`: how a text that `parse` does not take
    is written here.
    """

    word: str
    parse: Parser
    pattern: str | None = None
    choices: tuple[str, ...] = ()
    bounds: tuple[int, int] | None = None
    write: Callable[[Any], str | int] = str
    meant: equivalents.Meant | None = None

    def advice(self, text: str) -> str | None:
        """How to write what this text seems to say; None where nothing is known."""
        said = self.meant(text) if self.meant else ()
        known = next((advice for value, advice in said if self._takes(value)), None)
        return known or equivalents.strange_character(text)

    def _takes(self, text: str) -> bool:
        try:
            self.parse(text)
        except ValueError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Key:
    """One key. `default` is written as a user would write it; None stands for "no value".

    `is_live`: a reload takes a new value into use. To be said only of a key whose room adopts it
    (`proxy.reload.reloader`); any other keeps its value until the proxy is restarted, and the log says so.
    """

    path: str
    kind: Kind
    meaning: str
    default: str | None = None
    is_required: bool = False
    is_list: bool = False
    is_live: bool = False

    @property
    def steps(self) -> list[str]:
        """The names on the way to the key. Kafka's own names have dots and are one key here."""
        above, kafka_name, rest = self.path.partition(KAFKA_NAMES)
        return [*above.rstrip(".").split("."), kafka_name + rest] if kafka_name else self.path.split(".")


@dataclass(frozen=True, slots=True)
class OptionalSection:
    """A section, or (its path ends in `[]`) a list of sections, that may be left out.

    An absent section is None and an absent list is empty. `is_live`: a reload may make it appear or
    vanish, and give a list more or fewer items. `example` is told to those who write something else there.
    """

    path: str
    meaning: str
    is_live: bool = False
    example: str | None = None


_DURATION: Final = r"[0-9]+(ms|s|m|h|d)"
_SIZE: Final = r"[0-9]+(B|KiB|MiB|GiB)"
_ADDRESS: Final = r".+:[0-9]{1,5}"


def _choice(choices: Iterable[StrEnum]) -> Kind:
    choices = tuple(choices)
    words = tuple(each.value for each in choices)
    return Kind(" or ".join(f"`{word}`" for word in words), values.one_of(choices), choices=words)


def _or_none(kind: Kind) -> Kind:
    return Kind(
        f"{kind.word} or `none`",
        values.unless("none", kind.parse),
        choices=(*kind.choices, "none"),
        write=values.or_text("none", str),
    )


def _pattern(parse: Parser) -> Kind:
    return Kind("glob or `/regular expression/`", parse, write=lambda value: str(value.text))


DURATION: Final = Kind(
    "duration", values.duration_ms, _DURATION, write=values.duration_text, meant=equivalents.durations
)
DURATION_OR_OFF: Final = Kind(
    "duration or `off`",
    values.unless("off", values.duration_ms),
    f"{_DURATION}|off",
    write=values.or_text("off", values.duration_text),
    meant=equivalents.durations,
)
TOLERANCE: Final = Kind(
    "duration", values.tolerance_ms, _DURATION, write=values.duration_text, meant=equivalents.durations
)
BOUND: Final = Kind(
    "duration, milliseconds or `unlimited`",
    values.kafka_bound,
    f"{_DURATION}|[0-9_]+|unlimited",
    bounds=(0, LONG_MAX),
    write=values.bound_text,
    meant=equivalents.durations,
)
AGE: Final = Kind(
    "duration or `unlimited`",
    values.unless("unlimited", values.duration_ms),
    f"{_DURATION}|unlimited",
    write=values.or_text("unlimited", values.duration_text),
    meant=equivalents.durations,
)
UNLESS_NEVER: Final = Kind(
    "duration or `never`",
    values.unless("never", values.duration_ms),
    f"{_DURATION}|never",
    write=values.or_text("never", values.duration_text),
    meant=equivalents.durations,
)
INTERVAL: Final = Kind(
    "duration that divides an hour",
    values.interval_ms,
    _DURATION,
    write=values.duration_text,
    meant=equivalents.durations,
)
FILE_AGE: Final = Kind(
    "duration up to 1d",
    values.file_age_ms,
    _DURATION,
    write=values.duration_text,
    meant=equivalents.durations,
)
SIZE: Final = Kind("size", values.size_bytes, _SIZE, write=values.size_text, meant=equivalents.sizes)
FILE_SIZE: Final = Kind(
    "size", values.file_size_bytes, _SIZE, write=values.size_text, meant=equivalents.sizes
)
TOTAL_SIZE: Final = Kind(
    "size", values.total_size_bytes, _SIZE, write=values.size_text, meant=equivalents.sizes
)
TOTAL_SIZE_OR_UNLIMITED: Final = Kind(
    "size or `unlimited`",
    values.unless("unlimited", values.total_size_bytes),
    f"{_SIZE}|unlimited",
    write=values.or_text("unlimited", values.size_text),
    meant=equivalents.sizes,
)
ADDRESS: Final = Kind("host:port", values.upstream_address, _ADDRESS, meant=equivalents.addresses)
BIND: Final = Kind("host:port", values.bind_address, _ADDRESS, meant=equivalents.addresses)
BIND_OR_OFF: Final = Kind(
    "host:port or `off`",
    values.bind_address_or_off,
    f"{_ADDRESS}|off",
    write=values.or_text("off", str),
    meant=equivalents.addresses,
)
HOST: Final = Kind("host", values.host, meant=equivalents.hosts)
PATH: Final = Kind("path", values.path)
NAME: Final = Kind("name", values.name, values.NAME.pattern)
TOPIC: Final = Kind("topic", values.topic_name, "[a-zA-Z0-9._-]{1,249}")
TEXT: Final = Kind("text", values.words)
URL: Final = Kind("https URL", values.url, "https?://.+")
ENTRY_POINT: Final = Kind("name", values.entry_point, values.NAME.pattern)
SECRET: Final = Kind("secret", values.secret, write=lambda _: HIDDEN)
MODE: Final = _choice(Mode)
LIMITS_FROM: Final = _choice(LimitsFrom)
PRESET: Final = _choice(Preset)
CANDIDATE_PRESET: Final = _or_none(PRESET)
CHOICE: Final = _choice((Choice.ACCEPT, Choice.REJECT))
CHOICE_OR_STAMP: Final = _choice(Choice)
ON_VIOLATION: Final = _choice(OnViolation)
FAIL: Final = _choice(OnError)
YES_OR_NO: Final = Kind(
    "`yes` or `no`", values.yes_or_no, choices=("yes", "no"), write=lambda value: "yes" if value else "no"
)
PATTERN: Final = _pattern(patterns.name_pattern)
TOPIC_PATTERN: Final = _pattern(patterns.topic_pattern)
PRINCIPAL_PATTERN: Final = _pattern(patterns.principal_pattern)
CIDR: Final = Kind("address or network", values.network)
INSTANT: Final = Kind("instant", values.instant_ms, write=values.instant_text)
BROKERS_FROM: Final = _choice(BrokersFrom)
MECHANISM: Final = _choice(SaslMechanism)
WHEN_BEYOND: Final = _choice(WhenBeyond)
LOG_LEVEL: Final = _choice(LogLevel)
CLIENT_AUTH: Final = _choice(ClientAuth)
PROXY_PROTOCOL: Final = _choice(ProxyProtocolVersion)

ADDRESSES_IN_CONFIGS: Final = _choice(AddressesInConfigs)
BROKER_HOST: Final = Kind("host with `{node_id}`", values.broker_host)
MAPPING_RULE: Final = Kind("mapping rule", MappingRule.parse)
SHOWN: Final = _choice(Shown)
TLS_VERSION: Final = _choice(TlsVersion)


def number(lowest: int, highest: int) -> Kind:
    return Kind("number", values.whole_number(lowest, highest), bounds=(lowest, highest), write=int)
