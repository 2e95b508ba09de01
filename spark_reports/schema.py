"""What is read of the decision log's lines: the columns that a report needs, with explicit types.

Made from the log's own definition (`tsproxy.decisions.fields`), so a name or type that is wrong here
fails at import, not at midnight. Reading fewer columns is cheaper: Spark parses only these.
"""

from types import MappingProxyType
from typing import Final

from tsproxy.decisions.fields import FIELDS
from tsproxy.decisions.schema import TYPE_FORMS, spark_ddl

CORRUPT: Final = "_corrupt_record"
"""Where Spark's JSON reader puts a line that it cannot read."""

IDENTITY: Final = ("proxy", "boot", "seq")
"""Names one line for ever."""

ENVELOPE: Final = ("ts", "event", "v", *IDENTITY)

KEY: Final = (
    "topic",
    "client_id",
    "principal",
    "folded",
    "verdict",
    "rule",
    "mode",
    "waiver",
    "would_reject",
    "reason",
    "unit_guess",
    "error_code",
    "is_final",
)
"""What a `counters` line is about, apart from the listener."""

SUMS: Final = ("batches", "records", "bad_records", "collateral_records", "bytes", "requests")

_COUNTERS: Final = (
    "first_ts",
    "last_ts",
    "addresses",
    "drift_min_ms",
    "drift_max_ms",
    "out_of_order_records",
    "out_of_order_max_ms",
    "hist",
    "ahead",
    "behind",
)
_INTERVAL: Final = ("interval_start", "interval_ms")
_HEARTBEAT: Final = ("seq_first", "lines_dropped", "decisions_suppressed", "batches_folded")
_LIFECYCLE: Final = ("kind", "timestamp_type", "before_max_ms", "after_max_ms", "facts")
_DECISION: Final = (
    "client_address",
    "client_software",
    "partition",
    "bad_index",
    "bad_ts",
    "error_message",
    "now_ms",
)

COLUMNS: Final = (*ENVELOPE, *KEY, *SUMS, *_COUNTERS, *_INTERVAL, *_HEARTBEAT, *_LIFECYCLE, *_DECISION)

_TYPES: Final = MappingProxyType({field.name: TYPE_FORMS[field.type].spark for field in FIELDS})

READ_DDL: Final = ", ".join(f"{name} {_TYPES[name]}" for name in COLUMNS) + f", {CORRUPT} STRING"

WHOLE_DDL: Final = f"{spark_ddl()}, {CORRUPT} STRING"
"""Every field of the log, for `compact`: what no report needs today may be asked for tomorrow."""

TABLE_COLUMNS: Final = (
    *(field.name for field in FIELDS),
    *("raw", "file", "copies", "problem", "hour", "event_date"),
)
TABLE_DDL: Final = (
    f"{spark_ddl()}, raw STRING, file STRING, copies BIGINT, problem STRING, hour STRING, event_date STRING"
)
"""The table that `compact` writes: every field of the log, and where each line came from."""
