"""Patterns for names: globs, and regular expressions whose time is bounded.

A client chooses its own id. If a regular expression repeats a group that itself repeats, such as `(a+)+`, a
crafted name can keep it busy for years. Such an expression is rejected when the file is read. Any other
regular expression is rejected if it may match a name of MOST_CHARACTERS in too many ways. The reason is that
the event loop of all clients matches names, and nothing may take long there. Globs are safe:
`fnmatch.translate` makes atomic groups, which are tried in only one way.
"""

import re
from fnmatch import translate
from typing import Final

from tsproxy.model.policy import NamePattern

MOST_CHARACTERS: Final = 249
"""The longest name that fits a regular expression. Kafka allows no longer topic names, and the decision log
cuts client ids at this length."""

_MOST_WAYS: Final = 50_000_000
"""The most ways in which an expression may match. They are enough for three unbounded repetitions and an
alternative or two, and take about 50 ms at worst."""

_FEW_TIMES: Final = 10
"""How often a group that varies may be repeated, for example in three numbers with dots between them."""

_REPEAT: Final = re.compile(r"([*+?])|\{(\d*)(?:(,)(\d*))?\}")
_CLASS: Final = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_OPENING: Final = re.compile(r"\((?:\?(?:P<\w+>|[aiLmsux-]*:|<?[=!]|>))?")
_WILD: Final = re.compile(r"[*?\[]")
_TOPIC_GLOB: Final = re.compile(r"[a-zA-Z0-9._\-*?\[\]!]+")
_PRINCIPAL: Final = "User:"
_REGEX_SIGN: Final = re.compile(r"(?<![0-9])\.[*+]|^\^|\$$|\||\\[bBdDsSwW.-]")
"""The signs of a regular expression. `\\,` is not a sign, since distinguished names contain it (RFC 2253).
`2.*` is not a sign either, since versions contain it."""


def name_pattern(text: str) -> NamePattern:
    """A glob, or a regular expression between slashes that must fit the whole name."""
    if len(text) > 1 and text.startswith("/") and text.endswith("/"):
        regex = text[1:-1]
        try:
            compiled = re.compile(regex)
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"a regular expression that can be read: {error}") from None
        if _Ways(regex).count() > _MOST_WAYS:
            raise ValueError(
                "a regular expression with fewer open ends, three at most, or it could take too long; a glob "
                "may have any number of *"
            )
        return NamePattern(text, compiled, MOST_CHARACTERS)
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


def meant_as_regex(pattern: NamePattern) -> str | None:
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


class _Ways:
    """Estimates in how many ways a regular expression may match a name, as the product of its choices."""

    def __init__(self, regex: str) -> None:
        self._regex = regex
        self._at = 0

    def count(self) -> int:
        """The number of ways. Raises ValueError if it grows exponentially with the length of the name."""
        ways, _ = self._alternatives()
        return ways

    def _alternatives(self) -> tuple[int, bool]:
        """The expression up to the closing bracket or the end: (its ways, whether it matches several
        texts)."""
        ways, varies = self._sequence()
        while self._regex.startswith("|", self._at):
            self._at += 1
            ways, varies = ways + self._sequence()[0], True
        return ways, varies

    def _sequence(self) -> tuple[int, bool]:
        ways, varies = 1, False
        while self._at < len(self._regex) and self._regex[self._at] not in "|)":
            inner, inner_varies = self._atom()
            repeat = _REPEAT.match(self._regex, self._at)
            if repeat is None:
                ways, varies = ways * inner, varies or inner_varies
                continue
            lowest, highest = _times(repeat)
            if inner_varies and highest > _FEW_TIMES:
                raise ValueError(
                    "a regular expression that repeats nothing which itself varies, as (a+)+ and (a|b)* "
                    "do, or it could take for ever; [a-z-]+ fits what ([a-z]+-?)+ does"
                )
            ways *= (inner**highest if inner_varies else 1) * (highest - lowest + 1)
            varies = varies or inner_varies or lowest != highest
            self._at = repeat.end()
            if self._regex.startswith(("?", "+"), self._at):  # lazy, possessive
                self._at += 1
        return ways, varies

    def _atom(self) -> tuple[int, bool]:
        opening = _OPENING.match(self._regex, self._at)
        if opening is not None:
            self._at = opening.end()
            found = self._alternatives()
            self._at += 1
            return found
        a_class = _CLASS.match(self._regex, self._at)
        is_escaped = self._regex.startswith("\\", self._at)
        self._at = a_class.end() if a_class else self._at + (2 if is_escaped else 1)
        return 1, False


def _times(repeat: re.Match[str]) -> tuple[int, int]:
    sign, lowest, comma, highest = repeat.groups()
    if sign:
        return (1 if sign == "+" else 0), (1 if sign == "?" else MOST_CHARACTERS)
    least = int(lowest or 0)
    if not comma:
        return least, least
    return least, max(least, min(int(highest), MOST_CHARACTERS) if highest else MOST_CHARACTERS)
