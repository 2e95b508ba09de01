"""`fault`: the reason why a line of the decision log is not what its kind must be. Every command that reads
logs sets such a line aside, and says so.

A line may be cut by a crash, be of another program, or be written by somebody who may write the folder. So
nothing of a line is used before it was looked at here. Fields that the schema does not know are allowed, and
so are values of closed lists that it does not know: newer proxies write them.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from tsproxy.decisions.drift import EDGES
from tsproxy.decisions.fields import COUNTS, FIELDS, SCHEMA_VERSION, EventName, Field, FieldType
from tsproxy.model.kafka import LONG_MAX, LONG_MIN

_INSTANT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
_LAST_BUCKET: Final = len(EDGES)


def fault(line: object) -> str | None:
    """The fault of a parsed line, without any of its values; None if it has none."""
    if not isinstance(line, dict):
        return "is no JSON object"
    version = line.get("v")
    if not isinstance(version, int) or not _is_int(version):
        return "v must be an int"
    if version > SCHEMA_VERSION:
        return f"has a later version of the schema than {SCHEMA_VERSION}: use a newer tsproxy"
    event = line.get("event")
    if not isinstance(event, str):
        return "event must be a text"
    return next(filter(None, (_fault_of(field, line) for field in _FIELDS.get(event, ()))), None)


def _fault_of(field: Field, line: Mapping[str, Any]) -> str | None:
    value = line.get(field.name)
    if value is None:
        return f"{field.name} is missing" if line["event"] in field.always else None
    shape, has_shape = _SHAPES[field.type]
    if not has_shape(value):
        return f"{field.name} must be {shape}"
    if field.name in _COUNTS and value < 0:
        return f"{field.name} must not be negative"
    return None


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and LONG_MIN <= value <= LONG_MAX


def _is_instant(value: object) -> bool:
    if not isinstance(value, str) or not _INSTANT.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _is_list(is_item: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(map(is_item, value))


def _is_bar(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 3
        and all(map(_is_int, value))
        and abs(value[0]) <= _LAST_BUCKET
        and min(value[1:]) >= 0
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_SHAPES: Final[Mapping[FieldType, tuple[str, Callable[[object], bool]]]] = MappingProxyType(
    {
        FieldType.TEXT: ("a text", _is_text),
        FieldType.INSTANT: ("an instant such as 2026-11-20T10:00:00.086Z", _is_instant),
        FieldType.INT: ("an int", _is_int),
        FieldType.BOOL: ("true or false", lambda value: isinstance(value, bool)),
        FieldType.INTS: ("a list of ints", _is_list(_is_int)),
        FieldType.TEXTS: ("a list of texts", _is_list(_is_text)),
        FieldType.HISTOGRAM: ("a list of [bucket, batches, records]", _is_list(_is_bar)),
        FieldType.OBJECT: ("an object", lambda value: isinstance(value, dict)),
    }
)
_FIELDS: Final = MappingProxyType(
    {event.value: tuple(field for field in FIELDS if event in field.events) for event in EventName}
)
_COUNTS: Final = frozenset(field.name for field in COUNTS)
