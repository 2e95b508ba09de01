"""The part of JSON Schema that our schemas use: tests need no validator."""

import re

TYPES = {
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def complaints(line, schema):
    """The faults of a line; none if exactly the schema of its event fits."""
    matching = [s for s in schema["oneOf"] if s["properties"]["event"]["const"] == line.get("event")]
    if len(matching) != 1:
        return [f"event {line.get('event')!r} is not in the schema"]
    [event] = matching
    known, where = event["properties"], event["title"]
    found = [f"{where}: {name} is missing" for name in event["required"] if name not in line]
    found += [f"{where}: {name} is written but not in the schema" for name in line.keys() - known.keys()]
    wrong = [name for name in line if name in known and not fits(line[name], known[name])]
    return found + [f"{where}.{name}: {line[name]!r} does not fit {known[name]}" for name in wrong]


def fits(value, schema):
    if "const" in schema:
        return value == schema["const"]
    if "anyOf" in schema:
        return any(fits(value, each) for each in schema["anyOf"])
    if "enum" in schema:
        return any(value == each and type(value) is type(each) for each in schema["enum"])
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(_is(value, name) for name in names):
        return False
    if isinstance(value, dict):
        known, is_open = schema.get("properties", {}), schema.get("additionalProperties", True)
        return all(name in value for name in schema.get("required", ())) and all(
            fits(each, known[name]) if name in known else is_open for name, each in value.items()
        )
    if isinstance(value, list):
        bounds = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 10**9)
        return bounds and all(fits(each, schema["items"]) for each in value)
    if value is None:
        return True
    if "pattern" in schema and not re.search(schema["pattern"], value):
        return False
    return schema.get("minimum", value) <= value <= schema.get("maximum", value)


def _is(value, name):
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))
