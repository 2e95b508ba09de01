"""ListOffsets (key 2), version 7: asks for the newest timestamp of partitions, or for their ends.

Source: `ListOffsetsRequest.json`, `ListOffsetsResponse.json`. v6 flexible · v7 the timestamp -3 asks for the
record with the largest timestamp (KIP-734, brokers from 3.0 on). Only this version is written here. Requests
of clients pass through the proxy unchanged.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tsproxy.wire import primitives as put
from tsproxy.wire.primitives import EMPTY_TAGS, Reader

VERSION: Final = 7
LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
_CONSUMER: Final = -1  # the replica_id of a client
_READ_UNCOMMITTED: Final = 0
_NO_EPOCH: Final = -1


@dataclass(frozen=True, slots=True)
class PartitionOffset:
    """The answer for one partition. For MAX_TIMESTAMP: `timestamp_ms` and `offset` of the record with the
    largest timestamp. If no timestamp is above -1, `timestamp_ms` is -1, and `offset` is -1 or that of a
    record; both are -1 for a partition without records, too."""

    topic: str
    partition: int
    error_code: int
    timestamp_ms: int
    offset: int


def write_request(partitions: Mapping[str, Iterable[int]], wanted: int = MAX_TIMESTAMP) -> bytes:
    """The body of a request for one offset of each partition, by topic: LATEST, EARLIEST or MAX_TIMESTAMP."""
    out = [put.int32(_CONSUMER), put.int8(_READ_UNCOMMITTED), put.array(len(partitions), is_flexible=True)]
    for topic, indexes in partitions.items():
        entries = [
            put.int32(index) + put.int32(_NO_EPOCH) + put.int64(wanted) + EMPTY_TAGS for index in indexes
        ]
        out += [put.string(topic, is_flexible=True), put.array(len(entries), is_flexible=True)]
        out += [*entries, EMPTY_TAGS]
    return b"".join([*out, EMPTY_TAGS])


def read_response(body: bytes | memoryview) -> list[PartitionOffset]:
    """A broker's answer, partition by partition. Raises DecodeError."""
    reader = Reader(body)
    reader.skip(4)  # throttle_time_ms
    offsets = []
    for _ in range(reader.array(is_flexible=True)):
        topic = reader.string(is_flexible=True)
        for _ in range(reader.array(is_flexible=True)):
            partition, error_code = reader.int32(), reader.int16()
            timestamp_ms, offset = reader.int64(), reader.int64()
            reader.skip(4)  # leader_epoch
            reader.tags(is_flexible=True)
            offsets.append(PartitionOffset(topic, partition, error_code, timestamp_ms, offset))
        reader.tags(is_flexible=True)
    reader.tags(is_flexible=True)
    return offsets
