"""Fetch (key 1), the answers of versions 16 to 18: they stream, and their own tagged fields are blanked.

Source: `FetchResponse.json`, KIP-951. v16 adds tag 0 NodeEndpoints · v17 and v18 as v16. A broker names new
leaders there, after all records. The proxy has sent the answer's size by then, and so cannot change it.
`FetchWalk` (`readers`) finds the place while the records stream. The tagged fields are then replaced by one
field of zeros, with the same number of bytes and a tag that no client knows. Clients skip such a field
(KIP-482). They have the brokers' addresses by id from Metadata, and request Metadata for an unknown id.

Nothing that a broker writes in this place reaches a client, because a field of a later Kafka might name
brokers, too. If the bytes are not tagged fields, the connection closes. Tagged fields inside topics and
partitions (CurrentLeader, for example) are kept, as in all other answers.
"""

from typing import Final

from tsproxy.model.kafka import ApiKey
from tsproxy.wire import primitives as put
from tsproxy.wire.primitives import DecodeError, Reader

NODE_ENDPOINTS_FROM: Final = 16

MOST_TAIL_BYTES: Final = 1 << 20
"""The most bytes of an answer's tagged fields. They are held until all have arrived. NodeEndpoints has some
hundred bytes for each broker that leads a partition of the answer."""

_UNKNOWN_TAGS: Final = (127, 128)
"""Tags that no client knows, of one byte (127) and of two bytes (128). With tag 127, a section has 130 bytes
for 127 zeros (their number takes one byte) and 132 bytes for 128 zeros (their number takes two bytes), but
never 131. With tag 128, a section has 131 bytes for 127 zeros."""


def names_nodes(api_key: int, version: int) -> bool:
    """True for a Fetch whose answer may name brokers."""
    return api_key == ApiKey.FETCH and version >= NODE_ENDPOINTS_FROM


def blank_tags(section: bytes) -> bytes:
    """A section with one tagged field of zeros, as long as `section`. Raises DecodeError if `section` does
    not consist of complete tagged fields."""
    reader = Reader(section)
    reader.tags(is_flexible=True)
    if reader.remaining:
        raise DecodeError(f"{reader.remaining} bytes behind the last tagged field")
    for tag in map(put.unsigned_varint, _UNKNOWN_TAGS):
        for width in range(1, 5):
            size = len(section) - 1 - len(tag) - width
            if size >= 0 and len(put.unsigned_varint(size)) == width:
                return put.unsigned_varint(1) + tag + put.unsigned_varint(size) + bytes(size)
    raise DecodeError(f"a section of {len(section)} bytes that has tagged fields")
