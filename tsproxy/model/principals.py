"""Maps a certificate's subject to a principal by Kafka's rules (`ssl.principal.mapping.rules`).

Source: `SslPrincipalMapper.java`. A rule is `DEFAULT` (the subject unchanged) or
`RULE:pattern/replacement/`, followed by `L` or `U` for lower or upper case. The first rule whose pattern
matches the whole subject decides. Patterns are Python's here and Java's in Kafka: rules are copied from
brokers, so they keep features that engines with linear time lack. The two differ in features that such rules
hardly use (named groups). Classes such as `\\w` are ASCII in both, and a dot takes the same characters.

A pattern may take time that grows with a power of the subject's length, Kafka's own example with its square.
So a subject has at most MAX_SUBJECT characters. Who writes patterns is the operator; who has a long subject
is anybody whom an authority gives a certificate.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

_RULE: Final = re.compile(r"RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?)")
_REFERENCE: Final = re.compile(r"\\(.)|\$([0-9])")
_DOT: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(\.)", re.DOTALL)
"""A dot of a pattern, as group 1, or what only looks like one: in a class, or behind a backslash."""
_CLASS_IN_CLASS: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*?(\[|&&)", re.DOTALL)
"""Java's `[a[bc]]` and `[a-z&&[^b]]`, as group 1, or a character behind a backslash."""
_JAVAS_DOT: Final = "[^\n\r\x85\u2028\u2029]"
"""Java's dot takes no character that ends a line. Python's takes all of them but one."""
MAX_SUBJECT: Final = 1024
"""The longest subject that has a principal. RFC 5280 (appendix A.1) allows a common name 64 characters, and
the others as few. Kafka's example, `RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L`, takes 7 ms for the worst
subject of this length, and 24 s for 100 KB."""
_CASES: Final[dict[str, Callable[[str], str]]] = {"": str, "L": str.lower, "U": str.upper}


@dataclass(frozen=True, slots=True)
class MappingRule:
    """One mapping rule, as `text`. With `pattern` None it keeps every subject unchanged (`DEFAULT`)."""

    text: str
    pattern: re.Pattern[str] | None = None
    replacement: str = ""
    case: str = ""

    @classmethod
    def parse(cls, text: str) -> "MappingRule":
        """The rule in `text`. Raises ValueError with a text that says which forms are allowed."""
        stripped = text.strip()
        if stripped == "DEFAULT":
            return cls(stripped)
        match = _RULE.fullmatch(stripped)
        if match is None:
            raise ValueError("DEFAULT, or RULE:pattern/replacement/ with L or U behind it, as Kafka has them")
        if any(it[1] for it in _CLASS_IN_CLASS.finditer(match[1])):
            raise ValueError(
                "a rule without [ or && in a class, which Java reads in another way (\\[ is allowed)"
            )
        try:
            pattern = re.compile(match[1], re.ASCII)
            if not pattern.flags & re.DOTALL:
                pattern = re.compile(_DOT.sub(lambda it: _JAVAS_DOT if it[1] else it[0], match[1]), re.ASCII)
        except re.error as error:
            raise ValueError(f"a rule with a regular expression: {error}") from None
        highest = max((int(group[2]) for group in _REFERENCE.finditer(match[2]) if group[2]), default=0)
        if highest > pattern.groups:
            raise ValueError(f"a rule whose pattern has as many groups as its replacement names ({highest})")
        return cls(stripped, pattern, match[2], match[3])

    def __str__(self) -> str:
        return self.text

    def name(self, subject: str) -> str | None:
        """The name that the rule makes of a subject, or None if the rule does not match."""
        if self.pattern is None:
            return subject
        if self.pattern.fullmatch(subject) is None:
            return None
        return _CASES[self.case](self.pattern.sub(self._replaced, subject))

    def _replaced(self, match: re.Match[str]) -> str:
        """The replacement in Java's syntax: `$1` is a group, and a backslash escapes the next character."""
        return _REFERENCE.sub(lambda it: it[1] if it[1] else match[int(it[2])] or "", self.replacement)


def principal_of(subject: str, rules: Sequence[MappingRule]) -> str | None:
    """`User:` and the name that the first matching rule makes, or None if no rule matches, or if the subject
    is longer than MAX_SUBJECT.

    Without rules, the name is the unchanged subject.
    """
    if len(subject) > MAX_SUBJECT:
        return None
    if not rules:
        return f"User:{subject}"
    names = (rule.name(subject) for rule in rules)
    name = next((name for name in names if name is not None), None)
    return None if name is None else f"User:{name}"
