"""The declared keys as JSON Schema, for editors that complete and check a file while it is written.

`tsproxy check --schema` prints it, and `configuration.schema.json` is a copy (`make generated`). The
schema describes the form of each value. Only `tsproxy check FILE` checks whether values are right, and
whether they are allowed together.

Editors read YAML's own types: to them `count: 200` and `min_version: 1.2` are numbers. Here every value is a
text, so both forms are allowed. A text with `${NAME}` in it may stand for anything.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from tsproxy.config.keys import Key, Kind, SectionKeys
from tsproxy.config.tree import TREE

_FROM_ENVIRONMENT: Final = {"type": "string", "pattern": r"\$\{"}
_DIGITS: Final = {"type": "string", "pattern": "^[0-9_]+$"}
_PLAIN: Final = {"type": ["string", "number", "boolean"]}


def json_schema() -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "tsproxy configuration",
        **_section(TREE),
    }


def _section(keys: SectionKeys) -> dict[str, Any]:
    below = {name: _below(key) for name, key in keys.below.items()}
    required = [name for name, key in keys.below.items() if _is_required(key)]
    whole = {"type": "object", "properties": below, "additionalProperties": False}
    return {**whole, "required": required} if required else whole


def _below(below: Key | SectionKeys) -> dict[str, Any]:
    if isinstance(below, Key):
        return _key(below)
    described = {"description": below.meaning} if below.is_optional else {}
    if not below.is_list:
        return {**_section(below), **described}
    fewest = {} if below.is_optional else {"minItems": 1}
    return {"type": "array", "items": _section(below), **fewest, **described}


def _is_required(below: Key | SectionKeys) -> bool:
    """True if a file must have this key, or a key below this section."""
    if isinstance(below, Key):
        return below.is_required
    return not below.is_optional and (below.is_list or any(map(_is_required, below.below.values())))


def _key(key: Key) -> dict[str, Any]:
    value: dict[str, Any] = _value(key.kind)
    if key.is_list:
        value = {"anyOf": [{"type": "array", "items": value, "minItems": 1}, _PLAIN]}
    effect = "A reload changes it." if key.is_live else "A change needs a restart."
    default = {} if key.default is None else {"default": key.default}
    return {**value, "description": f"{key.meaning} ({key.kind.word}) {effect}", **default}


def _value(kind: Kind) -> dict[str, Any]:
    looks: list[Mapping[str, Any]] = []
    if kind.choices:
        looks = [{"enum": [form for choice in kind.choices for form in _forms(choice)]}]
    else:
        if kind.bounds is not None:
            lowest, highest = kind.bounds
            looks = [{"type": "integer", "minimum": lowest, "maximum": highest}]
        if kind.pattern is not None:
            looks = [*looks, {"type": "string", "pattern": f"^({kind.pattern})$"}]
        elif looks:
            looks = [*looks, _DIGITS]
    if not looks:
        return dict(_PLAIN)
    return {"anyOf": [*looks, _FROM_ENVIRONMENT]}


def _forms(choice: str) -> list[object]:
    """A choice, and its value in YAML without quotes."""
    if choice in ("on", "off", "yes", "no"):
        return [choice, choice in ("on", "yes")]
    try:
        return [choice, float(choice)]
    except ValueError:
        return [choice]


def as_text() -> str:
    return json.dumps(json_schema(), indent=2) + "\n"
