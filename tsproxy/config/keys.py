"""Declares configuration keys, each on the field that holds its value.

    @dataclass(frozen=True, slots=True)
    class ClockProbe:
        topic: str = live(TOPIC, "A topic with `message.timestamp.type=LogAppendTime`, …")
        every_ms: int = live(DURATION, "How often.", default="30s")

Everything else follows from such a line: the tree of allowed keys (`tree`), the documents' reference (`make
generated`), the JSON Schema (`schema`), the effect of a reload (`reloaded`) and the value of the field
(`parsed.make`). A reload changes a `live` key. A `fixed` key changes with a restart.

A class of a lower layer (`SessionLimits`, `Policy`) cannot import this module. `keys_for` declares its keys
outside of the class, by the names of its fields.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import partial
from typing import Any, Final

from tsproxy.config import equivalents
from tsproxy.config.values import Parser

_DECLARED: Final = "tsproxy.key"
_UNITS: Final = ("_ms", "_bytes")
"""The units at the end of field names. Keys do not end in a unit, since their values are written with one."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: its word in the documents, and its parser.

    Three fields are for editors: `pattern` fits every text that `parse` accepts (it may fit more), `choices`
    lists all values, and `bounds` are the limits of a number. `write` turns a value into a text (or number)
    that `parse` turns into the same value; for a secret it shows nothing. `suggest` finds the right form of a
    text that `parse` does not accept. No error text shows a value with `is_secret`. A list of values with
    `has_no_comma` may be one text with commas.
    """

    word: str
    parse: Parser
    pattern: str | None = None
    choices: tuple[str, ...] = ()
    bounds: tuple[int, int] | None = None
    write: Callable[[Any], str | int] = str
    suggest: equivalents.Suggest | None = None
    is_secret: bool = False
    has_no_comma: bool = False

    def advice(self, text: str) -> str | None:
        """Advice about a text that `parse` does not accept: the right form of the value that the text seems
        to be, or the name of a character that is not ASCII. None if there is no advice."""
        candidates = self.suggest(text) if self.suggest else ()
        known = next((advice for value, advice in candidates if self._accepts(value)), None)
        return known or equivalents.strange_character(text)

    def _accepts(self, text: str) -> bool:
        try:
            self.parse(text)
        except ValueError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Key:
    """One key. `default` is written as a user would write it; None stands for "no value".

    In the tree, `path` is the whole path (`listeners[].bind`). In a declaration it is the part below the
    section, and empty if it follows from the field's name. If a key `is_live`, a reload puts its new value
    into use. Declare a key live only if its component adopts new values (`apply`). Every other key keeps
    its value until the proxy is restarted, and the log says so.
    """

    path: str
    kind: Kind
    meaning: str
    default: str | None = None
    is_required: bool = False
    is_list: bool = False
    is_live: bool = False


@dataclass(frozen=True, slots=True)
class SectionKeys:
    """The keys of a section, or (`is_list`) of each section in a list. They fill the fields of class `make`.

    `path` is as in `Key`. `below` has the keys by field in a declaration, and by their names in the tree.
    A section with a `meaning` may be left out: it is then None, or an empty list. A section without a
    `meaning` always exists, and has defaults if the file does not contain it. A list without a `meaning` must
    not be empty. With `is_live`, a reload may add and remove the section, or items of the list. `example` is
    shown to an operator who wrote something else instead of the section.
    """

    path: str = ""
    make: type[Any] = object
    below: "Keys" = field(default_factory=dict)
    meaning: str = ""
    is_list: bool = False
    is_live: bool = False
    example: str | None = None

    @property
    def is_optional(self) -> bool:
        return bool(self.meaning)


Keys = dict[str, Key | SectionKeys]


def _field(
    kind: Kind,
    meaning: str,
    *,
    is_live: bool,
    default: Any = MISSING,
    otherwise: object = None,
    path: str = "",
    many: bool = False,
) -> Any:
    """A field with its key.

    `default` is a text as in the file. Without `default` the key must be given. With `default=None` the key
    may be left out, and the field is then `otherwise`. With `many` the key has a list of values. `path` is
    the key's name, if this is not the field's name without the unit. Dots in `path` lead into sections below
    (`rotate.every`).
    """
    is_required = default is MISSING
    text = None if is_required else default
    key = Key(path, kind, meaning, text, is_required=is_required, is_list=many, is_live=is_live)
    if is_required:
        return field(metadata={_DECLARED: key})
    absent = () if many and otherwise is None else otherwise
    return field(default=absent if text is None else kind.parse(text), metadata={_DECLARED: key})


live: Final = partial(_field, is_live=True)
"""A field that is filled from the file, and again at a reload."""
fixed: Final = partial(_field, is_live=False)
"""A field that is filled from the file when the proxy starts. A new value needs a restart."""


def section(
    make: type[Any],
    keys: Keys | None = None,
    *,
    path: str = "",
    many: bool = False,
    optional: str = "",
    live: bool = False,
    example: str | None = None,
) -> Any:
    """A field that is filled from a section, or with `many` from a list of sections, as a tuple.

    `keys` are needed for a class that does not declare them itself. `optional` is the meaning of a section
    that may be left out.
    """
    below = keys or keys_of(make)
    declared = SectionKeys(path, make, below, optional, is_list=many, is_live=live, example=example)
    return field(default=None if optional else MISSING, metadata={_DECLARED: declared})


def keys_of(make: type[Any]) -> Keys:
    return {attr.name: attr.metadata[_DECLARED] for attr in fields(make) if _DECLARED in attr.metadata}


def keys_for(make: type[Any], declared: Mapping[str, Any]) -> Keys:
    """The keys of a class that does not declare them itself, by the names of its fields.

    A key without a default gets the default of the field. A name that is not a field of the class is a key,
    too: the function that builds the class uses it.
    """
    named = {attr.name: attr for attr in fields(make)}
    return {name: _with_default(key.metadata[_DECLARED], named.get(name)) for name, key in declared.items()}


def name_of(field_name: str, declared: Key | SectionKeys) -> str:
    """The path of a declared key or section, below the section that it belongs to."""
    if declared.path:
        return declared.path
    return next((field_name.removesuffix(unit) for unit in _UNITS if field_name.endswith(unit)), field_name)


def file_of(name: str) -> str:
    """The key beside a secret's key that names a file with the secret. It is read at each use."""
    return f"{name}_file"


def _with_default(key: Key | SectionKeys, attr: "Field[Any] | None") -> Key | SectionKeys:
    if isinstance(key, SectionKeys) or not key.is_required or attr is None or attr.default is MISSING:
        return key
    none = attr.default is None or attr.default == ()
    text = None if none else str(key.kind.write(attr.default))
    return replace(key, default=text, is_required=False)
