"""The JSON Schema of the rollup's table `hours`, and the table as a source of dbt, from `groups.ROLLUP`."""

import json
from typing import Any

from spark_reports.log.grouping import How
from spark_reports.report.groups import MEANINGS, ROLLUP, TYPES
from tsproxy.decisions.fields import FIELDS, FieldType

_JSON = {FieldType.TEXT: "string", FieldType.INT: "integer", FieldType.BOOL: "boolean"}
_ALWAYS = ("hour", "topic", "verdict", "error_code", "is_final", "event_date")
"""The keys that each row has."""


def text() -> str:
    """The schema (draft 2020-12) as docs/reference/rollup.schema.json holds it."""
    return json.dumps(_schema(), indent=1) + "\n"


def sources() -> str:
    """docs/reference/rollup.sources.yml, for dbt."""
    lines = [_SOURCES]
    for name, column in _schema()["properties"].items():
        has_nulls = isinstance(column["type"], list)
        kind = column["type"][0] if has_nulls else column["type"]
        lines.append(f"          - name: {name}\n            data_type: {_SQL[kind]}\n")
        lines.append(f"            description: {json.dumps(column['description'])}\n")
        lines += [] if has_nulls else ["            data_tests: [not_null]\n"]
    return "".join(lines)


_SQL = {"string": "varchar", "integer": "bigint", "boolean": "boolean"}
_SOURCES = """\
# A source of dbt, made by `make generated` from the definition of rollup.schema.json. `external_location` is
# for dbt-duckdb; with dbt-spark, make a table of the folder and name its `schema`.
version: 2
sources:
  - name: tsproxy
    description: what `spark_reports daily --rollup rollup` writes
    meta:
      external_location: >-
        read_parquet('rollup/{name}/*/*.parquet', hive_partitioning = true, hive_types_autocast = false)
    tables:
      - name: hours
        description: all sums of an hour and key of counters; columns are only added
        columns:
"""


def _schema() -> dict[str, Any]:
    meanings = {field.name: field.meaning for field in FIELDS} | MEANINGS
    sums = {name for name, measure in ROLLUP.measures.items() if measure.how is How.SUM}
    rows = {}
    for name in (*ROLLUP.keys, *ROLLUP.measures, "event_date"):
        own = _JSON[TYPES.get(name, FieldType.INT)]
        rows[name] = {
            "type": own if name in sums or name in _ALWAYS else [own, "null"],
            "description": meanings[name],
        }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "tsproxy rollup, version 1: a row of the table hours",
        "type": "object",
        "properties": rows,
        "required": list(rows),
    }
