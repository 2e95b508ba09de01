"""How a configuration key is declared: on the field that holds its value.

    @dataclass(frozen=True, slots=True)
    class ClockProbe:
        topic: str = live(TOPIC, "A topic with `message.timestamp.type=LogAppendTime`, …")
        every_ms: int = live(DURATION, "How often.", default="30s")

All else follows from such a line: the tree of allowed keys (`tree`), the table in the documents
(`reference`), the JSON Schema (`schema`), the effect of a reload (`reloaded`) and the value of the field
(`parsed.make`). `live`: a reload changes it. `fixed`: a change needs a restart.

A class of a lower layer (`SessionLimits`, `Policy`) cannot import this module. Its keys are declared
beside it, by the names of its fields: `keys_for`.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import partial
from typing import Any, Final

from tsproxy.config import equivalents
from tsproxy.config.values import Parser

_DECLARED: Final = "tsproxy.key"
_UNITS: Final = ("_ms", "_bytes")
"""Field names end in their unit, keys do not: their values are written with one."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: its word in the documents, and how it is read.

    For editors: `pattern` fits the whole of every text that `parse` accepts (it may fit more),
    `choices` are all there are, `bounds` those of a number. `write` turns a value into a text (or number)
    that reads as the same one; a secret's shows nothing of it. `meant` says how a text that `parse` does
    not accept is written here.
    """

    word: str
    parse: Parser
    pattern: str | None = None
    choices: tuple[str, ...] = ()
    bounds: tuple[int, int] | None = None
    write: Callable[[Any], str | int] = str
    meant: equivalents.Meant | None = None

    def advice(self, text: str) -> str | None:
        """How to write what this text seems to say; None where nothing is known."""
        candidates = self.meant(text) if self.meant else ()
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

    `path`: in the tree the whole one (`listeners[].bind`); in a declaration the part below its section, and
    empty where the field's name says it. `is_live`: a reload puts a new value into use. Declare a key live
    only if the component that uses it adopts new values (`prepare`). Every other key
    keeps its value until the proxy is restarted, and the log says so.
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
    """The keys of a section, or (`is_list`) of each section in a list. They fill the fields of a `make`.

    `path` is as in `Key`. `below` has the keys by field in a declaration, and by their names in the tree.
    `meaning` is for sections that may be left out: without it the section is always there, if only with
    defaults, and a list must not be empty. An absent section is None and an absent list is empty.
    `is_live`: a reload may make it appear or vanish, and give a list more or fewer items. `example` is
    shown to an operator who wrote something else there.
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
    """`default` is a text as the file would have it; without one the key must be given. With
    `default=None` it may be left out: the field is then `otherwise`. `many`: a list of values. `path` is the
    key's name if it is not the field's without the unit; dots lead into sections below (`rotate.every`).
    """
    text = None if default is MISSING else default
    found = Key(path, kind, meaning, text, default is MISSING, many, is_live)
    if default is MISSING:
        return field(metadata={_DECLARED: found})
    absent = () if many and otherwise is None else otherwise
    return field(default=absent if text is None else kind.parse(text), metadata={_DECLARED: found})


live: Final = partial(_field, is_live=True)
"""A field that is filled from the file, and follows the file at a reload."""
fixed: Final = partial(_field, is_live=False)
"""A field that is filled from the file when the proxy starts: another value waits for a restart."""


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
    """A field that is filled from a section, or with `many` from a list of them, as a tuple.

    `keys`: those of a class that does not declare them itself. `optional` is the section's meaning.
    """
    found = SectionKeys(path, make, keys or keys_of(make), optional, many, live, example)
    return field(default=None if optional else MISSING, metadata={_DECLARED: found})


def keys_of(make: type[Any]) -> Keys:
    """The keys that a class declares on its fields."""
    return {each.name: each.metadata[_DECLARED] for each in fields(make) if _DECLARED in each.metadata}


def keys_for(make: type[Any], declared: Mapping[str, Any]) -> Keys:
    """The keys of a class that does not know of them, by the names of its fields.

    A key without a default has the class's own. Names that are no fields of the class are keys as well,
    for the function that builds it.
    """
    own = {each.name: each for each in fields(make)}
    found = {name: each.metadata[_DECLARED] for name, each in declared.items()}
    return {name: _with_default(each, own.get(name)) for name, each in found.items()}


def name_of(field_name: str, declared: Key | SectionKeys) -> str:
    """The place of a declared key or section, below the section that it belongs to."""
    if declared.path:
        return declared.path
    return next((field_name.removesuffix(unit) for unit in _UNITS if field_name.endswith(unit)), field_name)


def _with_default(declared: Key | SectionKeys, own: "Field[Any] | None") -> Key | SectionKeys:
    if isinstance(declared, SectionKeys) or not declared.is_required or own is None or own.default is MISSING:
        return declared
    none = own.default is None or own.default == ()
    text = None if none else str(declared.kind.write(own.default))
    return replace(declared, default=text, is_required=False)
