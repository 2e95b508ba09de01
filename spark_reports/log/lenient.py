"""A line of the log as a shipper or a tool of JSON left it: where it is in a text, and what its values are.

A shipper puts a line into a field of its own object (LEAVES). Only these fields are opened, and a text inside
a text is not searched again: a client id may look like a line, and would write into the report. For the same
reason apostrophes quote nothing.

Plain Python. Spark sends it to its executors by value (`second_read`), and they may lack tsproxy: a function
here uses the standard library, and constants of built-in types.
"""

import base64
import json
import operator
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from math import isinf
from typing import Any, Final

from spark_reports.log import set_aside
from tsproxy.decisions import fields
from tsproxy.model import kafka

LEAVES: Final = frozenset(
    {
        *("message", "MESSAGE", "@message", "msg", "log", "line", "value", "text", "data", "payload"),
        *("record", "content", "raw", "_raw", "json", "_entry", "textPayload", "jsonPayload"),
        *("short_message", "Body", "original", "stringValue", "event", "body"),
    }
)
"""The fields in which a line may be, as a text or as an object."""
_HOLDERS: Final = {"event": "original", "body": "stringValue"}
"""Fields that may hold an object with the line in this field: Elastic's and OpenTelemetry's."""
_ABOVE: Final = frozenset({"resourceLogs", "scopeLogs", "logRecords"})
"""The arrays above a line of OpenTelemetry."""
_DEPTH: Final = 5
"""The objects from the outermost to the line, for OpenTelemetry. Others need fewer."""

_TIME: Final = "(?:[0-9]{4}-[0-9]{2}-[0-9]{2}T[^ ]+|[A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8})"
_HEAD: Final = re.compile(
    rf"^(?:<[0-9]+>)?(?:1 )?{_TIME} "
    r"(?:std(?:out|err) F |[^ ]+ [^ {]+:? ?(?:@cee: ?)?|(?:[^ ]+ ){4}(?:-|[\[][^{]*\]) )([{].*)$"
)
"""A line behind the head of the kubelet's files (CRI), or of syslog (RFC 3164, RFC 5424)."""
_TAGGED: Final = re.compile(r"^[^ {]+: [\[][0-9.]+, ([{].*[}])[\]]$")
"""An object of Fluent Bit's output `file`, with its tag and its time."""
_BASE64: Final = "eyJ"
"""The beginning of an object in base64, in which sinks of Kafka Connect write bytes."""
_MARKS: Final = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"
"""Bytes before a line: byte order marks, and what a line feed of UTF-16 leaves."""

_SURROGATE: Final = re.compile(r"(?<!\\)\\u[dD][89a-fA-F]")
"""Half a character: Spark's reader refuses it in an object, and its function takes it."""

_INSTANT: Final = re.compile(
    "[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})"
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST_MS: Final = 10**12
_TYPES: Final = {field.name: field.type.value for field in fields.FIELDS}
_TEXTUAL: Final = frozenset({fields.FieldType.TEXT.value, fields.FieldType.OBJECT.value})
_INSTANTS: Final = fields.FieldType.INSTANT.value
_NUMERIC: Final = frozenset(
    kind.value for kind in (fields.FieldType.INT, fields.FieldType.INTS, fields.FieldType.HISTOGRAM)
)
_DECISION: Final = fields.EventName.DECISION.value
_IDENTIFYING: Final = set_aside.IDENTIFYING
_LONG_MIN: Final = kafka.LONG_MIN
_LONG_MAX: Final = kafka.LONG_MAX


def lines(content: bytes) -> list[str] | None:
    """The lines that a text holds, with values as the log writes them. An array gives a text for each of its
    elements. None for a text that is read as it came: there is nothing to change, or no line in it."""
    bare = content.lstrip(_MARKS).rstrip(b"\0 \t\r\n")
    # The last zero byte of UTF-16 is gone: it was split off, or it is one of those at the end.
    even = bare + b"\0" if b"\0" in bare and len(bare) % 2 else bare
    text = even.decode("utf-16-le" if b"\0" in bare else "utf-8", "replace")
    try:
        whole, depth = _outermost(text)
        if isinstance(whole, list):
            return [_written(line) for item in whole for line in _opened(item, depth) or [item]]
        opened = _opened(whole, depth)
        is_bare = content.startswith(b"{") and b"\0" not in bare and "\ufffd" not in text
        is_line = opened[:1] == [whole] and not _SURROGATE.search(text)
        if not opened or (is_bare and is_line and not _changes(whole)):
            return None
        # Logstash writes a line into two fields.
        return list(dict.fromkeys(map(_written, opened)))
    except RecursionError:  # nobody's line: its arrays are nested a hundred times
        return None


def _outermost(text: str) -> tuple[Any, int]:
    """The value that a text is, and how deep a line may lie in it."""
    if text.startswith('"{""'):
        inside: Any = text[1:-1].replace('""', '"')
    elif text.startswith('"'):
        inside = _parsed(text)
    else:
        head = _HEAD.match(text)
        inside = head[1] if head else None
    packed = inside or text
    if packed.startswith(_BASE64):
        with suppress(ValueError):
            inside = base64.b64decode(packed).decode()
    if inside is not None:
        return _parsed(inside), 0
    tagged = _TAGGED.match(text)
    return _parsed(tagged[1] if tagged else text), _DEPTH


def _parsed(text: str) -> Any:
    """The first value of JSON in a text, whatever follows it, as Spark reads it; None if there is none."""
    try:
        return json.JSONDecoder(parse_constant=str).raw_decode(text.lstrip())[0]
    except ValueError:
        return None


def _is_line(item: Any) -> bool:
    return isinstance(item, dict) and all(item.get(name) is not None for name in _IDENTIFYING)


def _opened(item: Any, depth: int) -> list[dict[str, Any]]:
    """The lines in a shipper's object; the object itself if it is a line."""
    if _is_line(item):
        return [item]
    if not isinstance(item, dict) or not depth:
        return []
    return [line for name, value in item.items() for line in _in_field(name, value, depth - 1)]


def _in_field(name: str, value: Any, depth: int) -> list[dict[str, Any]]:
    """The lines in a field of a shipper's object."""
    if name in _ABOVE and isinstance(value, list):
        return [line for item in value for line in _opened(item, depth)]
    if name not in LEAVES:
        return []
    if isinstance(value, dict) and _HOLDERS.get(name) in value and not _is_line(value):
        return _opened(value, depth)
    inner = _parsed(value) if isinstance(value, str) and value.lstrip()[:1] in ("{", "[") else value
    return [item for item in (inner if isinstance(inner, list) else [inner]) if _is_line(item)]


def _written(item: Any) -> str:
    """The JSON of a line with the values as the log writes them; of anything else as it is."""
    return json.dumps({**item, **_changes(item)} if _is_line(item) else item)


def _changes(line: dict[str, Any]) -> dict[str, Any]:
    """The values of a line that the log writes in another way. A value of another type stays, so that Spark
    reads no line from it."""
    changed = {}
    for name, value in line.items():
        kind = _TYPES.get(name)
        if kind is None or value is None or kind in _TEXTUAL:
            continue
        if kind == _INSTANTS:
            as_written = _instant(value)
        else:
            typed = _of_text(value) if isinstance(value, str) else value
            as_written = _numbers(typed) if kind in _NUMERIC else typed
        if as_written is not value:
            changed[name] = as_written
    if line.get("ts") is None and (ts := _time_of(line | changed)) is not None:
        changed["ts"] = ts
    return changed


def _of_text(value: str) -> Any:
    """The number, truth or array that a text is; else the text."""
    try:
        return json.loads(value, parse_constant=str)
    except ValueError:
        return value


def _numbers(value: Any) -> Any:
    """The int64 of a number, or those of an array: `20.0` is 20, a number beyond int64 is its end. Else the
    value itself."""
    if isinstance(value, list):
        numbers = [_numbers(item) for item in value]
        return value if all(map(operator.is_, numbers, value)) else numbers
    is_whole = type(value) is int or (isinstance(value, float) and (value.is_integer() or isinf(value)))
    return int(max(_LONG_MIN, min(value, _LONG_MAX))) if is_whole else value


def _instant(value: Any) -> Any:
    """An instant of RFC 3339 as the log writes it; any other value stays."""
    ms = _instant_ms(value)
    as_written = None if ms is None else _text_of(ms)
    return value if as_written in (None, value) else as_written


def _instant_ms(value: Any) -> int | None:
    """An instant of RFC 3339 in ms; None for any other value."""
    if not isinstance(value, str) or not _INSTANT.fullmatch(value.upper()):
        return None
    try:
        return (datetime.fromisoformat(value.upper()) - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):  # no date of the calendar
        return None


def _text_of(ms: int) -> str | None:
    try:
        moment = _EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _time_of(line: dict[str, Any]) -> str | None:
    """The time of a line without `ts`: counters are written at the end of their interval."""
    if line["event"] == _DECISION:
        now_ms = line.get("now_ms")
        return _text_of(now_ms) if type(now_ms) is int else None
    begin_ms, length_ms = _instant_ms(line.get("interval_start")), line.get("interval_ms")
    if begin_ms is None or type(length_ms) is not int or not 0 <= length_ms <= _LONGEST_MS:
        return None
    return _text_of(begin_ms + length_ms)
