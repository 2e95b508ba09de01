"""Patterns for names: globs, and regular expressions between slashes.

Clients choose their names, and the event loop of all clients matches them. So no pattern may take long for
any name. Globs are safe: `fnmatch.translate` makes atomic groups, which are tried in only one way. Regular
expressions have an engine of their own (`linear_regex`).
"""

import re
from fnmatch import translate
from typing import Final

from tsproxy.config.linear_regex import EngineMissingError, LinearRegex
from tsproxy.model.policy import NamePattern

ENGINE_MISSING: Final = (
    "a name or a glob, since regular expressions need the package google-re2 (pip install google-re2); "
    "globs such as orders-*, and lists of them, need nothing"
)

MOST_CHARACTERS: Final = 249
"""The longest name that fits a regular expression. Kafka allows no longer topic names, and the decision log
cuts client ids at this length."""

_WILD: Final = re.compile(r"[*?\[]")
_TOPIC_GLOB: Final = re.compile(r"[a-zA-Z0-9._\-*?\[\]!]+")
_PRINCIPAL: Final = "User:"
_REGEX_SIGN: Final = re.compile(r"(?<![0-9])\.[*+]|^\^|\$$|\||\\[bBdDsSwW.-]")
"""The signs of a regular expression. `\\,` is not a sign, since distinguished names contain it (RFC 2253).
`2.*` is not a sign either, since versions contain it."""


def name_pattern(text: str) -> NamePattern:
    """A glob, or a regular expression between slashes that must fit the whole name."""
    if len(text) > 1 and text.startswith("/") and text.endswith("/"):
        try:
            return NamePattern(text, LinearRegex.of(text[1:-1]), MOST_CHARACTERS)
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
    if pattern.most_characters is None and not _TOPIC_GLOB.fullmatch(text):
        raise ValueError(
            "of letters, digits, dots, dashes and underscores, as topics are called, and * ? [ ]"
        )
    return pattern


def principal_pattern(text: str) -> NamePattern:
    """A pattern for principals. They all begin with `User:`."""
    pattern = name_pattern(text)
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
    text = (
        f"{pattern.text!r} is a glob, in which only * ? and [ ] mean something: /{pattern.text}/ is a regular"
    )
    plain = pattern.text.replace(".*", "[.]*")
    return f"{text} expression" + (
        f", and {plain} the glob without this notice" if plain != pattern.text else ""
    )
