"""Durations, sizes and addresses in the forms of other programs, and their values in this program's form.

A value has only one form here, so that readers know it and can search for it. The error about another form
names the right one.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Final

from tsproxy.config import values

Suggest = Callable[[str], Iterator[tuple[str, str]]]
"""A text that is not allowed -> (a value in the right form, the advice that names it), the likeliest
first."""

_DAY_MS: Final = 86_400_000
_MS_OF: Final[Mapping[str, int]] = {
    **dict.fromkeys(("ms", "msec", "millis", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1_000),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), _DAY_MS),
    **dict.fromkeys(("w", "week", "weeks"), 7 * _DAY_MS),
    **dict.fromkeys(("y", "year", "years"), 365 * _DAY_MS),
}
_BYTES_OF: Final[Mapping[str, str]] = {
    **dict.fromkeys(("b", "byte", "bytes"), "B"),
    **dict.fromkeys(("k", "kb", "ki", "kib"), "KiB"),
    **dict.fromkeys(("m", "mb", "mi", "mib"), "MiB"),
    **dict.fromkeys(("g", "gb", "gi", "gib"), "GiB"),
}
_NUMBER: Final = re.compile(r"[0-9][0-9_]{0,18}")
_PART: Final = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([A-Za-z]+)\s*,?")
_ISO: Final = re.compile(r"P([0-9]+D)?(T[0-9.HMS]+)?")
"""Java's form of a Duration (ISO 8601). P1M without T would be a month."""
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+]*://")
_FEW: Final = 1_000
"""A smaller number is probably not in milliseconds or bytes."""


def durations(text: str) -> Iterator[tuple[str, str]]:
    """Reads `1h30m`, `1.5h`, `1w`, `2 days`, `PT10M`, `604800000`."""
    if _NUMBER.fullmatch(text.strip()):
        yield from _without_unit(text, "ms", "s", values.duration_text)
        return
    if _ISO.fullmatch(text.strip()):
        text = text.strip()[1:].replace("T", "")
    yield from _whole(_sum(text.lower()), values.duration_text)


def sizes(text: str) -> Iterator[tuple[str, str]]:
    """Reads `128MB`, `1.5GiB`, `64 mib`, `134217728`."""
    if _NUMBER.fullmatch(text.strip()):
        yield from _without_unit(text, "B", "MiB", values.size_text)
        return
    match = _PART.fullmatch(text.lower())
    unit = _BYTES_OF.get(match[2]) if match else None
    if match is not None and unit is not None:
        yield from _whole(Fraction(match[1]) * values.BYTES_OF_UNIT[unit], values.size_text)


def addresses(text: str) -> Iterator[tuple[str, str]]:
    """Reads `PLAINTEXT://kafka:9092`, `kafka: 9092`, `:9092`."""
    address = _SCHEME.sub("", "".join(text.split())).rstrip("/")
    every = f"0.0.0.0{address}"  # noqa: S104  # advice to an operator who left the host out; nothing is bound
    for written in (address, every if address.startswith(":") else ""):
        yield written, f"write {written}"


def hosts(text: str) -> Iterator[tuple[str, str]]:
    """Reads `kafka.example.com:9092` and `https://kafka.example.com`."""
    host = _SCHEME.sub("", text.strip()).rstrip("/")
    for written in (host, host.rpartition(":")[0]):
        yield written, f"write {written}"


def strange_character(text: str) -> str | None:
    """A hint that names the first character of `text` that is not ASCII; None if all characters are ASCII.
    Such a `text` may look right."""
    character = next((character for character in text if not character.isascii()), None)
    if character is None:
        return None
    return f"it holds U+{ord(character):04X} ({unicodedata.name(character, 'a character without a name')})"


def _without_unit(
    text: str, smallest: str, usual: str, write: Callable[[int], str]
) -> Iterator[tuple[str, str]]:
    """The number in the smallest unit. If the number is small, the usual unit comes before that."""
    number = int(text.strip().replace("_", ""))
    if number < _FEW:
        yield f"{number}{usual}", f"it needs a unit, such as {number}{usual}"
    written = write(number)
    same = "" if written == f"{number}{smallest}" else f", which is {written}"
    yield f"{number}{smallest}", f"it needs a unit: {number}{smallest}{same}"


def _whole(quantity: Fraction | None, write: Callable[[int], str]) -> Iterator[tuple[str, str]]:
    """A quantity that is a whole number above 0; nothing for any other."""
    if quantity is not None and quantity.denominator == 1 and quantity > 0:
        written = write(int(quantity))
        yield written, f"write {written}"


def _sum(text: str) -> Fraction | None:
    """The sum of consecutive durations in milliseconds; None for any other text."""
    total, position = Fraction(0), 0
    while position < len(text):
        match = _PART.match(text, position)
        if match is None or match[2] not in _MS_OF:
            return None
        total, position = total + Fraction(match[1]) * _MS_OF[match[2]], match.end()
    return total
