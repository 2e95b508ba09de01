"""The schema as JSON Schema and as Spark DDL. Both are made from `fields.FIELDS`."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from tsproxy.decisions.fields import FIELDS, SCHEMA_VERSION, EventName, Field, FieldType
from tsproxy.model.kafka import LONG_MAX, LONG_MIN

_INSTANT_PATTERN: Final = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$"
_INT: Final[Mapping[str, object]] = {"type": "integer", "minimum": LONG_MIN, "maximum": LONG_MAX}


@dataclass(frozen=True, slots=True)
class TypeForms:
    """One FieldType in JSON Schema and in Spark."""

    json: Mapping[str, object]
    spark: str


TYPE_FORMS: Final = MappingProxyType(
    {
        FieldType.TEXT: TypeForms({"type": "string"}, "STRING"),
        # A string in Spark as well: its JSON reader would read a number as seconds, and hide a bad value.
        FieldType.INSTANT: TypeForms({"type": "string", "pattern": _INSTANT_PATTERN}, "STRING"),
        FieldType.INT: TypeForms(_INT, "BIGINT"),
        FieldType.BOOL: TypeForms({"type": "boolean"}, "BOOLEAN"),
        FieldType.INTS: TypeForms({"type": "array", "items": _INT}, "ARRAY<BIGINT>"),
        FieldType.TEXTS: TypeForms({"type": "array", "items": {"type": "string"}}, "ARRAY<STRING>"),
        FieldType.HISTOGRAM: TypeForms(
            {"type": "array", "items": {"type": "array", "items": _INT, "minItems": 3, "maxItems": 3}},
            "ARRAY<ARRAY<BIGINT>>",
        ),
        # Spark reads a JSON object as STRING: it keeps the text, and the contents are not columns.
        FieldType.OBJECT: TypeForms({"type": "object"}, "STRING"),
    }
)


def json_schema() -> dict[str, object]:
    """JSON Schema (draft 2020-12) of one line of any of the events. Unknown fields are allowed."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"tsproxy decision log, version {SCHEMA_VERSION}",
        "oneOf": [_event_schema(event) for event in EventName],
    }


def _event_schema(event: EventName) -> dict[str, object]:
    fields = [field for field in FIELDS if event in field.events]
    properties: dict[str, object] = {field.name: _field_schema(field) for field in fields}
    properties["event"] = {"const": event.value}
    properties["v"] = {"const": SCHEMA_VERSION}
    return {
        "title": event.value,
        "type": "object",
        "properties": properties,
        "required": [field.name for field in fields if event in field.always],
        "additionalProperties": True,
    }


def _field_schema(field: Field) -> dict[str, object]:
    form: dict[str, object] = {**TYPE_FORMS[field.type].json, "description": field.meaning}
    if field.choices:
        form["enum"] = [str(choice) for choice in field.choices]
    return form


def spark_ddl() -> str:
    """The Spark schema of any line: `ts STRING, event STRING, …`. All columns are nullable."""
    return ", ".join(f"{field.name} {TYPE_FORMS[field.type].spark}" for field in FIELDS)
