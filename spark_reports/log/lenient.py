"""A line of the log as a shipper or a tool of JSON left it: where it is in a text, and what its values are.

All of it is text of SQL that Spark 3.5 has, too. A line is a map of texts by name, because Spark's reader
gives up a whole line for one `20.0`.

A shipper puts a line into a field of its own object (LEAVES). Only these fields are opened, and a text inside
a text is not searched again: a client id may look like a line, and would write into the report. For the same
reason apostrophes quote nothing.
"""

from typing import Final

from spark_reports.log import set_aside
from tsproxy.decisions.fields import FIELDS, EventName, FieldType
from tsproxy.model.kafka import LONG_MAX, LONG_MIN

LEAVES: Final = (
    *("message", "MESSAGE", "@message", "msg", "log", "line", "value", "text", "data", "payload", "record"),
    *("content", "raw", "_raw", "json", "_entry", "textPayload", "jsonPayload", "short_message", "Body"),
    *("original", "stringValue"),
)
"""The fields in which a line may be, as a text or as an object."""
_HOLDERS: Final = ("event", "body")
"""The same, and they may hold an object that has the line in one of LEAVES: Elastic's `event.original`,
OpenTelemetry's `body.stringValue`."""
_ABOVE: Final = ("resourceLogs", "scopeLogs", "logRecords")
"""The arrays above a line of OpenTelemetry."""
_DEPTH: Final = 5
"""The objects from the outermost to the line, for OpenTelemetry. Others need fewer."""

_TIME: Final = "(?:[0-9]{4}-[0-9]{2}-[0-9]{2}T[^ ]+|[A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8})"
_HEAD: Final = (
    rf"^(?:<[0-9]+>)?(?:1 )?{_TIME} "
    r"(?:std(?:out|err) F |[^ ]+ [^ {]+:? ?(?:@cee: ?)?|(?:[^ ]+ ){4}(?:-|[\[][^{]*\]) )([{].*)$"
)
"""A line behind the head of the kubelet's files (CRI), or of syslog (RFC 3164, RFC 5424)."""
_TAGGED: Final = r"^[^ {]+: [\[][0-9.]+, ([{].*[}])[\]]$"
"""An object of Fluent Bit's output `file`, with its tag and its time."""

_OPTIONS: Final = "map('allowSingleQuotes', 'false')"
_MAP: Final = "map<string,string>"
_NONE: Final = f"cast(array() AS array<{_MAP}>)"


def _objects(text: str) -> str:
    """The object that a text is, or those of an array; a null for what is no JSON."""
    return (
        f"CASE WHEN {text} LIKE '{{%' THEN array(from_json({text}, '{_MAP}', {_OPTIONS})) "
        f"WHEN {text} LIKE '[%' THEN coalesce(from_json({text}, 'array<{_MAP}>', {_OPTIONS}), {_NONE}) "
        f"ELSE {_NONE} END"
    )


def _is_line(each: str) -> str:
    return " AND ".join(f"{each}['{name}'] IS NOT NULL" for name in set_aside.IDENTIFYING)


def _opened(objects: str) -> str:
    """The lines among these objects, and for others the objects in their fields that hold a line or lead to
    one."""
    above, holders, fields = (
        ", ".join(map(repr, names)) for names in (_ABOVE, _HOLDERS, (*LEAVES, *_HOLDERS, *_ABOVE))
    )
    return f"""
        flatten(transform({objects}, m -> CASE WHEN {_is_line("m")} THEN array(m) ELSE
            flatten(transform(filter(map_keys(m), k -> k IN ({fields})), k -> filter({_objects("m[k]")}, e ->
                {_is_line("e")} OR k IN ({above}) AND e IS NOT NULL
                OR k IN ({holders}) AND (e['original'] IS NOT NULL OR e['stringValue'] IS NOT NULL)))) END))
    """


_BASE64: Final = "eyJ"
"""The beginning of an object in base64, in which sinks of Kafka Connect write bytes."""

STEPS: Final = {
    "quoted": (
        """CASE WHEN text LIKE '"{""%' THEN replace(substring(text, 2, length(text) - 2), '""', '"') """
        """WHEN text LIKE '"%' THEN get(from_json(concat('[', text, ']'), 'array<string>'), 0) END"""
    ),
    "inside": (
        f"CASE WHEN coalesce(quoted, text) LIKE '{_BASE64}%' "
        "THEN decode(try_to_binary(coalesce(quoted, text), 'base64'), 'UTF-8') "
        f"ELSE coalesce(quoted, nullif(regexp_extract(text, r'{_HEAD}', 1), '')) END"
    ),
    "bare": f"coalesce(inside, regexp_replace(text, r'{_TAGGED}', '$1'))",
    "outside": f"filter({_objects('bare')}, m -> m IS NOT NULL)",
    "found": f"""
        filter(aggregate(sequence(1, IF(inside IS NULL, {_DEPTH}, 0)), outside,
            (found, depth) -> {_opened("found")}), m -> {_is_line("m")})
    """,
    "lines": "CASE WHEN size(found) > 0 THEN found ELSE array(get(outside, 0)) END",
}
"""Columns to add to a frame with `text`, one after the other. `found` are the lines that the text holds. If
there is none, `lines` is the object that the text is, or a null."""

_INSTANT: Final = (
    "^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}[Tt ]"  #
    "[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})$"
)
_NUMBER: Final = "^-?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?$"


def _int(text: str) -> str:
    """The int64 of a text, as a text: `20.0` is 20, a number beyond int64 is its end. Else the text."""
    double, whole = f"cast({text} AS DOUBLE)", f"cast({text} AS DECIMAL(38, 0))"
    return f"""
        CASE WHEN {text} RLIKE '^-?[0-9]{{1,38}}$' THEN
                cast(least(greatest({whole}, {LONG_MIN}BD), {LONG_MAX}BD) AS STRING)
            WHEN NOT {text} RLIKE '{_NUMBER}' OR rint({double}) <> {double} THEN {text}
            WHEN {double} >= {LONG_MAX}D THEN '{LONG_MAX}'
            WHEN {double} <= {LONG_MIN}D THEN '{LONG_MIN}'
            ELSE cast(cast({double} AS BIGINT) AS STRING) END
    """


def _instant_ms(text: str) -> str:
    """An instant of RFC 3339 in ms; null for any other text, and for the year 0, which Spark takes for 1."""
    moment = f"try_cast(replace(upper({text}), ' ', 'T') AS TIMESTAMP)"
    return f"CASE WHEN {text} RLIKE '{_INSTANT}' THEN unix_millis({moment}) END"


def _written(ms: str) -> str:
    """The instant in ms as the log writes it."""
    return f"date_format(timestamp_millis({ms}), \"yyyy-MM-dd'T'HH:mm:ss.SSS'Z'\")"


def _names(*types: FieldType) -> str:
    return ", ".join(repr(field.name) for field in FIELDS if field.type in types)


def _quoted(text: str) -> str:
    return f"substring(to_json(array({text})), 2, length(to_json(array({text}))) - 2)"


_VALUE: Final = rf"""
    CASE WHEN v IS NULL THEN 'null'
        WHEN k IN ({_names(FieldType.INT)}) AND v RLIKE '{_NUMBER}' THEN {_int("v")}
        WHEN k IN ({_names(FieldType.BOOL)}) AND v IN ('true', 'false') THEN v
        WHEN k IN ({_names(FieldType.INTS, FieldType.HISTOGRAM)}) AND v LIKE '[%' THEN
            array_join(transform(regexp_extract_all(v, r'[^\[\],]+|[\[\],]', 0), n -> {_int("n")}), '')
        WHEN k IN ({_names(FieldType.TEXTS)}) AND v LIKE '[%' THEN v
        WHEN k IN ({_names(FieldType.INSTANT)}) THEN {_quoted(f"coalesce({_written(_instant_ms('v'))}, v)")}
        ELSE {_quoted("v")} END
"""
AS_WRITTEN: Final = f"""
    concat('{{', array_join(transform(
        map_entries(transform_values(map_filter(line, (k, v) -> k IN ({_names(*FieldType)})),
            (k, v) -> {_VALUE})), e -> concat('"', e.key, '":', e.value)), ','), '}}')
"""
"""The text of a `line` with the values as the log writes them. A value of another type stays, so that Spark
reads no line from it."""

_END: Final = f"{_instant_ms('interval_start')} + interval_ms"
WITHOUT_TS: Final = f"""
    CASE WHEN event = '{EventName.DECISION}' THEN {_written("now_ms")}
        WHEN interval_ms BETWEEN 0 AND {10**12} THEN {_written(_END)} END
"""
"""The time of a line without `ts`: counters are written at the end of their interval."""
