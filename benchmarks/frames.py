"""Writes the requests of a load to a file: valid Produce requests with valid batches, or Fetch requests.

A file has requests as they are on the wire. It begins with ApiVersions and Metadata, as a real client does.
Then comes a Produce or Fetch request, which the generator repeats. aiokafka builds the batches, so none of
the measured code takes part.
"""

import math
import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from aiokafka.record.default_records import DefaultRecordBatchBuilder

from tsproxy.model.kafka import ApiKey, Codec
from tsproxy.model.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from tsproxy.wire import primitives as put
from tsproxy.wire.apis import APIS
from tsproxy.wire.headers import frame, response_header
from tsproxy.wire.k00_produce import write_request, write_response

PRODUCE_VERSION: Final = 11
FETCH_VERSION: Final = 12
API_VERSIONS_VERSION: Final = 3
METADATA_VERSION: Final = 5
CLIENT_ID: Final = "load-generator"
TWO_HOURS_MS: Final = 7_200_000

_BATCH_HEADER_BYTES: Final = 61
_RECORD_OVERHEAD_BYTES: Final = 12
"""The most bytes that a record of about 100 B adds to its value: length, attributes, deltas, key and value
lengths, header count."""

_WORDS: Final = (
    *("order", "customer", "amount", "currency", "status", "created", "updated", "warehouse", "EUR", "USD"),
    *("paid", "open", "shipped", "returned", "Berlin", "Lagos", "Osaka", "Lima", "true", "false", "null"),
)


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of one Produce request, or of the answer to a Fetch request. Sizes are in bytes, before
    compression.

    `request_bytes` is the maximum of the whole frame of a request with one partition. With more topics or
    partitions each batch has that same size. Each record has `record_bytes`; if the frame is smaller than
    that, a single record fills it. If `is_fetch`, the request is a small Fetch, and `request_bytes` is the
    size of the answer's records.
    """

    request_bytes: int
    record_bytes: int = 100
    codec: Codec = Codec.NONE
    topics: int = 1
    partitions: int = 1
    ahead_ms: int = 0
    """The distance of the timestamps into the future."""
    is_fetch: bool = False

    @property
    def name(self) -> str:
        return _size_name(self.request_bytes) + (f" {self.codec.name.lower()}" if self.codec else "")

    @property
    def records(self) -> int:
        """The number of records in one request."""
        return self.records_per_batch * self.topics * self.partitions

    @property
    def records_per_batch(self) -> int:
        return max(1, self._room // (self.record_bytes + _RECORD_OVERHEAD_BYTES))

    @property
    def topic_names(self) -> tuple[str, ...]:
        return tuple(f"load-{number:03d}" for number in range(self.topics))

    @property
    def value_bytes(self) -> int:
        return min(self.record_bytes, self._room - _RECORD_OVERHEAD_BYTES)

    @property
    def _room(self) -> int:
        one = produce_frame((self.topic_names[0],), (b"",))
        return self.request_bytes - len(one) - _BATCH_HEADER_BYTES


def write_frames(shape: Shape, path: Path) -> None:
    """Writes the opening requests and one request of `shape`. Timestamps count from now."""
    if shape.is_fetch:
        repeated = fetch_frame(shape.topic_names, shape.request_bytes)
    else:
        first_ms = time.time_ns() // 1_000_000 - 1_000 + shape.ahead_ms
        batches = tuple(build_batch(shape, first_ms, seed) for seed in range(shape.partitions))
        repeated = produce_frame(shape.topic_names, batches)
    path.write_bytes(b"".join((*opening_of(shape.topic_names), repeated)))


def build_batch(shape: Shape, first_ms: int, seed: int = 0) -> bytes:
    """One v2 batch of `shape`: records without keys, eight to the millisecond from `first_ms`."""
    values = json_values(shape.value_bytes, random.Random(seed))
    return _batch(islice(values, shape.records_per_batch), shape.codec, first_ms)


def varied_batch(records: int, first_ms: int, smallest: int, largest: int) -> bytes:
    """One v2 batch with values between two sizes in bytes. Small ones are frequent, neighbours differ."""
    chance, sizes = random.Random(0), (math.log2(smallest), math.log2(largest))
    return _batch((bytes(int(2 ** chance.uniform(*sizes))) for _ in range(records)), Codec.NONE, first_ms)


def _batch(values: Iterable[bytes], codec: Codec, first_ms: int) -> bytes:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=int(codec),
        is_transactional=False,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1 << 30,
    )
    for offset, value in enumerate(values):
        builder.append(offset, first_ms + offset // 8, None, value, [])
    return bytes(builder.build())


def json_values(size: int, chance: random.Random) -> Iterator[bytes]:
    """Texts that compress about as well as JSON documents: a few words in changing order, with numbers."""
    while True:
        parts: list[str] = []
        length = 0
        while length < size:
            parts.append(f'"{chance.choice(_WORDS)}":{chance.randrange(10**6)},')
            length += len(parts[-1])
        yield "".join(parts)[:size].encode()


def opening_and_produce(shape: Shape, client_id: str) -> tuple[tuple[bytes, bytes], bytes]:
    """The first requests of a client with that name, and its Produce request. Timestamps count from now."""
    first_ms = time.time_ns() // 1_000_000 + shape.ahead_ms
    batches = (build_batch(shape, first_ms),)
    return opening_of(shape.topic_names), produce_frame(shape.topic_names, batches, client_id)


def produce_frame(topics: tuple[str, ...], batches: tuple[bytes, ...], client_id: str = CLIENT_ID) -> bytes:
    """A Produce request that has these batches for every topic, one in each partition."""
    partitions = tuple(PartitionProduceData(index, memoryview(batch)) for index, batch in enumerate(batches))
    request = ProduceRequest(
        transactional_id=None,
        acks=-1,
        timeout_ms=30_000,
        topics=tuple(TopicProduceData(topic, partitions) for topic in topics),
    )
    body = write_request(PRODUCE_VERSION, request)
    return _request(ApiKey.PRODUCE, PRODUCE_VERSION, body, client_id)


def fetch_frame(topics: tuple[str, ...], partition_bytes: int) -> bytes:
    """A Fetch request for partition 0 of every topic, outside of sessions: at most `partition_bytes` each."""
    # v12: replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch
    body = put.int32(-1) + put.int32(500) + put.int32(1) + put.int32(1 << 30) + put.int8(0)
    body += put.int32(0) + put.int32(-1)
    body += put.array(len(topics), is_flexible=True)
    for topic in topics:
        body += put.string(topic, is_flexible=True) + put.array(1, is_flexible=True)
        # partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, its most bytes
        body += put.int32(0) + put.int32(-1) + put.int64(0) + put.int32(-1) + put.int64(-1)
        body += put.int32(partition_bytes) + put.EMPTY_TAGS + put.EMPTY_TAGS
    body += put.array(0, is_flexible=True) + put.string("", is_flexible=True) + put.EMPTY_TAGS
    return _request(ApiKey.FETCH, FETCH_VERSION, body)


def metadata_of_all() -> bytes:
    """A Metadata request for all topics."""
    return _request(ApiKey.METADATA, METADATA_VERSION, put.array(None, is_flexible=False) + put.int8(0))


def accepting_answer(topic: str) -> bytes:
    """A broker's answer to a Produce request for one partition of `topic`."""
    accepted = TopicProduceResponse(topic, (PartitionProduceResponse(index=0, base_offset=0),))
    body = write_response(PRODUCE_VERSION, ProduceResponse((accepted,)))
    return frame(response_header(ApiKey.PRODUCE, PRODUCE_VERSION, 0) + body)


def opening_of(topics: tuple[str, ...]) -> tuple[bytes, bytes]:
    """ApiVersions and Metadata, the first requests of a client that uses these topics."""
    software = b"".join(put.string(text, is_flexible=True) for text in (CLIENT_ID, "1"))
    # v5: the topics, and whether they may be created
    metadata = put.array(len(topics), is_flexible=False)
    metadata += b"".join(put.string(topic, is_flexible=False) for topic in topics) + put.int8(0)
    return (
        _request(ApiKey.API_VERSIONS, API_VERSIONS_VERSION, software + put.EMPTY_TAGS),
        _request(ApiKey.METADATA, METADATA_VERSION, metadata),
    )


def _request(api_key: ApiKey, version: int, body: bytes, client_id: str = CLIENT_ID) -> bytes:
    """A whole request. The generator writes its own correlation ids."""
    header = put.int16(api_key) + put.int16(version) + put.int32(0)
    header += put.string(client_id, is_flexible=False)
    header += put.tags(b"", APIS[api_key].is_flexible(version))
    return frame(header + body)


def _size_name(size: int) -> str:
    for unit, name in ((1_000_000, "MB"), (1_000, "KB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size} B"
