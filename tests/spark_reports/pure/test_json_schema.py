"""report.json's schema: it is made from the shape, stands in the documents, and real reports follow it."""

from pathlib import Path

from tests.documents import report_schema
from tests.spark_reports import reports

DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "report.schema.json"
_TYPES = {"string": str, "integer": int, "boolean": bool, "null": type(None), "array": list, "object": dict}


def breaches(value, schema, root, at="report"):
    """The places where `value` breaks the schema. Only the used part of JSON Schema is known here."""
    if "$ref" in schema:
        return breaches(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, at)
    if "anyOf" in schema:
        found = [breaches(value, each, root, at) for each in schema["anyOf"]]
        return [] if any(not each for each in found) else found[0]
    if "const" in schema:
        return [] if value == schema["const"] else [at]
    if type(value) is not _TYPES[schema["type"]]:
        return [at]
    if isinstance(value, list):
        return [b for n, v in enumerate(value) for b in breaches(v, schema["items"], root, f"{at}[{n}]")]
    if isinstance(value, dict) and "properties" in schema:
        lacks = [f"{at}.{name}" for name in schema["required"] if name not in value]
        known = {name: v for name, v in value.items() if name in schema["properties"]}
        return lacks + [
            b for n, v in known.items() for b in breaches(v, schema["properties"][n], root, f"{at}.{n}")
        ]
    return []


def test_a_report_keeps_to_the_schema():
    schema = report_schema.schema()
    assert breaches(reports.fixed(), schema, schema) == []
    assert breaches(reports.empty(), schema, schema) == []


def test_a_report_that_lacks_or_mistypes_something_does_not():
    schema = report_schema.schema()
    assert breaches(reports.fixed() | {"hours": [1]}, schema, schema) == ["report.hours[0]"]
    report = reports.fixed()
    del report["log"]["gaps"]
    assert breaches(report, schema, schema) == ["report.log.gaps"]
