"""The kinds of values: their parsers, and their names in the documents and in the schema."""

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from typing import Final

from tsproxy.config import equivalents, patterns, values
from tsproxy.config.keys import Kind
from tsproxy.config.problems import HIDDEN
from tsproxy.config.values import Parser
from tsproxy.model.kafka import LONG_MAX
from tsproxy.model.principals import MappingRule

CIPHERS: Final = (
    "Cipher suites of TLS 1.2, as OpenSSL lists them (`ECDHE+AESGCM:ECDHE+CHACHA20`); without it Python's "
    "choice."
)
"""The meaning of `ciphers`, toward brokers and toward clients."""

_DURATION: Final = r"[0-9]+(ms|s|m|h|d)"
_SIZE: Final = r"[0-9]+(B|KiB|MiB|GiB)"
_ADDRESS: Final = r".+:[0-9]{1,5}"


def choice(choices: Iterable[StrEnum]) -> Kind:
    choices = tuple(choices)
    words = tuple(member.value for member in choices)
    return Kind(" or ".join(f"`{word}`" for word in words), values.one_of(choices), choices=words)


def or_word(kind: Kind, word: str) -> Kind:
    """The same kind, or a word for None."""
    return replace(
        kind,
        word=f"{kind.word} or `{word}`",
        parse=values.unless(word, kind.parse),
        pattern=kind.pattern and f"{kind.pattern}|{word}",
        choices=(*kind.choices, word) if kind.choices else (),
        write=values.or_text(word, kind.write),
    )


def number(lowest: int, highest: int) -> Kind:
    return Kind("number", values.whole_number(lowest, highest), bounds=(lowest, highest), write=int)


def _duration(parse: Parser, word: str = "duration") -> Kind:
    return Kind(word, parse, _DURATION, write=values.duration_text, suggest=equivalents.durations)


def _size(parse: Parser) -> Kind:
    return Kind("size", parse, _SIZE, write=values.size_text, suggest=equivalents.sizes)


def _address(parse: Parser) -> Kind:
    return Kind("host:port", parse, _ADDRESS, suggest=equivalents.addresses, has_no_comma=True)


def _pattern(parse: Parser) -> Kind:
    return Kind("glob or `/regular expression/`", parse, write=lambda value: str(value.text))


def file_with(kind: Kind) -> Kind:
    """The path of a file with a secret of that kind. A wrong path may be the secret itself, so no error text
    shows it."""
    parse = values.secret_file(kind.parse)
    return Kind("path of a file that exists", parse, write=lambda value: value.path, is_secret=True)


DURATION: Final = _duration(values.duration_ms)
TOLERANCE: Final = _duration(values.tolerance_ms)
INTERVAL: Final = _duration(values.interval_ms, "duration that divides an hour")
FILE_AGE: Final = _duration(values.file_age_ms, "duration up to 1d")
BOUND: Final = Kind(
    "duration, milliseconds or `unlimited`",
    values.kafka_bound,
    f"{_DURATION}|[0-9_]+|unlimited",
    bounds=(0, LONG_MAX),
    write=values.bound_text,
    suggest=equivalents.durations,
)
SIZE: Final = _size(values.size_bytes)
FILE_SIZE: Final = _size(values.file_size_bytes)
TOTAL_SIZE: Final = _size(values.total_size_bytes)
ADDRESS: Final = _address(values.upstream_address)
BIND: Final = _address(values.bind_address)
HOST: Final = Kind("host", values.host, suggest=equivalents.hosts, has_no_comma=True)
PATH: Final = Kind("path", values.path)
NAME: Final = Kind("name", values.name, values.NAME.pattern)
TOPIC: Final = Kind("topic", values.topic_name, "[a-zA-Z0-9._-]{1,249}")
TEXT: Final = Kind("text", values.line)
NOTE: Final = Kind("text", values.words)
HELP: Final = Kind(f"text of at most {values.MAX_HELP} bytes", values.help_text)
URL: Final = Kind("https URL", values.url, "https?://.+")
ENTRY_POINT: Final = Kind("name", values.entry_point, values.NAME.pattern)
SECRET: Final = Kind("secret", values.secret, write=lambda _: HIDDEN, is_secret=True)
TOKEN: Final = Kind("secret", values.token, write=lambda _: HIDDEN, is_secret=True)
YES_OR_NO: Final = Kind(
    "`yes` or `no`", values.yes_or_no, choices=("yes", "no"), write=lambda value: "yes" if value else "no"
)
PATTERN: Final = _pattern(patterns.name_pattern)
TOPIC_PATTERN: Final = _pattern(patterns.topic_pattern)
PRINCIPAL_PATTERN: Final = _pattern(patterns.principal_pattern)
CIDR: Final = Kind("address or network", values.network, has_no_comma=True)
INSTANT: Final = Kind("instant", values.instant_ms, write=values.instant_text)
MAPPING_RULE: Final = Kind("mapping rule", MappingRule.parse)
