"""A record too long to be kept, for readers that are fed in pieces."""

import tracemalloc

from tests.wire.batches import varint

MIB = 1 << 20
VALUE_BYTES = 64 * MIB
TIMESTAMP_DELTA_MS = 7


def fed_with(reader):
    """Feeds one record with that value and delta. Returns the most memory that the value took, in bytes."""
    head = b"\x00" + varint(TIMESTAMP_DELTA_MS) + varint(0) + varint(-1) + varint(VALUE_BYTES)
    piece = bytes(MIB)
    reader.feed(varint(len(head) + VALUE_BYTES + 1) + head)
    tracemalloc.start()
    for _ in range(VALUE_BYTES // MIB):
        reader.feed(piece)
    most_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    reader.feed(varint(0))
    return most_bytes
