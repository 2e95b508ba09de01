"""`unknown`: the text about a name that is not known, with the name that was probably meant."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

_MISSPELT: Final = 0.8
"""The least similarity (difflib) of two names that differ by a typing mistake."""


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
    word = next((each for each in arguments if not each.startswith("-")), None)
    if word is None:
        return None
    options = [each.partition("=")[0] for each in arguments if each.startswith("-")]
    for name in (word, *(f"{word} {option}" for option in options)):
        if name in removed:
            return f"{name}: was removed: {removed[name]}"
    return None if word in names else f"{word}: {unknown('command', word, names)}"
