"""Fetch (key 1) from version 16 on, and ShareFetch (key 78): their answers stream, and their end is blanked.

Source: `FetchResponse.json`, KIP-951; `ShareFetchResponse.json`, KIP-932. A broker names new leaders
behind all records: Fetch in a tagged field (NodeEndpoints, tag 0), ShareFetch in an array before the
tagged fields. The proxy has sent the answer's size by then, and so cannot change it. `FetchWalk`
(`readers`) finds the place while the records stream. Array and tagged fields are then replaced by an
empty array and one field of zeros, with the same number of bytes and a tag that no client knows. Clients
skip such a field (KIP-482). They have the brokers' addresses by id from Metadata, and request Metadata
for an unknown id.

Nothing that a broker writes in this place reaches a client, because a field of a later Kafka might name
brokers, too. If the bytes do not fit, the connection closes. Tagged fields inside topics and partitions
(CurrentLeader, for example) are kept, as in all other answers.
"""

from typing import Final

from tsproxy.model.kafka import ApiKey
from tsproxy.wire import primitives as put
from tsproxy.wire.primitives import DecodeError, Reader
from tsproxy.wire.readers import Layout

NODE_ENDPOINTS_FROM: Final = 16

MAX_TAIL_BYTES: Final = 1 << 20
"""The most bytes behind an answer's records. They are held until all have arrived. NodeEndpoints has some
hundred bytes for each broker that leads a partition of the answer."""

_NO_NODES: Final = put.unsigned_varint(1)
_UNKNOWN_TAGS: Final = (127, 128)
"""Tags that no client knows, of one byte (127) and of two bytes (128). With tag 127, a section has 130 bytes
for 127 zeros (their number takes one byte) and 132 bytes for 128 zeros (their number takes two bytes), but
never 131. With tag 128, a section has 131 bytes for 127 zeros."""


def layout_of(api_key: int, version: int) -> Layout | None:
    """The layout of an answer that streams and may name brokers. None for any other answer."""
    if api_key == ApiKey.SHARE_FETCH:
        return Layout.SHARE_FETCH if version else Layout.SHARE_FETCH_0
    return Layout.FETCH if api_key == ApiKey.FETCH and version >= NODE_ENDPOINTS_FROM else None


def blank_tail(tail: bytes, layout: Layout) -> bytes:
    """A tail that names nothing, as long as `tail`. Raises DecodeError if `tail` does not fit its layout."""
    reader = Reader(tail)
    before_tags = b""
    if layout is not Layout.FETCH:
        before_tags = _NO_NODES
        for _ in range(reader.array(is_flexible=True)):
            reader.int32()  # node_id
            reader.string(True)
            reader.int32()  # port
            reader.skip_nullable_string(True)  # rack
            reader.tags(is_flexible=True)
    reader.tags(is_flexible=True)
    if reader.remaining:
        raise DecodeError(f"{reader.remaining} bytes behind the last tagged field")
    return before_tags + _zeros(len(tail) - len(before_tags))


def _zeros(size: int) -> bytes:
    """A section of `size` bytes with one tagged field of zeros."""
    for tag in map(put.unsigned_varint, _UNKNOWN_TAGS):
        for width in range(1, 5):
            zeros = size - 1 - len(tag) - width
            if zeros >= 0 and len(put.unsigned_varint(zeros)) == width:
                return put.unsigned_varint(1) + tag + put.unsigned_varint(zeros) + bytes(zeros)
    raise DecodeError(f"a section of {size} bytes that has tagged fields")
