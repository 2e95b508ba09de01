"""What one partition's `records` field says, once `wire` has read it.

Source: `DefaultRecordBatch.java`, `DefaultRecord.java`; field names are Kafka's. Sizes in bytes,
times in ms.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, Self

from tsproxy.model.kafka import LONG_MAX, LONG_MIN, NO_TIMESTAMP, Codec, TimestampType, wrap64


class Fault(Enum):
    """Why bytes cannot be read as records; `policy.faults` gives each the broker's error code."""

    RECORD_SIZE_TOO_SMALL = auto()
    """A batch whose length field is below 14."""
    INVALID_MAGIC = auto()
    UNKNOWN_CODEC = auto()
    UNDECOMPRESSABLE = auto()
    VARINT_TOO_LONG = auto()
    """A record's length that runs on past five bytes: brokers answer with an internal error."""
    PREMATURE_END = auto()
    RECORDS_REMAINING = auto()
    MALFORMED_RECORD = auto()
    MALFORMED_MESSAGE = auto()
    """A message of magic 0 or 1 whose key or value does not fit into it."""
    INNER_SIZE_TOO_SMALL = auto()
    """The same as RECORD_SIZE_TOO_SMALL, inside a compressed message."""
    INNER_CRC = auto()
    NOTHING_INSIDE = auto()
    """A compressed message (magic 0 or 1) with a null value, or with no message in it."""
    WRAPPER_CODEC = auto()
    """zstd, which messages of magic 0 and 1 do not know."""
    WRAPPER_OFFSET = auto()
    """A wrapper of magic 1 whose offset is below its last message's, and not 0."""
    NESTED_COMPRESSION = auto()
    DECOMPRESSED_TOO_LARGE = auto()
    """Our own limit: `limits.decompressed_batch`."""
    TOO_MANY_RECORDS = auto()
    """Our own limit: `limits.records_per_batch`."""
    ZSTD_WINDOW_TOO_LARGE = auto()
    """Our own limit: `limits.zstd_window`."""
    REQUEST_TOO_LARGE = auto()
    """Our own limit: `limits.decompressed_request`, reached here or before."""
    REQUEST_OF_TOO_MANY_RECORDS = auto()
    """Our own limit: `limits.records_per_request`, reached here or before."""


DELETE_HORIZON: Final = 0x40
"""Attribute bit 6."""


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """A batch's header fields as they came. `attributes` keeps all 16 bits, `data` the whole batch.

    `size_in_bytes` is 12 + the length field. A message of magic 0 or 1 stands here as Kafka sees it: a
    batch of its own, its offset as base_offset, its timestamp as both of a batch's. Of a v2 batch cut
    short within its header, fields that are not there are 0.
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
        """0 to 4 as `Codec`; 5, 6 and 7 name none."""
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
        """Attribute bit 6 (KIP-534), which only a broker's cleaner sets."""
        return bool(self.attributes & DELETE_HORIZON)

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > -1


@dataclass(frozen=True, slots=True)
class RecordSet:
    """The first batches that stand whole in a `records` field, in order; `is_null` where it was null.

    `fault` says why the scan ended early, `fault_value` which size or magic it met; None where it came
    to the end (a tail too short to be a batch is no fault: brokers trim it).
    """

    is_null: bool
    batches: tuple[RecordBatch, ...]
    fault: Fault | None = None
    fault_value: int | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """The records of one batch as columns, one entry a record, up to `fault` where there is one.

    `timestamps_ms` are absolute (base + delta, wrapped at 64 bits), whatever bit 3 says.
    `key_sizes` and `value_sizes` are as they came, null where negative. `foreign` are the positions of
    messages whose magic is not their wrapper's; `real_minus_ones` of those whose -1 is a time (KIP-228's
    bit 6, where a rule asks for that reading). The offset deltas of messages inside a wrapper count
    from the wrapper's own.
    """

    timestamps_ms: Sequence[int]
    offset_deltas: Sequence[int]
    key_sizes: Sequence[int]
    value_sizes: Sequence[int]
    fault: Fault | None = None
    foreign: frozenset[int] = frozenset()
    real_minus_ones: frozenset[int] = frozenset()

    def at(self, positions: Sequence[int]) -> "Records":
        """Those alone, which then stand one behind the other."""
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
    """The records of one batch whose times lie outside given bounds, as columns (arrays of i, q and q).

    `count` is how many there are; the columns hold the first of them. -1 is no time, and lies nowhere.
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
        """Those of the given records; the first `most` as columns."""
        found = [
            index
            for index, time in enumerate(timestamps_ms)
            if time != NO_TIMESTAMP and not lowest_ms <= time <= highest_ms
        ]
        listed = found[: max(0, most)]
        return cls(
            len(found),
            array("i", listed),
            array("q", [timestamps_ms[index] for index in listed]),
            array("q", [wrap64(offset_deltas[index]) for index in listed]),
        )


@dataclass(frozen=True, slots=True)
class Suspects:
    """Which records of a batch are to be found. Times in ms.

    A time is suspect outside `lowest_ms` and `highest_ms` (-1 is no time); where its `clock` is given, one
    of at most Long.MIN_VALUE + now is judged as Kafka's wrapping longs do: (now_ms, before_max_ms,
    after_max_ms, whether one at that very edge is). `is_each`: every record is. A record without a key is
    suspect for that alone where `needs_key`.
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
        """True for a time that is suspect."""
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
    """Records that were found: `count` is how many there are, `positions` where the first of them stand in
    their batch, and the columns of `records` what these are.

    `timely` is the place in the columns of the first that is not without a key, None where there is none; it
    may stand behind the others, as the last.
    """

    count: int
    positions: Sequence[int]
    records: Records
    timely: int | None


@dataclass(frozen=True, slots=True)
class RecordFacts:
    """What the records of one batch come to: all that proves them innocent.

    `records` were read, up to `fault` where there is one; `missing` of them carry NO_TIMESTAMP.
    `lowest_ms` and `highest_ms` span the others, and are None where there are none.
    """

    records: int
    lowest_ms: int | None
    highest_ms: int | None
    missing: int
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class BatchFacts:
    """The facts of one batch that the decision log keeps.

    `min_timestamp_ms` and `max_timestamp_ms` span the records that carry a time; both are None
    where none does (-1, NO_TIMESTAMP) or where the records could not be read.
    """

    magic: int
    codec: str
    batch_bytes: int
    records: int
    producer_id: int
    producer_epoch: int
    min_timestamp_ms: int | None
    max_timestamp_ms: int | None
