"""The JSON Schema of report.json, made from `shape`.

Within a version, keys are only added, so the schema allows keys that it does not name.
"""

import json
import types
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

from spark_reports.report.shape import SHAPE_VERSION, Report

_PLAIN = {str: "string", int: "integer", bool: "boolean", float: "number", type(None): "null"}


def schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of the whole report."""
    found: dict[str, Any] = {}
    top = _object(Report, found)
    top["properties"]["version"] = {"const": SHAPE_VERSION}
    top["properties"]["report"] = {"const": "daily"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"tsproxy report.json, version {SHAPE_VERSION}",
        **top,
        "$defs": dict(sorted(found.items())),
    }


def text() -> str:
    """The schema as docs/reference/report.schema.json holds it."""
    return json.dumps(schema(), indent=1) + "\n"


def _object(shape: type, found: dict[str, Any]) -> dict[str, Any]:
    hints = get_type_hints(shape)
    description = (shape.__doc__ or "").partition("\n")[0]
    return {
        **({"description": description} if description and not description.startswith("dict(") else {}),
        "type": "object",
        "properties": {name: _of(hint, found) for name, hint in hints.items()},
        "required": list(hints),
    }


def _of(hint: Any, found: dict[str, Any]) -> dict[str, Any]:
    origin, inner = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if origin is list:
        return {"type": "array", "items": _of(inner[0], found)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _of(inner[1], found)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_of(each, found) for each in inner]}
    if is_typeddict(hint):
        if hint.__name__ not in found:
            found[hint.__name__] = {}
            found[hint.__name__] = _object(hint, found)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    raise TypeError(f"{hint} has no form in JSON Schema here")
