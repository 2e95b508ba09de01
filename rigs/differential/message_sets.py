"""Writes messages of magic 0 and 1, bare or wrapped, right or wrong on purpose.

Nothing here is shared with the code under test. Layout: `LegacyRecord.java`,
`AbstractLegacyRecordBatch.java`. Times in ms.
"""

import struct
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rigs.differential.dialects import GOOD, lz4_with_magic_in_checksum
from tsproxy.model.kafka import NO_TIMESTAMP, Codec


@dataclass(frozen=True, slots=True)
class Message:
    """One message; `timestamp_ms` is not written at magic 0."""

    magic: int = 1
    timestamp_ms: int = NO_TIMESTAMP
    key: bytes | None = b"k"
    value: bytes | None = b"v"
    attributes: int = 0
    offset: int = 0
    crc_off: int = 0
    size_off: int = 0


def _nullable(data: bytes | None) -> bytes:
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def write_message(message: Message) -> bytes:
    after_crc = struct.pack(">bb", message.magic, message.attributes)
    if message.magic > 0:
        after_crc += struct.pack(">q", message.timestamp_ms)
    after_crc += _nullable(message.key) + _nullable(message.value)
    crc = (zlib.crc32(after_crc) + message.crc_off) & 0xFFFFFFFF
    size = 4 + len(after_crc) + message.size_off
    return struct.pack(">qiI", message.offset, size, crc) + after_crc


def write_messages(messages: Iterable[Message]) -> bytes:
    return b"".join(write_message(message) for message in messages)


def wrapper(
    inner: tuple[Message, ...],
    codec: int,
    *,
    magic: int = 1,
    attributes: int = 0,
    dialect: Callable[[bytes], bytes] | None = None,
    **fields: object,
) -> Message:
    """The message whose value is the compressed `inner` ones; `fields` override what an honest
    producer writes: the last inner offset, and the highest inner timestamp."""
    if dialect is None:
        is_old_lz4 = magic == 0 and codec == Codec.LZ4
        dialect = lz4_with_magic_in_checksum if is_old_lz4 else GOOD[codec][0]
    honest: dict[str, object] = {
        "magic": magic,
        "key": None,
        "value": dialect(write_messages(inner)),
        "offset": len(inner) - 1,
        "timestamp_ms": max((m.timestamp_ms for m in inner), default=NO_TIMESTAMP),
    }
    return Message(**(honest | fields), attributes=attributes | codec)
