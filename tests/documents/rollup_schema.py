"""The JSON Schema of the rollup's table `hours`, made from `groups.ROLLUP`."""

import json

from spark_reports.log.grouping import How
from spark_reports.report.groups import MEANINGS, ROLLUP, TYPES
from tsproxy.decisions.fields import FIELDS, FieldType

_JSON = {FieldType.TEXT: "string", FieldType.INT: "integer", FieldType.BOOL: "boolean"}
_ALWAYS = ("hour", "topic", "verdict", "error_code", "is_final", "event_date")
"""The keys that each row has."""


def text() -> str:
    """The schema (draft 2020-12) as docs/reference/rollup.schema.json holds it."""
    meanings = {field.name: field.meaning for field in FIELDS} | MEANINGS
    sums = {name for name, measure in ROLLUP.measures.items() if measure.how is How.SUM}
    rows = {}
    for name in (*ROLLUP.keys, *ROLLUP.measures, "event_date"):
        own = _JSON[TYPES.get(name, FieldType.INT)]
        rows[name] = {
            "type": own if name in sums or name in _ALWAYS else [own, "null"],
            "description": meanings[name],
        }
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "tsproxy rollup, version 1: a row of the table hours",
        "type": "object",
        "properties": rows,
        "required": list(rows),
    }
    return json.dumps(schema, indent=1) + "\n"
