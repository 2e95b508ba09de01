"""The part of JSON Schema that the decision log's schema uses, so that tests need no validator."""

import re

TYPES = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}


def complaints(line, schema):
    """The faults of a line; none if exactly the schema of its event fits."""
    matching = [s for s in schema["oneOf"] if s["properties"]["event"]["const"] == line.get("event")]
    if len(matching) != 1:
        return [f"event {line.get('event')!r} is not in the schema"]
    return _object(line, matching[0], matching[0]["title"])


def _object(value, schema, where):
    found = [f"{where}: {name} is missing" for name in schema.get("required", []) if name not in value]
    for name, inner in value.items():
        if name in schema.get("properties", {}):
            found += _value(inner, schema["properties"][name], f"{where}.{name}")
        elif where in ("decision", "counters", "heartbeat", "lifecycle"):
            found.append(f"{where}: {name} is written but not in the schema")
    return found


def _value(value, schema, where):
    if "const" in schema:
        return [] if value == schema["const"] else [f"{where}: {value!r} is not {schema['const']!r}"]
    kind = TYPES[schema["type"]]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        return [f"{where}: {value!r} is not of type {schema['type']}"]
    if kind is int:
        return [] if schema["minimum"] <= value <= schema["maximum"] else [f"{where}: {value} is no int64"]
    if kind is str:
        return _text(value, schema, where)
    if kind is list:
        bounds = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 10**9)
        wrong = [] if bounds else [f"{where}: {len(value)} items"]
        return wrong + [c for item in value for c in _value(item, schema["items"], where)]
    return _object(value, schema, where) if kind is dict else []


def _text(value, schema, where):
    if "enum" in schema and value not in schema["enum"]:
        return [f"{where}: {value!r} is not one of {schema['enum']}"]
    if "pattern" in schema and not re.search(schema["pattern"], value):
        return [f"{where}: {value!r} does not match {schema['pattern']}"]
    return []
