"""The verdict on one batch, and the limits by which the batch is judged.

Sources: KIP-32, KIP-467 (record errors), KIP-937 (limits before and after).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Self, overload

from tsproxy.model.kafka import LONG_MAX, LONG_MIN, Codec, ErrorCode, TimestampType, wrap64
from tsproxy.model.records import Outside


class Trait(Enum):
    """A fact about the records at fault, in addition to the words of their reason."""

    AHEAD = "their timestamps lie ahead of the clock"
    BEHIND = "their timestamps lie behind the clock"
    OF_SIZE = "the value is too large or too small, as a wrong unit makes it"
    UNSPECIFIC = "the error code says more than the reason"


class Reason(StrEnum):
    """Why records were rejected. The list is closed, as a part of the decision log's schema.

    Each reason has a short `word`, and its likely `cause` and `fix` in words for the producer's owner.
    Reports show these words. Code that treats some reasons differently checks their `traits`.

    Brokers have metrics for the four reasons from `no_key` on (KIP-467), but none for timestamps. Only
    `header_mismatch` is for accepted batches: the maxTimestamp of their header is not the maximum of their
    records, and brokers overwrite it.
    """

    word: str
    cause: str
    fix: str
    traits: tuple[Trait, ...]

    def __new__(cls, value: str, word: str = "", cause: str = "", fix: str = "", *traits: Trait) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.word, member.cause, member.fix, member.traits = word, cause, fix, traits
        return member

    TOO_FAR_AHEAD = (
        "too_far_ahead",
        "too far ahead",
        "timestamps are too far in the future",
        "check the producer's clock and how it sets event times",
        Trait.AHEAD,
        Trait.OF_SIZE,
    )
    TOO_OLD = (
        "too_old",
        "too old",
        "timestamps are older than the limit",
        "a replay or backfill? ask for a waiver, or send no timestamp",
        Trait.BEHIND,
        Trait.OF_SIZE,
    )
    NEGATIVE = (
        "negative",
        "negative",
        "timestamps are before 1970",
        "check how the event time is computed",
        Trait.BEHIND,
    )
    MISSING = (
        "missing",
        "no timestamp",
        "records carry no timestamp",
        "set a timestamp on every record",
    )
    BAD_RECORD = (
        "bad_record",
        "bad record",
        "batches cannot be read",
        "update or replace the client library",
        Trait.UNSPECIFIC,
    )
    NO_KEY = (
        "no_key",
        "no key",
        "records without a key for a compacted topic",
        "set a key, or write to a topic that is not compacted",
    )
    INVALID_MAGIC = (
        "invalid_magic",
        "wrong format",
        "batches of a format that is not allowed",
        "update the client library",
    )
    INVALID_CRC = (
        "invalid_crc",
        "damaged",
        "batches damaged in transit",
        "check the network and the client's memory; the producer retries",
    )
    INVALID_OFFSET_OR_SEQUENCE = (
        "invalid_offset_or_sequence",
        "wrong sequence",
        "offsets or sequence numbers in a batch are wrong",
        "update or replace the client library",
    )
    TYPE_MISMATCH = (
        "type_mismatch",
        "wrong timestamp type",
        "batches claim log-append time, which only a broker may set",
        "send create-time batches",
    )
    HEADER_MISMATCH = (
        "header_mismatch",
        "header mismatch",
        "a batch's header and its records disagree about time",
        "update or replace the client library",
    )
    JUMP_AHEAD = (
        "jump_ahead",
        "jump ahead",
        "timestamps jump far ahead of the newest one before them in their partition",
        "check the producer's clock and how it sets event times",
        Trait.OF_SIZE,
    )
    """The reason of no rule of tsproxy's own any more. A custom rule may name it."""
    CUSTOM_RULE = (
        "custom_rule",
        "custom rule",
        "a rule of the proxy's operator rejects them",
        "the text of the error says what it asks for",
    )
    """A custom rule rejected the batch, or failed on it. The rule may name another reason."""
    UNKNOWN_TOPIC_ID = (
        "unknown_topic_id",
        "unknown topic id",
        "the proxy did not learn in time which topic an id names",
        "producers send such batches again; if it lasts, see whether the topic exists and whether the "
        "proxy's user may describe it",
    )
    """The request names its topic by id, and the proxy knows no name for the id. So no rule and no limit is
    known, and the batch is not forwarded."""
    OTHER = (
        "other",
        "other",
        "not about timestamps",
        "see the error code",
        Trait.UNSPECIFIC,
    )
    """The broker rejected the batch for a reason that is not about timestamps. The error code names that
    reason."""


class UnitGuess(StrEnum):
    """The likely mistake behind a rejected value: the unit in which it lies within a year of the clock
    (`units`), or a time that was never set or is counted in another way (`odd_times`)."""

    SECONDS = "seconds"
    MICROSECONDS = "microseconds"
    NANOSECONDS = "nanoseconds"
    MILLISECONDS_TIMES_1000_TWICE = "milliseconds_times_1000_twice"
    TICKS_100NS = "ticks_100ns"
    ZERO = "zero"
    NEVER_SET = "never_set"
    OTHER_EPOCH = "other_epoch"
    DIGITS = "digits"


@dataclass(frozen=True, slots=True)
class Bounds:
    """The lowest and the highest timestamp, in ms, that are in range. -1 is no timestamp, and is not
    affected."""

    lowest: int
    highest: int


@dataclass(frozen=True, slots=True)
class TopicLimits:
    """The parts of a topic's own configuration that matter for timestamps and sizes.

    `before_max_ms` and `after_max_ms` are None if they are unlimited (Long.MAX_VALUE). A limit that the
    operator has set (`is_before_own`, `is_after_own`) is a whole number. A broker's limit, and a preset's, is
    compared by Kafka's wrapping longs. `codec` is None if the topic keeps the producer's
    (`compression.type=producer`). `max_decompressed_message_bytes` limits each record of a compressed batch;
    it is None if the broker has no such limit (before 4.4).
    """

    timestamp_type: TimestampType = TimestampType.CREATE_TIME
    before_max_ms: int | None = None
    after_max_ms: int | None = None
    max_message_bytes: int = 1_048_588
    is_compacted: bool = False
    codec: Codec | None = None
    max_decompressed_message_bytes: int | None = None
    is_before_own: bool = False
    is_after_own: bool = False

    @property
    def wrapped_after_ms(self) -> int:
        """The limit of Kafka's difference for timestamps of at most Long.MIN_VALUE + now. The difference
        wraps there, so such a timestamp seems to be far ahead. -1 rejects each of them, Long.MAX none."""
        if self.is_before_own and self.before_max_ms is not None:
            return -1
        return LONG_MAX if self.is_after_own or self.after_max_ms is None else self.after_max_ms

    @property
    def is_limited(self) -> bool:
        """True if some timestamp would be rejected for its value: CreateTime, and a limit is set."""
        return self.timestamp_type is TimestampType.CREATE_TIME and not (
            self.before_max_ms is None and self.after_max_ms is None
        )

    def bounds(self, now_ms: int) -> Bounds | None:
        """The range of timestamps at `now_ms`; None if this topic does not limit them.

        The lowest one of a broker's limits stays above Long.MIN_VALUE + now, where Kafka's arithmetic begins
        to wrap. The fast path computes this in C (`fastpath/_native/time_range.pxd`) for any limits: the
        session judges what may wrap.
        """
        if not self.is_limited:
            return None
        lowest = LONG_MIN if self.wrapped_after_ms == LONG_MAX else LONG_MIN + now_ms + 1
        if self.before_max_ms is not None:
            lowest = max(now_ms - self.before_max_ms, LONG_MIN + now_ms + 1)
        highest = LONG_MAX if self.after_max_ms is None else min(now_ms + self.after_max_ms, LONG_MAX)
        return Bounds(lowest, highest)


@dataclass(frozen=True, slots=True)
class RecordError:
    """One culprit of a rejected batch (KIP-467): its position in the batch from 0, and the reason as text."""

    batch_index: int
    message: str | None


@dataclass(frozen=True, slots=True)
class Violation:
    """One culprit: its position, its absolute timestamp in ms, the reason, and the broker's text."""

    batch_index: int
    timestamp_ms: int
    reason: Reason
    message: str


def reason_out_of_range(timestamp_ms: int, now_ms: int) -> Reason:
    """The reason for a timestamp out of range, by the side of the clock on which it really is. Kafka's
    wrapping arithmetic may find the other side."""
    return Reason.TOO_FAR_AHEAD if timestamp_ms > now_ms else Reason.TOO_OLD


class ViolationColumns(Sequence[Violation], ABC):
    """Violations in one batch as columns, so that a million of them need no million objects."""

    __slots__ = ()

    @property
    @abstractmethod
    def columns(self) -> tuple[Sequence[int], Sequence[int]]:
        """(the positions of the culprits in the batch, their timestamps in ms)."""

    @abstractmethod
    def _at(self, index: int) -> Violation: ...

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __len__(self) -> int:
        return len(self.columns[0])

    @overload
    def __getitem__(self, index: int) -> Violation: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Violation]: ...
    def __getitem__(self, index: int | slice) -> Violation | Sequence[Violation]:
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(len(self))))
        return self._at(index)


@dataclass(frozen=True, slots=True, eq=False)
class Listed(ViolationColumns):
    """Violations of any kind. `fault` returns the reason and the text of the one at an index."""

    positions: Sequence[int]
    timestamps_ms: Sequence[int]
    fault: Callable[[int], tuple[Reason, str]]

    @property
    def columns(self) -> tuple[Sequence[int], Sequence[int]]:
        return self.positions, self.timestamps_ms

    def _at(self, index: int) -> Violation:
        reason, text = self.fault(index)
        return Violation(self.positions[index], self.timestamps_ms[index], reason, text)


@dataclass(frozen=True, slots=True, eq=False)
class OutOfRange(ViolationColumns):
    """Violations of limits. Each text is `pieces[0]`, the timestamp, `pieces[1]`, the offset, `pieces[2]`."""

    outside: Outside
    base_offset: int
    pieces: tuple[str, str, str]
    now_ms: int

    @property
    def columns(self) -> tuple[Sequence[int], Sequence[int]]:
        return self.outside.positions, self.outside.timestamps_ms

    def _at(self, index: int) -> Violation:
        time = self.outside.timestamps_ms[index]
        offset = wrap64(self.base_offset + self.outside.offset_deltas[index])
        before, between, after = self.pieces
        return Violation(
            self.outside.positions[index],
            time,
            reason_out_of_range(time, self.now_ms),
            f"{before}{time}{between}{offset}{after}",
        )


@dataclass(frozen=True, slots=True)
class Accept:
    """The batch may be forwarded."""


@dataclass(frozen=True, slots=True)
class Reject:
    """The batch must not be forwarded. The client gets the answer that a broker would give.

    `violations` is empty if the batch as a whole is at fault (structure, size); `reason` is
    then that of all its records. `error_message` is None if a broker sends no text.
    """

    error_code: ErrorCode
    error_message: str | None
    reason: Reason
    violations: Sequence[Violation] = ()
    bad_records: int | None = None
    """The number of culprits, listed or not; None if the whole batch is at fault."""
    unit_guess: UnitGuess | None = None
    detail: str | None = None
    """The proxy's own text for logs, if the broker's answer has none."""

    @property
    def record_errors(self) -> tuple[RecordError, ...]:
        return tuple(RecordError(v.batch_index, v.message) for v in self.violations)


Verdict = Accept | Reject
