"""A section of the document after every value in it was read (`Parsed`), and settings made of it (`make`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from tsproxy.config.keys import Key, Keys, SectionKeys, keys_of, name_of

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Parsed:
    """Values by key: what the key's parser returned, None if there is no value, `Parsed` for a section.

    `is_sound` is False where the section or anything below it had a problem: then it is not built. Two
    are equal if they say the same, wherever in a file. The values are `Any` because the declarations of
    the keys, not the type checker, say what each is.
    """

    values: Mapping[str, Any]
    place: str = field(compare=False)
    path: str = field(compare=False)
    is_sound: bool = field(compare=False)

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    @property
    def where(self) -> str:
        """Its place and its path, for those who ask why."""
        return f"{self.place}: {self.path}"


def make(wanted: type[Made], parsed: Parsed, keys: Keys | None = None, /, **given: object) -> Made:
    """One of `wanted`, each field filled from its key, `place` with the place of the section.

    `given` are the fields that something else decides, such as checks between keys.
    """
    keys = keys_of(wanted) if keys is None else keys
    values = dict(given)
    for each in fields(wanted):  # type: ignore[arg-type]  # a dataclass, as every class of settings is
        declared = keys.get(each.name)
        if each.name in given:
            continue
        if declared is not None:
            value = _value(parsed, name_of(each.name, declared), declared)
            if not (isinstance(declared, Key) and value is None and declared.default is None):
                values[each.name] = value
        elif each.name == "place":
            values[each.name] = parsed.where
    return wanted(**values)


def _value(parsed: Parsed, path: str, declared: Key | SectionKeys) -> Any:
    found: Any = parsed
    for name in path.split("."):
        found = found[name]
    if isinstance(declared, Key) or found is None:
        return found
    if declared.is_list:
        return tuple(make(declared.make, each, declared.below) for each in found)
    return make(declared.make, found, declared.below)
