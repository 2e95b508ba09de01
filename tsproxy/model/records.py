"""The contents of one partition's `records` field, as `wire` reads them.

Source: `DefaultRecordBatch.java`, `DefaultRecord.java`. Field names are Kafka's. Sizes are in bytes and
timestamps in ms.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, Self

from tsproxy.model.kafka import LONG_MAX, LONG_MIN, NO_TIMESTAMP, Codec, TimestampType, wrap64


class Fault(Enum):
    """Reasons why bytes cannot be read as records. `policy.checks.faults` maps each to an error code."""

    RECORD_SIZE_TOO_SMALL = auto()
    """A batch whose length field is below 14."""
    INVALID_MAGIC = auto()
    UNKNOWN_CODEC = auto()
    UNDECOMPRESSABLE = auto()
    VARINT_TOO_LONG = auto()
    """A record's length that takes more than five bytes. Brokers answer with an internal error."""
    PREMATURE_END = auto()
    RECORDS_REMAINING = auto()
    MALFORMED_RECORD = auto()
    MALFORMED_MESSAGE = auto()
    """A message of magic 0 or 1 that is too short for its key or value."""
    INNER_SIZE_TOO_SMALL = auto()
    """The same as RECORD_SIZE_TOO_SMALL, inside a compressed message."""
    INNER_CRC = auto()
    NOTHING_INSIDE = auto()
    """A compressed message (magic 0 or 1) with a null value, or without a message inside."""
    WRAPPER_CODEC = auto()
    """zstd, which is not defined for messages of magic 0 and 1."""
    WRAPPER_OFFSET = auto()
    """A wrapper of magic 1 whose offset is not 0, but is below the offset of its last message."""
    NESTED_COMPRESSION = auto()
    DECOMPRESSED_TOO_LARGE = auto()
    """Our own limit: `limits.decompressed_batch`."""
    TOO_MANY_RECORDS = auto()
    """Our own limit: `limits.records_per_batch`."""
    ZSTD_WINDOW_TOO_LARGE = auto()
    """Our own limit: `limits.zstd_window`."""
    REQUEST_TOO_LARGE = auto()
    """Our own limit: `limits.decompressed_request`, reached by this batch or one before it."""
    REQUEST_OF_TOO_MANY_RECORDS = auto()
    """Our own limit: `limits.records_per_request`, reached by this batch or one before it."""
    JUDGED_TOO_LONG = auto()
    """Our own limit: `limits.judging_time`, reached by this batch or one before it."""


DELETE_HORIZON: Final = 0x40
"""Attribute bit 6."""


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """A batch's header fields, unchanged. `attributes` keeps all 16 bits. `data` is the whole batch.

    `size_in_bytes` is 12 + the length field. A message of magic 0 or 1 is a batch of its own, as in Kafka:
    base_offset is its offset, and both timestamps are its timestamp. If a v2 batch ends within its header,
    the missing fields are 0.
    """

    base_offset: int
    size_in_bytes: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int
    data: memoryview = field(repr=False, compare=False)

    @property
    def codec_id(self) -> int:
        """0 to 4 are values of `Codec`. 5, 6 and 7 are no codec."""
        return self.attributes & 0x07

    @property
    def codec_name(self) -> str:
        return (
            Codec(self.codec_id).name.lower() if self.codec_id <= Codec.ZSTD else f"unknown-{self.codec_id}"
        )

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType((self.attributes >> 3) & 1)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & 0x10)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & 0x20)

    @property
    def has_delete_horizon(self) -> bool:
        """True if attribute bit 6 is set (KIP-534). Only a broker's cleaner may set it."""
        return bool(self.attributes & DELETE_HORIZON)

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > -1


@dataclass(frozen=True, slots=True)
class RecordSet:
    """The first complete batches of a `records` field, in order. `is_null` is true if the field is null.

    `fault` says why the scan ended early, and `fault_value` is the size or magic that ended it. Both are
    None if the scan reached the end. A tail that is too short for a batch is no fault: brokers trim it.
    """

    is_null: bool
    batches: tuple[RecordBatch, ...]
    fault: Fault | None = None
    fault_value: int | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """The records of one batch as columns, with one entry for each record, up to `fault` if there is one.

    `timestamps_ms` are absolute (base + delta, wrapped at 64 bits), whatever bit 3 is.
    `key_sizes` and `value_sizes` are unchanged; a negative size means null. `foreign` has the positions of
    messages whose magic differs from their wrapper's. `real_minus_ones` has the positions of records whose
    -1 is a real timestamp (KIP-228's bit 6, if a rule enables that reading). The offset deltas of messages
    inside a wrapper are relative to the wrapper's offset.
    """

    timestamps_ms: Sequence[int]
    offset_deltas: Sequence[int]
    key_sizes: Sequence[int]
    value_sizes: Sequence[int]
    fault: Fault | None = None
    foreign: frozenset[int] = frozenset()
    real_minus_ones: frozenset[int] = frozenset()

    def at(self, positions: Sequence[int]) -> "Records":
        return Records(
            [self.timestamps_ms[at] for at in positions],
            [self.offset_deltas[at] for at in positions],
            [self.key_sizes[at] for at in positions],
            [self.value_sizes[at] for at in positions],
            foreign=frozenset(to for to, at in enumerate(positions) if at in self.foreign),
            real_minus_ones=frozenset(to for to, at in enumerate(positions) if at in self.real_minus_ones),
        )


@dataclass(frozen=True, slots=True)
class Outside:
    """The records of one batch whose timestamps lie outside given bounds, as columns (arrays of i, q and q).

    `count` is the number of these records, and the columns hold the first of them. -1 is no timestamp and
    never outside.
    """

    count: int
    positions: "array[int]"
    timestamps_ms: "array[int]"
    offset_deltas: "array[int]"

    @classmethod
    def among(
        cls,
        timestamps_ms: Sequence[int],
        offset_deltas: Sequence[int],
        lowest_ms: int,
        highest_ms: int,
        most: int,
    ) -> Self:
        """The given records that lie outside the bounds. The columns hold the first `most`."""
        outside = [
            index
            for index, time in enumerate(timestamps_ms)
            if time != NO_TIMESTAMP and not lowest_ms <= time <= highest_ms
        ]
        listed = outside[: max(0, most)]
        return cls(
            len(outside),
            array("i", listed),
            array("q", [timestamps_ms[index] for index in listed]),
            array("q", [wrap64(offset_deltas[index]) for index in listed]),
        )


@dataclass(frozen=True, slots=True)
class Suspects:
    """The condition by which a search in a batch selects records. Timestamps are in ms.

    A timestamp outside `lowest_ms` and `highest_ms` is suspect (-1 is no timestamp). If `clock` is given, a
    timestamp of at most Long.MIN_VALUE + now is judged with Kafka's wrapping longs. `clock` is (now_ms,
    before_max_ms, after_max_ms, whether a timestamp of exactly Long.MIN_VALUE + now is suspect). With
    `is_each`, every record is suspect. With `needs_key`, a record without a key is suspect.
    """

    lowest_ms: int = LONG_MIN
    highest_ms: int = LONG_MAX
    clock: tuple[int, int, int, bool] | None = None
    needs_key: bool = False
    is_each: bool = False
    is_missing: bool = False
    is_zero: bool = False
    is_negative: bool = False

    def has_time(self, time_ms: int) -> bool:
        if self.is_each:
            return True
        if time_ms == NO_TIMESTAMP:
            return self.is_missing
        if (time_ms == 0 and self.is_zero) or (time_ms < 0 and self.is_negative):
            return True
        if self.clock is None or time_ms > LONG_MIN + self.clock[0]:
            return not self.lowest_ms <= time_ms <= self.highest_ms
        now_ms, before_max_ms, after_max_ms, is_edge = self.clock
        difference = wrap64(now_ms - time_ms)
        if difference == LONG_MIN:
            return is_edge
        return difference > before_max_ms or -difference > after_max_ms


@dataclass(frozen=True, slots=True)
class Culprits:
    """The selected records of a batch. `count` is their number. `positions` has the positions of the first of
    them in the batch, and `records` has the same records as columns.

    `timely` is the index in these columns of the first record whose fault is not its key or magic, or None if
    there is no such record. If this record comes after the first ones, it is added to the columns as the last
    one.
    """

    count: int
    positions: Sequence[int]
    records: Records
    timely: int | None


@dataclass(frozen=True, slots=True)
class RecordFacts:
    """A summary of the records of one batch. It is enough to prove that a batch is acceptable.

    `records` is the number of records read, up to `fault` if there is one. `missing` of them have
    NO_TIMESTAMP. `lowest_ms` and `highest_ms` span the other records, and are None if there are none.

    `largest_record` is the largest size that a record of magic 2 declares for itself (without these varint
    bytes), up to and with the record at fault. It is an int without its sign: a negative size is above all
    others. Only the sizes of compressed records matter.
    """

    records: int
    lowest_ms: int | None
    highest_ms: int | None
    missing: int
    fault: Fault | None = None
    largest_record: int = 0


@dataclass(frozen=True, slots=True)
class BatchFacts:
    """The facts of one batch that the decision log keeps.

    `min_timestamp_ms` and `max_timestamp_ms` span the records that have a timestamp. Both are None if none
    has one (-1, NO_TIMESTAMP), or if the records could not be read. With `is_unread`, the records of the
    compressed batch were not read: both are the times of its header (`Inspect.ADAPTIVE`).
    """

    magic: int
    codec: str
    batch_bytes: int
    records: int
    producer_id: int
    producer_epoch: int
    min_timestamp_ms: int | None
    max_timestamp_ms: int | None
    is_unread: bool = False

    @property
    def records_unread(self) -> int:
        return self.records if self.is_unread else 0
