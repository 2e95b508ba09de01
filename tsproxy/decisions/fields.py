"""The decision log's schema, version 1: one table, from which everything else is made.

The JSON Schema, the Spark schema and the table of docs/decision-log.md all come from FIELDS
(`schema`). Within a version fields are only added, never changed in type or meaning: readers ignore
what they do not know and take what is missing as null. To keep lines short a null is never written.

Texts ending in `_ts` or named `ts` are instants of the proxy's clock; `bad_ts*` and `*_ms` are ints
in milliseconds, because a record's timestamp may be any int64, which no calendar holds.
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
    """What a line is. `decision` lines are examples; every total comes from `counters`."""

    DECISION = "decision"
    COUNTERS = "counters"
    HEARTBEAT = "heartbeat"
    LIFECYCLE = "lifecycle"


class LifecycleKind(StrEnum):
    """What happened to the proxy, or what it learned. `limits` is written by DecisionLog itself."""

    START = "start"
    STOP = "stop"
    RELOAD = "reload"
    CLUSTER = "cluster"
    LIMITS = "limits"
    CLOCK = "clock"
    """It was set, or it left the brokers' (or came back): `facts` say which, and by how much."""


class FieldType(StrEnum):
    """Types of fields; `schema` says what each is in JSON Schema and in Spark."""

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
    """One column: `always` names the events whose lines always have it, `maybe` those that may."""

    name: str
    type: FieldType
    meaning: str
    always: tuple[EventName, ...] = ()
    maybe: tuple[EventName, ...] = ()
    choices: tuple[str, ...] = ()
    """The closed list of a text, where it has one."""
    since: int = SCHEMA_VERSION

    @property
    def events(self) -> tuple[EventName, ...]:
        return tuple(event for event in EventName if event in self.always or event in self.maybe)


_D: Final = (EventName.DECISION,)
_C: Final = (EventName.COUNTERS,)
_H: Final = (EventName.HEARTBEAT,)
_L: Final = (EventName.LIFECYCLE,)
_DC: Final = _D + _C
_ALL: Final = tuple(EventName)

_ENVELOPE: Final = (
    Field("ts", FieldType.INSTANT, "when, by the proxy's clock (UTC)", _ALL),
    Field("event", FieldType.TEXT, "what the line is", _ALL, choices=tuple(EventName)),
    Field("v", FieldType.INT, "version of this schema", _ALL),
    Field("proxy", FieldType.TEXT, "name of the proxy", _ALL),
    Field("boot", FieldType.TEXT, "one life of one proxy process", _ALL),
    Field(
        "seq", FieldType.INT, "counts the lines of a boot from 0 without a gap: a gap is a lost line", _ALL
    ),
    Field("cluster_id", FieldType.TEXT, "id of the Kafka cluster, once known", (), _ALL),
)

_WHO: Final = (
    Field("listener", FieldType.TEXT, "name of the proxy's listener", _DC),
    Field("client_id", FieldType.TEXT, "the client's id; absent where it sent none", (), _DC),
    Field("principal", FieldType.TEXT, "who the client proved to be, unless it is private", (), _DC),
    Field("client_address", FieldType.TEXT, "the client's IP address, unless it is private", (), _D),
    Field("client_port", FieldType.INT, "the client's port, unless its address is left out", (), _D),
    Field("client_software", FieldType.TEXT, "name/version of the client library (KIP-511)", (), _D),
    Field("addresses", FieldType.TEXTS, "client addresses seen, at most 8", _C),
    Field("addresses_truncated", FieldType.BOOL, "true where there were more addresses than listed", (), _C),
    Field("folded", FieldType.BOOL, "true where topic and client stand for all keys past the limit", (), _C),
)

_WHERE: Final = (
    Field("topic", FieldType.TEXT, "the topic", _DC, _L),
    Field("partition", FieldType.INT, "the partition", _D),
)

_REQUEST: Final = (
    Field("api_version", FieldType.INT, "version of the ProduceRequest", _D),
    Field("correlation_id", FieldType.INT, "the request's correlation id", _D),
    Field("acks", FieldType.INT, "acks of the request: -1, 0 or 1", _D),
    Field("transactional_id", FieldType.TEXT, "the producer's transactional id", (), _D),
    Field("producer_id", FieldType.INT, "producer id of the batch, -1 where not idempotent", _D),
    Field("producer_epoch", FieldType.INT, "producer epoch of the batch", _D),
    Field("magic", FieldType.INT, "format of the batch (2 today)", _D),
    Field("codec", FieldType.TEXT, "compression of the batch", _D),
    Field("batch_bytes", FieldType.INT, "size of the batch in bytes", _D),
)

_VERDICT: Final = (
    Field("verdict", FieldType.TEXT, "how it ended", _DC, choices=tuple(VerdictName)),
    Field(
        "rule",
        FieldType.TEXT,
        "name of the rule that decided, or would have (`candidate`: the candidate limits)",
        (),
        _DC,
    ),
    Field("mode", FieldType.TEXT, "mode of that rule, where one decided", (), _DC, tuple(Mode)),
    Field("waiver", FieldType.TEXT, "name of the waiver by which it was let pass", (), _DC),
    Field(
        "would_reject",
        FieldType.BOOL,
        "true where the batch was let pass and only counted: its rule is in audit, or the candidate limits "
        "reject it",
        (),
        _DC,
    ),
    Field("reason", FieldType.TEXT, "why records were rejected", (), _DC, tuple(Reason)),
    Field("unit_guess", FieldType.TEXT, "the unit the producer seems to use", (), _DC, tuple(UnitGuess)),
    Field("error_code", FieldType.INT, "Kafka error code given to the client, 0 for none", _DC),
    Field("error_message", FieldType.TEXT, "text given to the client", (), _D),
    Field("is_final", FieldType.BOOL, "false where the producer sends the same records again by itself", _DC),
)

_COUNTS: Final = (
    Field("batches", FieldType.INT, "batches", _C),
    Field("records", FieldType.INT, "records in the batch or batches", _DC),
    Field("bad_records", FieldType.INT, "records at fault", _DC),
    Field(
        "collateral_records", FieldType.INT, "good records rejected for sharing a batch with bad ones", _DC
    ),
    Field("bytes", FieldType.INT, "bytes of the batches", _C),
    Field("requests", FieldType.INT, "ProduceRequests with at least one batch of this key", _C),
)

_TIMES: Final = (
    Field("now_ms", FieldType.INT, "the clock that the batch was judged by", _D),
    Field("bad_index", FieldType.INTS, "positions in the batch of records at fault, at most 20", _D),
    Field("bad_index_truncated", FieldType.BOOL, "true where there were more than listed", (), _D),
    Field("bad_ts", FieldType.INTS, "their timestamps where known, same order, at most 20", _D),
    Field("bad_ts_min", FieldType.INT, "smallest timestamp at fault (-1, no timestamp, left out)", (), _D),
    Field("bad_ts_max", FieldType.INT, "largest timestamp at fault (-1, no timestamp, left out)", (), _D),
    Field(
        "drift_min_ms",
        FieldType.INT,
        "smallest drift (timestamp - clock) of records at fault, else of all",
        (),
        _DC,
    ),
    Field(
        "drift_max_ms",
        FieldType.INT,
        "largest drift (timestamp - clock) of records at fault, else of all",
        (),
        _DC,
    ),
    Field(
        "out_of_order_records",
        FieldType.INT,
        "accepted records older than one before them in their partition, where a rule follows stream time",
        (),
        _C,
    ),
    Field(
        "out_of_order_max_ms",
        FieldType.INT,
        "how much older the worst of them is than the newest before it",
        (),
        _C,
    ),
    Field("suppressed", FieldType.INT, "like decisions not written since the last one that was", _D),
    Field("first_ts", FieldType.INSTANT, "earliest clock of a batch counted here", _C),
    Field("last_ts", FieldType.INSTANT, "latest clock of a batch counted here", _C),
    Field("hist", FieldType.TEXT, "name of the histogram's edges", _C, choices=(HISTOGRAM_NAME,)),
    Field("ahead", FieldType.HISTOGRAM, "[bucket, batches, records] by each batch's largest drift", _C),
    Field("behind", FieldType.HISTOGRAM, "[bucket, batches, records] by each batch's smallest drift", _C),
)

_LIMITS: Final = (
    Field(
        "limits_known", FieldType.BOOL, "false where the broker judged alone, the limits being unknown", _D
    ),
    Field("timestamp_type", FieldType.TEXT, "message.timestamp.type of the topic", (), _D + _L),
    Field("before_max_ms", FieldType.INT, "how old a record may be; absent where unlimited", (), _D + _L),
    Field(
        "after_max_ms", FieldType.INT, "how far ahead a record may be; absent where unlimited", (), _D + _L
    ),
    Field("max_message_bytes", FieldType.INT, "max.message.bytes of the topic", (), _L),
)

_SELF: Final = (
    Field(
        "interval_start",
        FieldType.INSTANT,
        "start of the interval; its day and hour are the counts' own",
        _C + _H,
    ),
    Field("interval_ms", FieldType.INT, "length of the interval", _C + _H),
    Field("seq_first", FieldType.INT, "seq of the first line of the interval", _H),
    Field("seq_last", FieldType.INT, "seq of the heartbeat itself, the last line of the interval", _H),
    Field("keys", FieldType.INT, "counters written for the interval", _H),
    Field("batches_folded", FieldType.INT, "batches counted under `other`, past the limit of keys", _H),
    Field("decisions_written", FieldType.INT, "decisions written in the interval", _H),
    Field("decisions_suppressed", FieldType.INT, "decisions counted but not written", _H),
    Field("lines_dropped", FieldType.INT, "lines the writer had to drop since the boot", _H),
    Field("queue_high_water", FieldType.INT, "most lines that ever waited for the writer", _H),
    Field("kind", FieldType.TEXT, "what happened", _L, choices=tuple(LifecycleKind)),
    Field("facts", FieldType.OBJECT, "details, e.g. version, mode, rules and their sha256", (), _L),
)

FIELDS: Final = (*_ENVELOPE, *_WHO, *_WHERE, *_REQUEST, *_VERDICT, *_COUNTS, *_TIMES, *_LIMITS, *_SELF)
