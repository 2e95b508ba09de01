"""The schema of the Helm chart's values, with tsproxy's keys in the types that Helm keeps as they are.

Helm reads values as YAML 1.1 and writes them to tsproxy's file again: `0123` becomes 83, `on` becomes true.
So what tsproxy reads as a text must be a text here. Helm names the key, and its user quotes the value.
"""

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from tsproxy.config.schema import json_schema

CHART: Final = Path(__file__).parents[2] / "deploy" / "helm" / "tsproxy"
EXACT: Final = 2**53 - 1
"""Helm's numbers are floating-point numbers: greater ones are rounded."""
_IN_PART: Final = frozenset({"upstream", "tls.certificate", "tls.key", "proxy_protocol.from"})
"""Required keys that the chart adds to what the user gives."""


def own_keys() -> dict[str, dict[str, str]]:
    """The keys that the chart writes, below `config` and `listener.settings`, and what sets them instead."""
    helpers = (CHART / "templates" / "_helpers.tpl").read_text(encoding="utf-8")
    [table] = re.findall(r'define "tsproxy.ownKeys" -}}\n(.*?){{- end }}', helpers, re.DOTALL)
    found: dict[str, dict[str, str]] = yaml.safe_load(table)
    return found


def text() -> str:
    """values.schema.json as it is, with tsproxy's keys as they are now."""
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    values, keys, own = schema["properties"], json_schema(), own_keys()
    upstream, listener = keys["properties"]["upstream"], keys["properties"]["listeners"]["items"]
    values["config"] = _kept(keys, own["config"])
    values["upstream"]["properties"]["admin"] = _kept(upstream["properties"]["admin"])
    values["listener"]["properties"]["settings"] = _kept(listener, own["listener.settings"])
    return json.dumps(schema, indent=2) + "\n"


def _kept(schema: Mapping[str, Any], own: Collection[str] = (), path: str = "") -> dict[str, Any]:
    """The same schema for what Helm keeps. A key of the chart's own may be anything: the chart refuses it,
    and says what to set instead."""
    if "anyOf" in schema:
        return {"anyOf": [_kept(each, own, path) for each in schema["anyOf"]]}
    if "enum" in schema:  # `yes` comes back as true, which is the same; `off` as false, which is no mode
        return {"enum": [word for word in schema["enum"] if word is not False or True in schema["enum"]]}
    if "properties" in schema:
        required = {path + name: name for name in schema.get("required", ())}
        needed = [name for key, name in required.items() if key not in own and key not in _IN_PART]
        return {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                name: {} if path + name in own else _kept(each, own, f"{path}{name}.")
                for name, each in schema["properties"].items()
            },
            **({"required": needed} if needed else {}),
        }
    if "items" in schema:
        return {**_form(schema), "items": _kept(schema["items"], own, path)}
    return _form(schema)


def _form(schema: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in schema.items() if name not in ("description", "default")}
    if schema["type"] == "integer":
        return {**kept, "maximum": min(schema["maximum"], EXACT)}
    return kept if isinstance(schema["type"], str) else {**kept, "type": "string"}
