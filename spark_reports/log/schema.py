"""The columns of the decision log that reports read, with explicit types.

They come from the log's own definition (`tsproxy.decisions.fields`), so a wrong name fails at import.
Spark parses only these columns, which saves time.
"""

from types import MappingProxyType
from typing import Final

from tsproxy.decisions.fields import FIELDS
from tsproxy.decisions.schema import TYPE_FORMS, spark_ddl

CORRUPT: Final = "_corrupt_record"
"""The column in which Spark's JSON reader puts a line that it cannot read."""

CAME_AS: Final = "came_as"
"""The column of the second reading (`second_read`) with the text in which a line came."""

IDENTITY: Final = ("proxy", "boot", "seq")
"""These three identify one line for ever."""

ENVELOPE: Final = ("ts", "event", "v", *IDENTITY, "cluster_id")

KEY: Final = (
    *("topic", "client_id", "principal", "folded", "verdict", "rule", "mode", "waiver", "would_reject"),
    *("reason", "unit_guess", "error_code", "is_final"),
)
"""The key of a `counters` line, apart from the listener."""

SUMS: Final = ("batches", "records", "bad_records", "collateral_records", "bytes", "requests")

OPTIONAL_SUMS: Final = ("records_unread", "records_limits_unknown")
"""Sums that a line leaves out if they are 0."""

_COUNTERS: Final = (
    *("first_ts", "last_ts", "addresses", "drift_min_ms", "drift_max_ms"),
    *(*OPTIONAL_SUMS, "hist", "ahead", "behind"),
)
_INTERVAL: Final = ("interval_start", "interval_ms")
_HEARTBEAT: Final = ("seq_first", "lines_dropped", "decisions_suppressed", "batches_folded")
_LIFECYCLE: Final = ("kind", "timestamp_type", "before_max_ms", "after_max_ms", "facts")
_DECISION: Final = (
    *("client_address", "client_software", "partition"),
    *("bad_index", "bad_ts", "error_message", "now_ms"),
)
_CLIENT: Final = ("api", "version_min", "version_max")

COLUMNS: Final = (
    *(*ENVELOPE, *KEY, *SUMS, *_COUNTERS, *_INTERVAL, *_HEARTBEAT, *_LIFECYCLE, *_DECISION, *_CLIENT),
)

_TYPES: Final = MappingProxyType({field.name: TYPE_FORMS[field.type].spark for field in FIELDS})

READ_DDL: Final = ", ".join(f"{name} {_TYPES[name]}" for name in COLUMNS) + f", {CORRUPT} STRING"

WHOLE_DDL: Final = f"{spark_ddl()}, {CORRUPT} STRING"
"""Every field of the log, for `compact`: later reports may need fields that today's do not."""

OWN_COLUMNS: Final = (
    ("raw", "STRING"),
    ("file", "STRING"),
    ("copies", "BIGINT"),
    ("problem", "STRING"),
    ("hour", "STRING"),
    ("event_date", "STRING"),
)
"""Name and type of each column of the table that is no field of the log (docs/reference/decision-log.md)."""

TABLE_COLUMNS: Final = (*(field.name for field in FIELDS), *(name for name, _ in OWN_COLUMNS))
TABLE_DDL: Final = ", ".join([spark_ddl(), *(f"{name} {type_}" for name, type_ in OWN_COLUMNS)])
"""The table of `compact`: every field of the log, and the source of each line."""
