"""What a record batch says, once `wire` has read it."""

from dataclasses import dataclass

from tsproxy.model.kafka import TimestampType


@dataclass(frozen=True, slots=True)
class BatchFacts:
    """The facts of one batch that the decision log keeps; sizes in bytes, times in ms.

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


@dataclass(frozen=True, slots=True)
class Record:
    """One record's place and time. `offset_delta` is what the wire says, `timestamp_ms` absolute."""

    offset_delta: int
    timestamp_ms: int
    has_key: bool
    magic: int = 2


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """A v2 batch's header fields as they came, and its records' times.

    Field names are Kafka's (`DefaultRecordBatch.java`); sizes in bytes, times in ms.
    `attributes` keeps all 16 bits. `size_in_bytes` is 12 + the length field.
    """

    base_offset: int
    size_in_bytes: int
    magic: int
    crc_is_valid: bool
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def codec_id(self) -> int:
        return self.attributes & 0x07

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
        """Attribute bit 6 (KIP-534): only brokers may set it."""
        return bool(self.attributes & 0x40)
