"""Lines of the decision log for tests of its readers."""

from tsproxy.decisions.fields import FIELDS, SCHEMA_VERSION, FieldType

VALUES = {
    FieldType.TEXT: "x",
    FieldType.INSTANT: "2026-11-20T11:20:06.158Z",
    FieldType.INT: 0,
    FieldType.BOOL: False,
    FieldType.INTS: [],
    FieldType.TEXTS: [],
    FieldType.HISTOGRAM: [],
    FieldType.OBJECT: {},
}


def whole(event, **fields):
    """A line that has what every line of its event has, and these fields."""
    needed = {
        field.name: field.choices[0] if field.choices else VALUES[field.type]
        for field in FIELDS
        if event in field.always
    }
    return {**needed, "event": str(event), "v": SCHEMA_VERSION, **fields}
