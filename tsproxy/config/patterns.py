"""Patterns for names: globs, and regular expressions between slashes.

Clients choose their names, and the event loop of all clients matches them. So no pattern may take long for
any name. Globs are safe: `fnmatch.translate` makes atomic groups, which are tried in only one way. Python's
own engine of regular expressions tries a pattern in every way that a name allows: `(a+)+b` takes years for a
name of forty letters. RE2 reads each character once, whatever the pattern. It is an extra package, so an
installation without regular expressions does not need it.
"""

import re
from dataclasses import dataclass, field
from fnmatch import translate
from string import ascii_letters, digits
from typing import Any, Final, Self

from tsproxy.model.policy import NamePattern
from tsproxy.model.principals import MAX_SUBJECT

ENGINE_MISSING: Final = (
    "a name or a glob, since regular expressions need the package google-re2 (pip install google-re2); "
    "globs such as orders-*, and lists of them, need nothing"
)

MAX_CHARACTERS: Final = 249
"""The longest topic, client id or library that fits a regular expression. Kafka allows no longer topic names,
and rules see no more of the others."""

_WILD: Final = re.compile(r"[*?\[]")
_PIECE: Final = re.compile(r"\[!?+\]?+[^\]]*+\]|.", re.DOTALL)
"""A piece of a glob as `fnmatch` reads it: a class, or one character."""
_OF_TOPICS: Final = frozenset(f"{ascii_letters}{digits}._-")
_PRINCIPAL: Final = "User:"
MAX_PRINCIPAL: Final = len(_PRINCIPAL) + MAX_SUBJECT
"""The longest principal that fits a regular expression: a strict rule must hold for every certificate. Globs
need no bound."""
_REGEX_SIGN: Final = re.compile(r"(?<![0-9])\.[*+]|^\^|\[\^|\$$|\||\\[bBdDsSwW.-]")
"""The signs of a regular expression. `\\,` is not a sign, since distinguished names contain it (RFC 2253).
`2.*` is not a sign either, since versions contain it."""
_SEVERAL: Final = re.compile(r"/\s*,|,\s*User:")
"""The comma between two patterns in one text."""

MAX_MEMORY_BYTES: Final = 1 << 18
"""The memory of one expression, and so a bound on its size: RE2 rejects a larger one (`a{1000}{1000}`)."""


class EngineMissingError(Exception):
    """The package with RE2 is not installed."""


@dataclass(frozen=True, slots=True)
class LinearRegex:
    """A regular expression in RE2's syntax: Python's without references back and without looking around. Its
    time grows with the length of the name alone."""

    source: str
    _compiled: Any = field(compare=False, repr=False)

    @classmethod
    def of(cls, source: str) -> Self:
        """Raises EngineMissingError, and ValueError with the reason if the expression cannot be read."""
        try:
            import re2  # an extra
        except ImportError:
            raise EngineMissingError from None
        options = re2.Options()
        options.log_errors = False
        options.max_mem = MAX_MEMORY_BYTES
        try:
            # As bytes: names may hold bytes that are no UTF-8, and must not raise.
            return cls(source, re2.compile(source.encode("utf-8", "surrogatepass"), options))
        except re2.error as error:
            reason = error.args[0]
            raise ValueError(reason.decode("utf-8", "replace")) from None

    def __reduce__(self) -> tuple[Any, ...]:
        """Workers get the configuration from their supervisor."""
        return LinearRegex.of, (self.source,)

    def fullmatch(self, name: str) -> object | None:
        match: object | None = self._compiled.fullmatch(name.encode("utf-8", "surrogatepass"))
        return match


def name_pattern(text: str, most_characters: int = MAX_CHARACTERS) -> NamePattern:
    """A glob, or a regular expression between slashes that must fit the whole name. `most_characters` are
    those of a name that an expression may fit."""
    if len(text) > 1 and text.startswith("/") and text.endswith("/"):
        try:
            return NamePattern(text, LinearRegex.of(text[1:-1]), most_characters)
        except EngineMissingError:
            raise ValueError(ENGINE_MISSING) from None
        except ValueError as error:
            raise ValueError(f"a regular expression that RE2 can read: {error}") from None
    if not text:
        raise ValueError("a name, a glob such as orders-*, or a regular expression such as /orders-[0-9]+/")
    return NamePattern(text, re.compile(translate(text)))


def topic_pattern(text: str) -> NamePattern:
    """A pattern for topics. A glob that fits no possible topic name is a mistake."""
    pattern = name_pattern(text)
    if pattern.most_characters is None and not all(map(_fits_in_topic, _PIECE.findall(text))):
        raise ValueError(
            "of letters, digits, dots, dashes and underscores, as topics are called, and * ? [ ]"
        )
    return pattern


def _fits_in_topic(piece: str) -> bool:
    if len(piece) == 1:
        return piece in _OF_TOPICS or piece in "*?"
    return any(map(re.compile(translate(piece)).fullmatch, _OF_TOPICS))


def principal_pattern(text: str) -> NamePattern:
    """A pattern for principals. They all begin with `User:`."""
    pattern = name_pattern(text, MAX_PRINCIPAL)
    plain, *wild = _WILD.split(text, maxsplit=1)
    can_fit = plain.startswith(_PRINCIPAL) or (bool(wild) and _PRINCIPAL.startswith(plain))
    if pattern.most_characters is None and not can_fit:
        raise ValueError("as principals are called, which begin with User: (User:etl, User:team-*)")
    return pattern


def regex_advice(pattern: NamePattern) -> str | None:
    """Advice about a glob that looks like a regular expression; None for any other pattern.

    Names of topics have dots, so `shop.*` may be either. The glob `shop[.]*` fits the same names.
    """
    if pattern.most_characters is not None or not _REGEX_SIGN.search(pattern.text):
        return None
    text = f"{pattern.text!r} is a glob, where only * ? and [ ] are special: /{pattern.text}/ is a regular"
    plain = pattern.text.replace(".*", "[.]*")
    return f"{text} expression" + (
        f", and {plain} the glob without this notice" if plain != pattern.text else ""
    )


def comma_advice(pattern: NamePattern, *, is_principal: bool) -> str | None:
    """Advice about a pattern that looks like several with commas between them, such as one from a variable;
    None for any other pattern. Distinguished names have commas, and so have regular expressions."""
    text = pattern.text
    may_have_comma = is_principal or pattern.most_characters is not None
    if not _SEVERAL.search(text) and (may_have_comma or "," not in text.replace("[,]", "")):
        return None
    return f"{text!r} is one pattern, with its comma: give each pattern its own place in the list" + (
        "" if may_have_comma else f"; {text.replace(',', '[,]')} is the same without this notice"
    )
