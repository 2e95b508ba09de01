"""A row of the tables, and the builders of its parts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import starmap
from typing import Final

from rigs.differential.batches import Batch, Record, write_batch
from rigs.differential.dialects import GOOD
from rigs.differential.message_sets import Message, wrapper, write_messages
from tsproxy.model.kafka import NO_TIMESTAMP, Codec, ErrorCode
from tsproxy.model.verdict import TopicLimits

SECOND: Final = 1000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

TICK: Final = 60
"""The originals mock their clock and use limits of 1 s. Here every limit and distance is 60 times as
long, so that a real broker on a slow machine judges by the same side of each bound."""

KNOWN: Final = TopicLimits(before_max_ms=DAY, after_max_ms=HOUR)
"""The limits that the proxy knows of a topic with `limits(DAY, HOUR)`."""

VALUES: Final = (b"hello", b"there", b"beautiful")


class Wire(Enum):
    """The places where a row can be replayed."""

    ANY = "Produce v3 and later, any broker"
    LEGACY = "Produce v0 to v2, brokers up to 3.9"
    SINCE_4_4 = "Produce v3 and later, brokers from 4.4 on"
    NOWHERE = "unit test of the broker's own code: no producer can ask for it"


@dataclass(frozen=True, slots=True)
class Expected:
    """The verdict. `culprits` None where the answer names none; `text` begins what is told or logged."""

    code: int = ErrorCode.NONE
    culprits: tuple[int, ...] | None = None
    text: str = ""


ACCEPTED: Final = Expected()


def invalid_timestamp(*culprits: int) -> Expected:
    return Expected(ErrorCode.INVALID_TIMESTAMP, culprits, "One or more records have been rejected due to")


def invalid_record(text: str, *culprits: int) -> Expected:
    return Expected(ErrorCode.INVALID_RECORD, culprits or None, text)


def compressed_as(codec: int) -> dict[str, str]:
    """The configuration of a topic that is stored so."""
    return {"compression.type": "uncompressed" if codec == Codec.NONE else Codec(codec).name.lower()}


@dataclass(frozen=True, slots=True)
class Row:
    """One replay: `records(now_ms)` is sent to a topic with `config`, and `expected` is the answer; `broker`
    is that of brokers, if it is another. An exact row stands on a bound to the millisecond."""

    original: str
    records: Callable[[int], bytes] = field(repr=False)
    expected: Expected
    config: Mapping[str, str] = field(default_factory=dict)
    variant: str = ""
    wire: Wire = Wire.ANY
    version: int | None = None
    """None: the newest that both brokers speak (11), or 2 for messages of magic 0 and 1."""
    broker: Expected | None = None
    is_exact: bool = False

    @property
    def api_version(self) -> int:
        if self.version is not None:
            return self.version
        return 2 if self.wire is Wire.LEGACY else 11

    @property
    def name(self) -> str:
        return f"{self.original}: {self.variant}" if self.variant else self.original


def limits(before: int, after: int | None = None) -> dict[str, str]:
    """A CreateTime topic with these limits, in ms; one value stands for both sides."""
    return {
        "message.timestamp.before.max.ms": str(before),
        "message.timestamp.after.max.ms": str(before if after is None else after),
    }


KEEP: Final = {"retention.ms": "-1", "segment.ms": str(2**63 - 1)}
"""Times of all centuries must neither be retired nor roll a segment each."""

A_SECOND: Final = limits(SECOND * TICK)
FIVE_SECONDS: Final = limits(5 * SECOND * TICK)
APPEND_TIME: Final = {"message.timestamp.type": "LogAppendTime"}
COMPACTED: Final = {"cleanup.policy": "compact"}


def keyless(*times: int) -> tuple[Record, ...]:
    """Records without keys, `VALUES` over and over."""
    return tuple(Record(ts, None, VALUES[at % 3]) for at, ts in enumerate(times))


def v2(*offsets_ms: int, codec: int = 0, **fields: object) -> Callable[[int], bytes]:
    """A batch whose times are `offsets_ms` from now."""
    return lambda now_ms: v2_at(*(now_ms + offset for offset in offsets_ms), codec=codec, **fields)(now_ms)


def v2_at(*times_ms: int, codec: int = 0, **fields: object) -> Callable[[int], bytes]:
    """A batch whose times are `times_ms` themselves."""
    return lambda now_ms: write_batch(Batch(keyless(*times_ms), codec=codec, **fields))  # a test's own fields


def cut_short(offset_ms: int, size: int) -> Callable[[int], bytes]:
    """A batch that ends within its own header, after `size` bytes, and says so."""

    def write(now_ms: int) -> bytes:
        batch = v2(offset_ms, base_timestamp=0)(now_ms)[:size]
        return batch[:8] + (size - 12).to_bytes(4, "big") + batch[12:]

    return write


def legacy(magic: int, *offsets_ms: int, codec: int = 0, **fields: object) -> Callable[[int], bytes]:
    """Messages of magic 0 or 1, wrapped where there is a codec; magic 0 carries no times."""

    def write(now_ms: int) -> bytes:
        messages = legacy_messages(magic, *(now_ms + offset for offset in offsets_ms))
        return write_messages([wrapper(messages, codec, magic=magic, **fields)] if codec else messages)

    return write


def legacy_messages(magic: int, *times: int) -> tuple[Message, ...]:
    def message(at: int, ts: int) -> Message:
        return Message(magic, ts if magic else NO_TIMESTAMP, None, VALUES[at % 3], offset=at)

    return tuple(starmap(message, enumerate(times)))


CODECS: Final = tuple(GOOD)
