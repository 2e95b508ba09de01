"""The table of keys as JSON Schema, for editors that complete and check as one writes.

`python -m tsproxy.config.schema` prints what `docs/configuration.schema.json` holds, and
`tsproxy check --schema` too. It says of a value what it looks like; whether it is right, and what is
wrong between keys, only `tsproxy check FILE` knows.

Editors read YAML's own types: `count: 200` is a number to them, `min_version: 1.2` as well. To us every
value is a text, so both forms are allowed; and a text with `${NAME}` in it may stand for anything.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from tsproxy.config.kinds import Key, Kind
from tsproxy.config.tree import TREE, Branch, ListOf, join, optional_section

_FROM_ENVIRONMENT: Final = {"type": "string", "pattern": r"\$\{"}
_DIGITS: Final = {"type": "string", "pattern": "^[0-9_]+$"}
_PLAIN: Final = {"type": ["string", "number", "boolean"]}


def json_schema() -> dict[str, Any]:
    """The schema of a whole file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "tsproxy configuration",
        **_section(TREE, ""),
    }


def _section(branch: Branch, path: str) -> dict[str, Any]:
    below = {name: _below(each, join(path, name)) for name, each in branch.items()}
    required = [name for name, each in branch.items() if _is_required(each, join(path, name))]
    whole = {"type": "object", "properties": below, "additionalProperties": False}
    return {**whole, "required": required} if required else whole


def _below(below: Key | Branch | ListOf, path: str) -> dict[str, Any]:
    if isinstance(below, Key):
        return _key(below)
    if not isinstance(below, ListOf):
        return {**_section(below, path), **_described(path)}
    items = _section(below.branch, f"{path}[0]")
    fewest = {} if optional_section(f"{path}[]") else {"minItems": 1}
    return {"type": "array", "items": items, **fewest, **_described(f"{path}[]")}


def _described(path: str) -> dict[str, str]:
    found = optional_section(path)
    return {"description": found.meaning} if found else {}


def _is_required(below: Key | Branch | ListOf, path: str) -> bool:
    """True where a file without it is wrong: itself, or because of what must stand below it."""
    if isinstance(below, Key):
        return below.is_required
    if isinstance(below, ListOf):
        return optional_section(f"{path}[]") is None
    return optional_section(path) is None and any(
        _is_required(each, join(path, name)) for name, each in below.items()
    )


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
    """A choice, and what YAML makes of it where it does not stand in quotes."""
    if choice in ("on", "off", "yes", "no"):
        return [choice, choice in ("on", "yes")]
    try:
        return [choice, float(choice)]
    except ValueError:
        return [choice]


def as_text() -> str:
    return json.dumps(json_schema(), indent=2) + "\n"


if __name__ == "__main__":
    print(as_text(), end="")
