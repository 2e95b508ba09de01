"""The decision log's schema, version 1, as one table of fields.

The JSON Schema, the Spark schema and the table of docs/reference/decision-log.md are generated from FIELDS
(`schema`). Within a version, fields are only added. Their type and meaning never change: readers ignore
unknown fields and read a missing field as null. Nulls are never written, so that lines stay short.

Texts named `ts` or `*_ts` are instants of the proxy's clock. `bad_ts*` and `*_ms` are ints in
milliseconds, because a record's timestamp may be any int64, and no calendar covers that.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tsproxy.decisions.drift import HISTOGRAM_NAME
from tsproxy.model.outcome import VerdictName
from tsproxy.model.policy import Mode
from tsproxy.model.verdict import Reason, UnitGuess

SCHEMA_VERSION: Final = 1


class EventName(StrEnum):
    """The kind of a line. `decision` lines are examples; every total comes from `counters`."""

    DECISION = "decision"
    COUNTERS = "counters"
    HEARTBEAT = "heartbeat"
    LIFECYCLE = "lifecycle"
    CLIENT = "client"
    """A client used an API in versions that Kafka 4 does not take."""


class LifecycleKind(StrEnum):
    """The kind of a `lifecycle` line. DecisionLog itself writes `limits`."""

    START = "start"
    STOP = "stop"
    RELOAD = "reload"
    CLUSTER = "cluster"
    LIMITS = "limits"
    CLOCK = "clock"
    """The proxy's clock stepped, or its offset from the brokers' clocks crossed `clock.max_offset`.
    `facts` say which, and by how much."""


class FieldType(StrEnum):
    """Types of fields. `schema` maps them to JSON Schema and to Spark."""

    TEXT = "text"
    INSTANT = "instant"
    INT = "int"
    BOOL = "bool"
    INTS = "ints"
    TEXTS = "texts"
    HISTOGRAM = "histogram"
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class Field:
    """One column. Lines of the events in `always` have it; lines of the events in `maybe` may have it."""

    name: str
    type: FieldType
    meaning: str
    always: tuple[EventName, ...] = ()
    maybe: tuple[EventName, ...] = ()
    choices: tuple[str, ...] = ()
    """The allowed values, if the list is closed."""
    since: int = SCHEMA_VERSION

    @property
    def events(self) -> tuple[EventName, ...]:
        return tuple(event for event in EventName if event in self.always or event in self.maybe)


_D: Final = (EventName.DECISION,)
_C: Final = (EventName.COUNTERS,)
_H: Final = (EventName.HEARTBEAT,)
_L: Final = (EventName.LIFECYCLE,)
_V: Final = (EventName.CLIENT,)
_DC: Final = _D + _C
_DCV: Final = _DC + _V
_ALL: Final = tuple(EventName)

_ENVELOPE: Final = (
    Field("ts", FieldType.INSTANT, "time of the line, by the proxy's clock (UTC)", _ALL),
    Field("event", FieldType.TEXT, "what the line is", _ALL, choices=tuple(EventName)),
    Field("v", FieldType.INT, "version of this schema", _ALL),
    Field("proxy", FieldType.TEXT, "name of the proxy", _ALL),
    Field("boot", FieldType.TEXT, "one run of one proxy process", _ALL),
    Field("seq", FieldType.INT, "number of the line in its boot, from 0", _ALL),
    Field("cluster_id", FieldType.TEXT, "id of the Kafka cluster, once known", maybe=_ALL),
)

_WHO: Final = (
    Field("listener", FieldType.TEXT, "name of the proxy's listener", _DC),
    Field("client_id", FieldType.TEXT, "the client's id, if it sent one", maybe=_DCV),
    Field("principal", FieldType.TEXT, "the client's principal, unless it is private", maybe=_DCV),
    Field("client_address", FieldType.TEXT, "the client's IP address, unless it is private", maybe=_D + _V),
    Field("client_port", FieldType.INT, "the client's port, unless its address is left out", maybe=_D),
    Field("client_software", FieldType.TEXT, "name/version of the client library (KIP-511)", maybe=_D + _V),
    Field("addresses", FieldType.TEXTS, "addresses of clients, at most 8", _C),
    Field("addresses_truncated", FieldType.BOOL, "true if there were more addresses", maybe=_C),
    Field("folded", FieldType.BOOL, "true for the sum of all keys beyond the limit", maybe=_C),
)

_OLD: Final = (
    Field("api", FieldType.TEXT, "the API, by its name in Kafka", _V),
    Field("version_min", FieldType.INT, "the oldest version used that Kafka 4 does not take", _V),
    Field("version_max", FieldType.INT, "the newest such version", _V),
)

_WHERE: Final = (
    Field("topic", FieldType.TEXT, "the topic", _DC, _L),
    Field("partition", FieldType.INT, "the partition", _D),
)

_REQUEST: Final = (
    Field("api_version", FieldType.INT, "version of the ProduceRequest", _D),
    Field("correlation_id", FieldType.INT, "the request's correlation id", _D),
    Field("acks", FieldType.INT, "acks of the request: -1, 0 or 1", _D),
    Field("transactional_id", FieldType.TEXT, "the producer's transactional id", maybe=_D),
    Field("producer_id", FieldType.INT, "producer id of the batch, -1 if not idempotent", _D),
    Field("producer_epoch", FieldType.INT, "producer epoch of the batch", _D),
    Field("magic", FieldType.INT, "format version of the batch (2 today)", _D),
    Field("codec", FieldType.TEXT, "compression of the batch", _D),
    Field("batch_bytes", FieldType.INT, "size of the batch in bytes", _D),
)

_VERDICT: Final = (
    Field("verdict", FieldType.TEXT, "the outcome", _DC, choices=tuple(VerdictName)),
    Field(
        "rule",
        FieldType.TEXT,
        "name of the rule that decided, or would have decided (`candidate`: the candidate limits)",
        maybe=_DC,
    ),
    Field("mode", FieldType.TEXT, "mode of that rule, if a rule decided", maybe=_DC, choices=tuple(Mode)),
    Field("waiver", FieldType.TEXT, "the waiver because of which the batch was forwarded", maybe=_DC),
    Field(
        "would_reject",
        FieldType.BOOL,
        "true if the batch was only counted: a rule in audit mode, a waiver, or the candidate limits",
        maybe=_DC,
    ),
    Field("reason", FieldType.TEXT, "why records were rejected", maybe=_DC, choices=tuple(Reason)),
    Field(
        "unit_guess",
        FieldType.TEXT,
        "the mistake that the producer seems to make",
        maybe=_DC,
        choices=tuple(UnitGuess),
    ),
    Field("error_code", FieldType.INT, "Kafka's error code for the client, or 0", _DC),
    Field("error_message", FieldType.TEXT, "the batch's error text, without those of its records", maybe=_D),
    Field("is_final", FieldType.BOOL, "false for an error after which most producers send again", _DC),
)

COUNTS: Final = (
    Field("batches", FieldType.INT, "number of batches", _C),
    Field("records", FieldType.INT, "records in the batch or batches", _DC),
    Field("bad_records", FieldType.INT, "number of culprits", _DC),
    Field("collateral_records", FieldType.INT, "good records that were rejected with culprits", _DC),
    Field("bytes", FieldType.INT, "bytes of the batches", _C),
    Field("requests", FieldType.INT, "ProduceRequests with at least one batch of this key", _C),
    Field(
        "records_unread",
        FieldType.INT,
        "records that were judged by the timestamps in their batch's header alone (`inspect.compressed`)",
        maybe=_DC,
    ),
    Field(
        "records_limits_unknown",
        FieldType.INT,
        "records judged while the topic's own limits were not known",
        maybe=_C,
    ),
)

_TIMES: Final = (
    Field("now_ms", FieldType.INT, "the clock by which the batch was judged", _D),
    Field("bad_index", FieldType.INTS, "positions of the culprits in the batch, at most 20", _D),
    Field("bad_index_truncated", FieldType.BOOL, "true if there were more culprits", maybe=_D),
    Field("bad_ts", FieldType.INTS, "their timestamps, if known, in the same order", _D),
    Field("bad_ts_min", FieldType.INT, "smallest timestamp of the culprits but -1", maybe=_D),
    Field("bad_ts_max", FieldType.INT, "largest timestamp of the culprits but -1", maybe=_D),
    Field(
        "drift_min_ms",
        FieldType.INT,
        "smallest drift of the culprits, or of all records if no culprit is named; at most 2^53-1 from 0",
        maybe=_DC,
    ),
    Field(
        "drift_max_ms", FieldType.INT, "largest drift of the same records, within the same bounds", maybe=_DC
    ),
    Field(
        "out_of_order_records",
        FieldType.INT,
        "accepted records that are out of order, as earlier proxies counted them",
        maybe=_C,
    ),
    Field(
        "out_of_order_max_ms",
        FieldType.INT,
        "most that such a record is older than the newest one before it",
        maybe=_C,
    ),
    Field("suppressed", FieldType.INT, "similar decisions not written since the last one", _D),
    Field("first_ts", FieldType.INSTANT, "earliest clock of a batch counted here", _C),
    Field("last_ts", FieldType.INSTANT, "latest clock of a batch counted here", _C),
    Field("hist", FieldType.TEXT, "name of the histogram edges", _C, choices=(HISTOGRAM_NAME,)),
    Field("ahead", FieldType.HISTOGRAM, "by each batch's largest drift", _C),
    Field("behind", FieldType.HISTOGRAM, "by each batch's smallest drift", _C),
)

_LIMITS: Final = (
    Field("limits_known", FieldType.BOOL, "false if the broker judged alone", _D),
    Field("timestamp_type", FieldType.TEXT, "message.timestamp.type of the topic", maybe=_D + _L),
    Field("before_max_ms", FieldType.INT, "how old a record may be; absent if unlimited", maybe=_D + _L),
    Field("after_max_ms", FieldType.INT, "how far ahead a record may be; absent if unlimited", maybe=_D + _L),
    Field("max_message_bytes", FieldType.INT, "max.message.bytes of the topic", maybe=_L),
)

_SELF: Final = (
    Field("interval_start", FieldType.INSTANT, "start; the counts belong to its day and hour", _C + _H + _V),
    Field("interval_ms", FieldType.INT, "length of the interval", _C + _H + _V),
    Field("seq_first", FieldType.INT, "seq of the first line of the interval", _H),
    Field("seq_last", FieldType.INT, "seq of the heartbeat itself", _H),
    Field("keys", FieldType.INT, "`counters` lines of the interval", _H),
    Field("batches_folded", FieldType.INT, "batches of keys beyond the limit", _H),
    Field("decisions_written", FieldType.INT, "`decision` lines written in the interval", _H),
    Field("decisions_suppressed", FieldType.INT, "`decision` lines not written", _H),
    Field("lines_dropped", FieldType.INT, "lines dropped since the boot", _H),
    Field("queue_high_water", FieldType.INT, "the most lines that ever waited for the writer", _H),
    Field("kind", FieldType.TEXT, "what happened", _L, choices=tuple(LifecycleKind)),
    Field("facts", FieldType.OBJECT, "details, e.g. version, mode, rules and their sha256", maybe=_L),
)

FIELDS: Final = (*_ENVELOPE, *_WHO, *_OLD, *_WHERE, *_REQUEST, *_VERDICT, *COUNTS, *_TIMES, *_LIMITS, *_SELF)
