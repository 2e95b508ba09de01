"""One parser for each kind of value. It returns the value of a text, or raises a ValueError with the allowed
values.

A parser never shows its text. The caller does, unless the key is secret.
"""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from tsproxy.model.addresses import Address
from tsproxy.model.kafka import LONG_MAX, is_topic_name
from tsproxy.model.policy import TimeLimit

Parser = Callable[[str], object]

_MS_OF_UNIT: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_MAX_MS: Final = 3_660_000 * 86_400_000
"""The longest duration: ten thousand years. So sums of times and durations stay far within 64 bits."""
BYTES_OF_UNIT: Final = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_QUANTITY: Final = re.compile(r"([0-9]+)([A-Za-z]*)")
# The characters of DNS names and addresses; an underscore is common in container networks.
_HOST: Final = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?|[0-9A-Fa-f:.]+(%[A-Za-z0-9._-]+)?")
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_MAX_SECRET_CHARS: Final = 1 << 16
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_THIS_MACHINE: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_VISIBLE: Final = re.compile(r"[!-~]+")
_PORT: Final = re.compile(r"[0-9]{1,5}")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Secret:
    """A value that only `reveal` returns. No `repr` and no log line shows it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and (type(other), other._value) == (type(self), self._value)

    def __hash__(self) -> int:
        return hash(self._value)


class SecretError(OSError):
    """The file of a secret cannot be read, or is empty. The text does not show its content."""


class UnusableSecretError(ValueError):
    """The text of a secret's file is not allowed, or there is none. The path itself may be right."""


class SecretFile(Secret):
    """A secret in a file, which is read each time. So a new one is in use from the next login on."""

    __slots__ = ()

    @property
    def path(self) -> str:
        return self._value

    def reveal(self) -> str:
        """The file's text, as `_without_ends` returns it. Raises SecretError."""
        try:
            with open(self._value, encoding="utf-8") as file:
                text = _without_ends(file.read(_MAX_SECRET_CHARS))
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it is not UTF-8"
            raise SecretError(f"the file {self._value} of a secret cannot be read: {why}") from None
        if not text:
            raise SecretError(f"the file {self._value} of a secret is empty")
        if _CONTROL.search(text):
            raise SecretError(f"the file {self._value} of a secret has a control character in its text")
        return text


def _without_ends(text: str) -> str:
    """The text without a byte order mark before it and ends of lines behind it, which nobody sees: editors,
    `echo` and block scalars add them."""
    return text.removeprefix("\ufeff").rstrip("\r\n")


def duration_ms(text: str) -> int:
    """Milliseconds, at least 1."""
    return _quantity(text, _MS_OF_UNIT, "a duration above zero, such as 250ms, 30s, 15m, 1h or 7d")


def bound(text: str) -> TimeLimit:
    """A limit: milliseconds from 0 up, or `unlimited`."""
    if text.strip() == "unlimited":
        return TimeLimit(None)
    return TimeLimit(_duration_or_zero_ms(text, "a duration such as 0ms, 10s, 1h or 7d, or unlimited"))


def tolerance_ms(text: str) -> int:
    """Milliseconds from 0 up."""
    return _duration_or_zero_ms(text, "a duration such as 0ms, 250ms or 2s")


def _duration_or_zero_ms(text: str, allowed: str) -> int:
    is_zero = text.strip() in {f"0{unit}" for unit in _MS_OF_UNIT}
    return 0 if is_zero else _quantity(text, _MS_OF_UNIT, allowed)


def kafka_bound(text: str) -> TimeLimit:
    """A limit of a Kafka key that ends in `.ms`. As in Kafka's own files, a number without a unit is in
    milliseconds, and Long.MAX is unlimited."""
    digits = text.strip().replace("_", "")
    if not digits.isascii() or not digits.isdigit():
        return bound(text)
    return TimeLimit(None) if digits == str(LONG_MAX) else bound(f"{digits.lstrip('0') or '0'}ms")


def interval_ms(text: str) -> int:
    """Milliseconds that divide an hour, so that no interval lies in two hours or two days."""
    allowed = "a duration from 1s to 1h that divides an hour, such as 10s, 1m or 5m"
    interval = _quantity(text, _MS_OF_UNIT, allowed)
    if interval < 1_000 or 3_600_000 % interval:
        raise ValueError(allowed)
    return interval


def file_age_ms(text: str) -> int:
    """Milliseconds up to a day, since reports do not look for a day's lines in files from before the previous
    day."""
    allowed = "a duration up to 1d, such as 15m or 1h: reports do not read older files for a day's lines"
    age_ms = _quantity(text, _MS_OF_UNIT, allowed)
    if age_ms > _MS_OF_UNIT["d"]:
        raise ValueError(allowed)
    return age_ms


def unless(word: str, parse: Parser) -> Parser:
    """A parser that returns None for `word`, and the result of `parse` for any other text."""

    def parse_unless(text: str) -> object:
        if text.strip() == word:
            return None
        try:
            return parse(text)
        except ValueError as error:
            raise ValueError(f"{error}; or {word}") from None

    return parse_unless


def size_bytes(text: str) -> int:
    """Bytes, from 1 up to the largest 32-bit frame length of Kafka."""
    return _size(text, 1, (1 << 31) - 1, "a size from 1B to 2047MiB, such as 512KiB or 64MiB")


def file_size_bytes(text: str) -> int:
    """Bytes, at least 1 KiB, since a smaller file would be closed after each line."""
    return _size(text, 1 << 10, None, "a size of at least 1KiB, such as 128MiB or 1GiB")


def total_size_bytes(text: str) -> int:
    """Bytes that many connections hold together, at least 1 MiB. It may be more than the length of a
    frame."""
    return _size(text, 1 << 20, None, "a size of at least 1MiB, such as 256MiB or 1GiB")


def _size(text: str, lowest: int, highest: int | None, allowed: str) -> int:
    size = _quantity(text, BYTES_OF_UNIT, allowed)
    if size < lowest or (highest is not None and size > highest):
        raise ValueError(allowed)
    return size


def _quantity(text: str, units: dict[str, int], allowed: str) -> int:
    match = _QUANTITY.fullmatch(text.strip())
    if match is None or match[2] not in units or len(match[1]) > 15 or int(match[1]) == 0:
        raise ValueError(allowed)
    quantity = int(match[1]) * units[match[2]]
    if units is _MS_OF_UNIT and quantity > _MAX_MS:
        raise ValueError(f"{allowed}; at most 3660000d, ten thousand years")
    return quantity


def url(text: str) -> str:
    """An HTTPS URL. A secret is sent there, so plain HTTP is only allowed for this machine."""
    allowed = "an https URL, such as https://login.example.com/oauth2/token (http only for localhost)"
    try:
        parts = urlsplit(text.strip())
        schemes = ("https", "http") if parts.hostname in _THIS_MACHINE else ("https",)
        _ = parts.port
        (parts.hostname or "").encode("idna")  # fails if a label is empty, or longer than 63
        path = parts._replace(netloc="").geturl()
    except ValueError:
        raise ValueError(allowed) from None
    is_visible = _VISIBLE.fullmatch(path) and text.strip().isprintable() and " " not in parts.netloc
    if not parts.hostname or parts.scheme not in schemes or not is_visible:
        raise ValueError(allowed)
    if parts.username is not None or parts.password is not None:
        raise ValueError(f"{allowed}, without a user name or password in it")
    return text.strip()


def whole_number(lowest: int, highest: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        digits = text.strip().replace("_", "")
        is_number = digits.isascii() and digits.isdigit() and len(digits) <= 18
        if not is_number or not lowest <= int(digits) <= highest:
            raise ValueError(f"a whole number from {lowest} to {highest}")
        return int(digits)

    return parse


def one_of(choices: Iterable[StrEnum]) -> Callable[[str], StrEnum]:
    named = {member.value: member for member in choices}

    def parse(text: str) -> StrEnum:
        member = named.get(text.strip())
        if member is None:
            raise ValueError("one of " + ", ".join(named))
        return member

    return parse


def host(text: str) -> str:
    stripped = text.strip().removeprefix("[").removesuffix("]")
    if len(stripped) > 255 or not _HOST.fullmatch(stripped):
        raise ValueError("a host name or an address, without a port")
    return stripped


def upstream_address(text: str) -> Address:
    return _address(text, lowest_port=1)


def bind_address(text: str) -> Address:
    return _address(text, lowest_port=0)


def _address(text: str, lowest_port: int) -> Address:
    allowed = f"host:port with a port from {lowest_port} to 65535, such as 127.0.0.1:9092 or [::1]:9092"
    name, _, port = text.strip().rpartition(":")
    bracketed = name.startswith("[") and name.endswith("]")
    is_port = _PORT.fullmatch(port) and lowest_port <= int(port) <= 65535
    if not is_port or (":" in name and not bracketed):
        raise ValueError(allowed)
    try:
        return Address(host(name), int(port))
    except ValueError:
        raise ValueError(allowed) from None


def duration_text(ms: int) -> str:
    """A text that `duration_ms` reads as this number of milliseconds."""
    return _quantity_text(ms, _MS_OF_UNIT)


def or_text(word: str, write: Callable[[Any], str | int]) -> Callable[[Any], str | int]:
    """A function that writes None as `word`, and other values as `write` does."""
    return lambda value: word if value is None else write(value)


def bound_text(bound: TimeLimit) -> str:
    """A text that `bound` reads as this limit."""
    return "unlimited" if bound.max_ms is None else duration_text(bound.max_ms)


def instant_text(ms: int) -> str:
    """A text that `instant_ms` reads as this instant."""
    return (_EPOCH + timedelta(milliseconds=ms)).isoformat()


def size_text(size: int) -> str:
    """A text that the parsers of sizes read as this number of bytes."""
    return _quantity_text(size, BYTES_OF_UNIT)


def ports_text(ports: range) -> str:
    return str(ports.start) if len(ports) == 1 else f"{ports.start} to {ports.stop - 1}"


def _quantity_text(number: int, units: dict[str, int]) -> str:
    """The number in the largest unit that leaves no remainder."""
    fits = [unit for unit, size in units.items() if not number % size]
    return f"{number // units[fits[-1]]}{fits[-1]}" if number else f"0{next(iter(units))}"


def path(text: str) -> Path:
    if not text.strip() or _CONTROL.search(text):
        raise ValueError("the path of a file or folder")
    return Path(text)


def _unchanged(is_allowed: Callable[[str], object], allowed: str) -> Callable[[str], str]:
    """A parser that returns the text itself if it is allowed."""

    def parse(text: str) -> str:
        if not is_allowed(text):
            raise ValueError(allowed)
        return text

    return parse


name: Final = _unchanged(
    NAME.fullmatch, "1 to 63 letters, digits, dots, dashes or underscores, beginning with a letter or digit"
)
entry_point: Final = _unchanged(
    NAME.fullmatch, "the name of an entry point in the group tsproxy.rules, such as in-order"
)
MAX_HELP: Final = 200


def help_text(text: str) -> str:
    """A line for clients. An answer may repeat it for each of thousands of records, so it is short."""
    line = text.strip()
    if not 0 < len(line.encode()) <= MAX_HELP or not line.isprintable():
        raise ValueError(f"one printable line of at most {MAX_HELP} bytes")
    return line


words: Final = _unchanged(str.strip, "a text that is not empty")


def line(text: str) -> str:
    """A text for another program's functions, of which some end it at a NUL, and some raise."""
    text = _without_ends(text)
    if not text.strip() or _CONTROL.search(text):
        raise ValueError("one line of text that is not empty, without control characters")
    return text


topic_name: Final = _unchanged(
    is_topic_name, "1 to 249 letters, digits, dots, dashes or underscores, as topics are called"
)


def secret(text: str) -> Secret:
    text = _without_ends(text)
    if not text or _CONTROL.search(text):
        raise ValueError("one line that is not empty, without control characters")
    return Secret(text)


def secret_file(parse: Parser) -> Callable[[str], SecretFile]:
    """A parser of the path of a file that can be read now, and whose text `parse` allows; else it raises
    UnusableSecretError."""

    def parse_file(text: str) -> SecretFile:
        file = SecretFile(text.strip())
        try:
            parse(file.reveal())
        except SecretError as error:
            why = str(error).removeprefix(f"the file {file.path} of a secret ")
            raise UnusableSecretError(f"a file that holds the secret, and {why}") from None
        except ValueError as error:
            raise UnusableSecretError(
                f"a file that holds the secret, and the secret must be {error}"
            ) from None
        return file

    return parse_file


def token(text: str) -> Secret:
    """A secret that an HTTP header can carry."""
    text = _without_ends(text)
    if not text.isascii() or not text.isprintable() or " " in text or not text:
        raise ValueError("printable ASCII without spaces, such as the output of openssl rand -hex 32")
    return Secret(text)


def yes_or_no(text: str) -> bool:
    """True or False. All of YAML's words are allowed, since users have different habits."""
    word = text.strip().lower()
    if word not in {"yes", "true", "on", "no", "false", "off"}:
        raise ValueError("yes or no")
    return word in {"yes", "true", "on"}


def network(text: str) -> IPv4Network | IPv6Network:
    """A network. One of IPv4-mapped addresses becomes that of IPv4: so clients' addresses are compared."""
    try:
        block = ip_network(text.strip())
    except ValueError:
        raise ValueError(
            "an address or a network without host bits, such as 10.0.0.0/8 or 192.0.2.7"
        ) from None
    mapped = block.network_address.ipv4_mapped if isinstance(block, IPv6Network) else None
    return IPv4Network((mapped, block.prefixlen - 96)) if mapped else block


def instant_ms(text: str) -> int:
    """Milliseconds since 1970. The zone must be given, since a date is another instant in each zone."""
    allowed = "an instant with its zone, such as 2026-12-01T00:00:00Z"
    try:
        instant = datetime.fromisoformat(text.strip())
        if instant.tzinfo is None:
            raise ValueError(allowed)
        return (instant.astimezone(UTC) - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):  # OverflowError: before the year 1 or after 9999
        raise ValueError(allowed) from None
