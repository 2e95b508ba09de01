"""Reads the batches that a broker has stored, so that two logs can be compared byte by byte."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from rigs.differential.lines import Direct
from rigs.differential.requests import fetch_frame, read_fetched

_AFTER_CRC = 21
_MAX_TIMESTAMP = slice(35, 43)


@dataclass(frozen=True, slots=True)
class Stored:
    """One batch of magic 2 as it lies in the log: its first offset, and its bytes made comparable.

    Left out of `comparable` are base offset and leader epoch; where the broker stamped the batch
    (LogAppendTime), the append time and the checksum over it as well.
    """

    base_offset: int
    comparable: bytes


def stored_batches(line: Direct, topic: str, partition: int, is_stamped: bool) -> Iterator[Stored]:
    """All batches of a partition, from its beginning."""
    offset = 0
    while True:
        (payload,) = line.ask([fetch_frame(topic, partition, offset)])
        assert payload is not None, "the broker closed upon a Fetch"
        records = read_fetched(payload)
        batches = list(_split(records))
        if not batches:
            return
        for batch in batches:
            base_offset, last_delta = (
                struct.unpack_from(">q", batch)[0],
                struct.unpack_from(">i", batch, 23)[0],
            )
            if base_offset + last_delta >= offset:
                offset = base_offset + last_delta + 1
                yield Stored(base_offset, _comparable(batch, is_stamped))


def _split(records: bytes) -> Iterator[bytes]:
    at = 0
    while at + 12 <= len(records):
        end = at + 12 + struct.unpack_from(">i", records, at + 8)[0]
        if end > len(records):
            return
        assert records[at + 16] == 2, "brokers of our time store magic 2"
        yield records[at:end]
        at = end


def _comparable(batch: bytes, is_stamped: bool) -> bytes:
    if not is_stamped:
        return batch[8:12] + batch[16:]
    rest = bytearray(batch[8:12] + batch[_AFTER_CRC:])
    start = _MAX_TIMESTAMP.start - _AFTER_CRC + 4
    rest[start : start + 8] = bytes(8)
    return bytes(rest)
