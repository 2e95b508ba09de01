"""Kafka frames as bytes, for tests that only care that they pass."""

import struct

from tests.session import messages

FETCH = 1
PRODUCE = 0
API_VERSIONS = 18


def request(correlation_id: int, size: int = 100, api_key: int = FETCH, api_version: int = 4) -> bytes:
    """A request whose body nobody looks at, `size` bytes of it."""
    return messages.request(api_key, api_version, bytes([correlation_id % 251]) * size, correlation_id)


def answer(correlation_id: int, size: int = 100) -> bytes:
    return messages.frame(struct.pack(">i", correlation_id) + bytes([correlation_id % 241]) * size)
