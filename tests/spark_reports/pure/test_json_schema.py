"""report.json's schema: it is made from the shape, stands in the documents, and real reports follow it."""

from tests.decisions.conformance import fits
from tests.documents import report_schema
from tests.spark_reports import reports


def inlined(part, definitions):
    """A part of the schema, with each definition in the place of its name."""
    if isinstance(part, list):
        return [inlined(each, definitions) for each in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return inlined(definitions[part["$ref"].rpartition("/")[2]], definitions)
    return {name: inlined(each, definitions) for name, each in part.items()}


SCHEMA = inlined(report_schema.schema(), report_schema.schema()["$defs"])


def test_a_report_keeps_to_the_schema():
    assert fits(reports.fixed(), SCHEMA)
    assert fits(reports.empty(), SCHEMA)


def test_a_report_that_lacks_or_mistypes_something_does_not():
    assert not fits(reports.fixed() | {"hours": [1]}, SCHEMA)
    report = reports.fixed()
    del report["log"]["gaps"]
    assert not fits(report, SCHEMA)
