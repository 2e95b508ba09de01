"""A section of the document after every value in it was read (`Parsed`), and settings made of it (`make`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from tsproxy.config.keys import Key, Keys, SectionKeys, file_of, keys_of, name_of
from tsproxy.config.problems import Problem

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Parsed:
    """Values by key: the result of the key's parser, None without a value, or `Parsed` for a section.

    `is_sound` is False if the section or anything below it had a problem; the section is then not built. Two
    sections with equal values are equal, wherever they are in a file. The values are `Any` because the
    declarations of the keys, not the type checker, give their types.
    """

    values: Mapping[str, Any]
    place: str = field(compare=False)
    path: str = field(compare=False)
    is_sound: bool = field(compare=False)

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    @property
    def where(self) -> str:
        return f"{self.place}: {self.path}"

    def problem(self, text: str, key: str = "") -> Problem:
        return Problem(self.place, f"{self.path}.{key}" if key else self.path, text)


def make(cls: type[Made], parsed: Parsed, keys: Keys | None = None, /, **values: Any) -> Made:
    """An instance of `cls`. Each field is filled from its key, and `place` with the place of the section.

    `values` are the fields that do not come from a key alone, but from checks between keys.
    """
    keys = keys_of(cls) if keys is None else keys
    for attr in fields(cls):  # type: ignore[arg-type]  # a dataclass, as every class of settings is
        declared = keys.get(attr.name)
        if attr.name in values:
            continue
        if declared is not None:
            value = _value(parsed, name_of(attr.name, declared), declared)
            if not (isinstance(declared, Key) and value is None and declared.default is None):
                values[attr.name] = value
        elif attr.name == "place":
            values[attr.name] = parsed.where
    return cls(**values)


def _value(parsed: Parsed, path: str, declared: Key | SectionKeys) -> Any:
    value: Any = parsed
    above, name = value, ""
    for name in path.split("."):
        above, value = value, value[name]
    if value is None and isinstance(declared, Key) and declared.kind.is_secret:
        value = above[file_of(name)]
    if isinstance(declared, Key) or value is None:
        return value
    if declared.is_list:
        return tuple(make(declared.make, item, declared.below) for item in value)
    return make(declared.make, value, declared.below)
