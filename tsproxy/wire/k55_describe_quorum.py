"""DescribeQuorum (key 55), versions 0 to 2: hides the addresses of the controllers.

Source: `DescribeQuorumResponse.json`. All versions are flexible. v1 two timestamps of a replica · v2 error
messages, a replica's directory id, and the nodes of the quorum with their listeners (KIP-853).

The proxy does not serve controllers, and a client that has their addresses could bypass the proxy. So each
node keeps its id and has no listeners.
"""

from typing import Final

from tsproxy.wire import primitives as put
from tsproxy.wire.primitives import Reader

_LISTENERS_FROM: Final = 2

_REPLICA_BYTES: Final = 4 + 16 + 8 + 8 + 8
"""From version 2 on: replica_id, replica_directory_id, log_end_offset, two timestamps."""


def may_contain_addresses(version: int, request: bytes | memoryview) -> bool:  # noqa: ARG001 - see `Masking`
    """True if answers of this version have listeners."""
    return version >= _LISTENERS_FROM


def mask_addresses(version: int, reader: Reader) -> bytes:
    """The broker's answer without listeners. Everything else stays byte for byte. Raises DecodeError."""
    if version < _LISTENERS_FROM:
        return bytes(reader.data)
    out, copied = list[bytes | memoryview](), 0
    reader.skip(2)  # error_code
    reader.skip_nullable_string(is_flexible=True)  # error_message
    for _ in range(reader.array(is_flexible=True)):
        _skip_topic(reader)
    for _ in range(reader.array(is_flexible=True)):
        reader.skip(4)  # node_id
        start = reader.pos
        _skip_listeners(reader)
        out += [reader.data[copied:start], put.array(0, is_flexible=True)]
        copied = reader.pos
        reader.tags(is_flexible=True)
    reader.tags(is_flexible=True)
    return b"".join([*out, reader.data[copied:]])


def _skip_topic(reader: Reader) -> None:
    reader.skip_nullable_string(is_flexible=True)  # topic_name
    for _ in range(reader.array(is_flexible=True)):
        reader.skip(4 + 2)  # partition_index, error_code
        reader.skip_nullable_string(is_flexible=True)  # error_message
        reader.skip(4 + 4 + 8)  # leader_id, leader_epoch, high_watermark
        for _ in ("current_voters", "observers"):
            for _ in range(reader.array(is_flexible=True)):
                reader.skip(_REPLICA_BYTES)
                reader.tags(is_flexible=True)
        reader.tags(is_flexible=True)
    reader.tags(is_flexible=True)


def _skip_listeners(reader: Reader) -> None:
    for _ in range(reader.array(is_flexible=True)):
        reader.skip_nullable_string(is_flexible=True)  # name
        reader.skip_nullable_string(is_flexible=True)  # host
        reader.skip(2)  # port, a uint16
        reader.tags(is_flexible=True)
