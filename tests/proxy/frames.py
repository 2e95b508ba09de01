"""Kafka frames as bytes, for tests that only care that they pass."""

import struct

FETCH = 1
PRODUCE = 0
API_VERSIONS = 18


def request(correlation_id: int, size: int = 100, api_key: int = FETCH, api_version: int = 4) -> bytes:
    """A request whose body nobody looks at, `size` bytes of it."""
    client_id = b"test"
    header = struct.pack(">hhih", api_key, api_version, correlation_id, len(client_id)) + client_id
    payload = header + bytes([correlation_id % 251]) * size
    return struct.pack(">i", len(payload)) + payload


def answer(correlation_id: int, size: int = 100) -> bytes:
    payload = struct.pack(">i", correlation_id) + bytes([correlation_id % 241]) * size
    return struct.pack(">i", len(payload)) + payload
