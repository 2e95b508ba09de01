"""Numbers, times and names in sentences: `unknown` is the text about a name that is not known.

`tests/test_numbers.py` finds a noun that is plural whatever its number is.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Final

_MISSPELT: Final = 0.8
"""The least similarity (difflib) of two names that differ by a typing mistake."""
_HOST_AND_PORT: Final = re.compile(r".+:[0-9]+")
"""A server, or the last one of a list."""


def unknown(what: str, name: str, allowed: Iterable[str], elsewhere: Sequence[str] = ()) -> str:
    """`unknown key; did you mean 'policy'? Allowed here: …`. A name of `elsewhere` is preferred to a name of
    `allowed` that is only a little similar."""
    names = list(allowed)
    near = likely(name, names) or next(iter([*elsewhere, *get_close_matches(name, names, n=1)]), None)
    hint = f"did you mean {near!r}? " if near else ""
    return f"unknown {what}; {hint}Allowed here: {', '.join(names)}"


def likely(name: str, allowed: Iterable[str]) -> str | None:
    """The name that was meant, if `name` is probably a typing mistake; else None."""
    return next(iter(get_close_matches(name, list(allowed), n=1, cutoff=_MISSPELT)), None)


def unknown_command(
    arguments: Sequence[str], commands: Iterable[str], removed: Mapping[str, str]
) -> str | None:
    """The text about the first word of a command line, if it is no command, or about an option that was given
    up; else None. The first word is the first without a hyphen before it, since options of the whole program
    take no value. `removed`: a command, or a command and its option -> what to do instead."""
    names = list(commands)
    word = next((argument for argument in arguments if not argument.startswith("-")), None)
    if word is None:
        return None
    options = [argument.partition("=")[0] for argument in arguments if argument.startswith("-")]
    for name in (word, *(f"{word} {option}" for option in options)):
        if name in removed:
            return f"{name}: was removed: {removed[name]}"
    return None if word in names else f"{word}: {unknown('command', word, names)}"


def unknown_argument(
    argument: str, usage: str, meant: Callable[[str, Sequence[str]], Sequence[str]] = lambda *_: ()
) -> str:
    """The text about an argument that a command does not have. `usage` names the options that it has; `meant`
    returns those among them that the argument may mean."""
    name, options = argument.partition("=")[0], re.findall(r"--[a-z0-9-]+", usage)
    if name.startswith("-"):
        return f"{name}: {unknown('option', name, options, meant(name, options))}"
    flags = ("--upstream", "--config") if _HOST_AND_PORT.fullmatch(argument) else ("--config",)
    near = next((flag for flag in flags if flag in options), None)
    hint = f"; did you mean '{near} {argument}'?" if near else ""
    return f"{argument}: unknown argument{hint}"


def listed(purposes: Mapping[str, str]) -> str:
    """The commands of a group, as `--help` shows them: a line for each, with its purpose."""
    return "\n".join(f"{name:<8}  {purpose}" for name, purpose in purposes.items())


_LAST_DATED_MS: Final = 253_402_300_799_999
"""The end of the year 9999, where calendars (and Python) end."""
_FIRST_DATED_MS: Final = -62_135_596_800_000


def many(count: int, one: str, some: str | None = None) -> str:
    """`1 record`, `2,000 records`. `some` is the plural if it is not `one` with an s."""
    return f"{count:,} {noun(count, one, some)}"


def noun(count: int, one: str, some: str | None = None) -> str:
    """`record` for 1, else `records`: for `1 of 1 record`."""
    return one if count == 1 else some or f"{one}s"


def dated(at_ms: int) -> str | None:
    """`2026-11-21 15:20:01 UTC`; None for a time beyond the calendar."""
    if not _FIRST_DATED_MS <= at_ms <= _LAST_DATED_MS:
        return None
    return datetime.fromtimestamp(at_ms // 1000, UTC).isoformat(" ")[:19] + " UTC"
