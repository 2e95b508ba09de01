"""The cost of judging a ProduceRequest, estimated from sizes and counts: nothing is decompressed.

The session judges a cheap request on the event loop, and offloads an expensive one to a thread.
"""

from typing import Final

from tsproxy.model.kafka import Codec
from tsproxy.model.produce import ProduceRequest
from tsproxy.policy.checks.request import ONE_BATCH_FROM
from tsproxy.session.job import MAX_OBJECTS
from tsproxy.wire import k00_produce, record_set
from tsproxy.wire.headers import RequestHeader

OFFLOAD_BYTES: Final = 256 * 1024
"""From this number of compressed bytes on, a request is judged in a thread, and so is a batch of as many
bytes that is to be rewritten. The way there and back costs 50 to 70 us of CPU. Less does not save that."""

OFFLOAD_RECORDS: Final = 10_000
"""Above this number of records, in all requests of one read together, a request is judged in a thread. A
culprit costs 3 to 5 us in Python, and a compressed request of a few hundred bytes may contain a million. So
one read takes up to 50 ms."""

A_PARTITION: Final = 20
"""The cost of a partition beside its records, in records: 45 to 90 us."""
STEPS_A_RECORD: Final = 25
"""As many steps of a search for rules (`NamePattern.steps`) take as long as a record."""
MAX_STEPS_HERE: Final = 500
"""The maximum number of steps of a search for one request's rules on the event loop: 100 us. A request of few
bytes may name another client, or other topics, each time: with 300 rules this took up to 170 ms a MiB. A
thread makes a longer search."""
_MESSAGES_A_BYTE: Final = 30
"""The maximum number of messages per byte, for a set below v3, or for messages of magic 0 or 1 in a later
version: gzip compresses to a thousandth, and a message has 34 bytes."""
_COUNT_AT: Final = 57
_IS_MARKED: Final = 8
"""The bit in the second byte of the attributes that says that the timestamps are the broker's."""
A_MARKED_RECORD: Final = OFFLOAD_RECORDS // MAX_OBJECTS
"""The cost of a record of a batch with that bit, in records. A broker rejects each of them, with a text."""
_KEPT_A_PARTITION: Final = 5 << 10
"""Bytes of context and verdict while a request is judged."""
_FEW_PARTITIONS: Final = 16
_MANY_PARTITIONS: Final = 2_000
_BYTES_A_PARTITION: Final = 64
"""No batch of magic 2 is smaller, so only requests without batches reach the limit that follows from it."""


def kept_while_judged(size: int, partitions: int | None) -> int:
    """The bytes that a request of `size` may hold while it is judged; `partitions` is None if the request has
    not been read."""
    if partitions is None:
        partitions = min(k00_produce.MAX_PARTITIONS, size // k00_produce.SMALLEST_PARTITION)
    return size + _KEPT_A_PARTITION * max(0, partitions - _FEW_PARTITIONS)


def has_few_partitions(partitions: int | None) -> bool:
    """True if a request holds little besides its frame while it is judged."""
    return partitions is not None and partitions <= _FEW_PARTITIONS


def most_partitions_here(size: int) -> int:
    """The maximum number of partitions of a request of `size` bytes that is read on the event loop. To read a
    partition takes 2 to 5 us, and a partition may have only six bytes."""
    return min(_FEW_PARTITIONS + size // _BYTES_A_PARTITION, _MANY_PARTITIONS)


def records_at_most(header: RequestHeader, request: ProduceRequest) -> int:
    """The maximum cost of judging the request, in records."""
    sets = [p.records for topic in request.topics for p in topic.partitions]
    counted = (_records_at_most(header, records) for records in sets if records is not None)
    return A_PARTITION * len(sets) + sum(counted)


def _records_at_most(header: RequestHeader, records: memoryview) -> int:
    is_old = len(records) > record_set.MAGIC_OFFSET and records[record_set.MAGIC_OFFSET] < 2
    if header.api_version < ONE_BATCH_FROM or is_old:
        return _MESSAGES_A_BYTE * len(records)
    # A batch that states fewer records than it contains is rejected, and only the stated ones are read.
    stated = max(0, int.from_bytes(records[_COUNT_AT : record_set.HEADER_SIZE], "big", signed=True))
    if len(records) < record_set.HEADER_SIZE or not records[record_set.ATTRIBUTES_OFFSET + 1] & _IS_MARKED:
        return stated
    return stated * A_MARKED_RECORD


def must_offload(header: RequestHeader, request: ProduceRequest) -> bool:
    """True if all partitions together have many bytes to decompress."""
    sets = [p.records for topic in request.topics for p in topic.partitions if p.records is not None]
    if sum(map(len, sets)) < OFFLOAD_BYTES:
        return False
    return sum(len(records) for records in sets if _may_be_compressed(header, records)) >= OFFLOAD_BYTES


def _may_be_compressed(header: RequestHeader, records: memoryview) -> bool:
    """True if a set may be compressed, by its first batch. Below v3, any later batch may be compressed."""
    batch = record_set.read_header(bytes(records[: record_set.HEADER_SIZE]))
    return batch is not None and (header.api_version < ONE_BATCH_FROM or batch.codec_id != Codec.NONE)
