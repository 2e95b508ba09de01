"""ApiVersions (key 18), versions 0 to 5: the client's library, and the API versions that the broker offers.

Source: `ApiVersionsRequest.json`, `ApiVersionsResponse.json`, KIP-511. v1 throttle_time_ms in the answer · v3
flexible; client software name and version in the request; feature tags in the answer · v4 as v3 · v5 has the
cluster and node that the client expects (KIP-1242). A broker that is another node answers
REBOOTSTRAP_REQUIRED (129) and offers nothing. The proxy forwards this field unread: a node's port or host
name leads to that node, and ids do not change. The answer has header v0 at every version. The answer to a
version that the broker does not support is the v0 body with error 35.
"""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from tsproxy.model.bounded import Ceiling
from tsproxy.model.kafka import ApiKey, ErrorCode
from tsproxy.model.names import kept_name
from tsproxy.wire import primitives as put
from tsproxy.wire.apis import APIS
from tsproxy.wire.primitives import DecodeError, Reader

FLEXIBLE_FROM: Final = 3
PRODUCE_ON_4_FROM: Final = 3
FETCH_ON_4_FROM: Final = 4
"""The oldest versions that brokers support from 4.0 on."""

MAX_KEYS: Final = 500
"""The most API keys of an answer. Kafka 4.4 has fewer than a hundred. An answer of 64 KiB could have 9,000,
which took the event loop 28 ms."""


def read_client_software(version: int, body: bytes | memoryview) -> str | None:
    """`name/version` of the client library (KIP-511), as `kept_name` makes it, or None below v3."""
    if version < FLEXIBLE_FROM:
        return None
    reader = Reader(body)
    return kept_name(f"{reader.string(is_flexible=True)}/{reader.string(is_flexible=True)}")


MAX_CACHED_BYTES: Final = 4 << 10
READ: Final = Ceiling(
    "answers of brokers to ApiVersions, which each give the same one to every client",
    most=8,
    most_bytes=1 << 20,
    when_full="the one that was used least recently is read again",
)


def read_response(
    version: int, body: bytes | memoryview, newest_produce: int
) -> tuple[bytes, "BrokerVersions | None"]:
    """(`narrow_response`, `read_offers`) of a broker's answer. The latest answers are kept, since each client
    begins with this request, and reading one costs 380 us."""
    read = _read if len(body) > MAX_CACHED_BYTES else _read_cached
    return read(version, bytes(body), newest_produce)


def _read(version: int, body: bytes, newest_produce: int) -> tuple[bytes, "BrokerVersions | None"]:
    offers = read_offers(version, body)
    return narrow_response(version, body, newest_produce), None if offers is None else MappingProxyType(
        offers
    )


_read_cached: Final = lru_cache(READ.most)(_read)


def narrow_response(
    version: int, body: bytes | memoryview, newest_produce: int = APIS[ApiKey.PRODUCE].max_version
) -> bytes:
    """The broker's answer, reduced to the versions that the proxy knows, and to `newest_produce`. Everything
    else stays byte for byte.

    Each API keeps the broker's minimum (also 0 for Produce, which old librdkafka needs). It gets the lower
    one of the broker's maximum and the proxy's. An API is removed if the proxy does not know it, or knows
    only versions below the minimum.
    """
    reader = Reader(body)
    if reader.int16() == ErrorCode.UNSUPPORTED_VERSION:
        version = 0
    flexible = version >= FLEXIBLE_FROM
    offers = []
    for _ in range(_count(reader, flexible)):
        api_key, lowest, highest = reader.int16(), reader.int16(), reader.int16()
        tags = reader.tags(flexible)
        api = APIS.get(api_key)
        if api is None:
            continue
        newest = newest_produce if api_key == ApiKey.PRODUCE else api.max_version
        if lowest <= newest:
            offers += [put.int16(api_key), put.int16(lowest), put.int16(min(highest, newest)), tags]
    kept = len(offers) // 4
    return b"".join([bytes(body[:2]), put.array(kept, flexible), *offers, bytes(body[reader.pos :])])


def _count(reader: Reader, flexible: bool) -> int:
    """The number of API keys that follow."""
    count = reader.array(flexible)
    if count > MAX_KEYS:
        raise DecodeError(f"{count} API keys, at most {MAX_KEYS} are read")
    return count


Versions = tuple[int, int]
"""The oldest and the newest version."""

BrokerVersions = Mapping[int, Versions]
"""The versions by API key."""


def read_offers(version: int, body: bytes | memoryview) -> dict[int, Versions] | None:
    """The versions that the broker offers, or None if its answer has an error code, for example 35."""
    reader = Reader(body)
    if reader.int16() != ErrorCode.NONE:
        return None
    flexible = version >= FLEXIBLE_FROM
    offers = {}
    for _ in range(_count(reader, flexible)):
        api_key = reader.int16()
        offers[api_key] = reader.int16(), reader.int16()
        reader.tags(flexible)
    return offers


def produce_versions(offers: BrokerVersions) -> Versions:
    """The versions of Produce that the broker supports, or (0, -1) if it offers none.

    Brokers from 4.0 on offer Produce from 0 on because of old librdkafka, but they close the connection when
    they receive version 0, 1 or 2 (KIP-896, `ApiKeys.PRODUCE_API_VERSIONS_RESPONSE_MIN_VERSION`). Such
    brokers offer Fetch from 4 on.
    """
    oldest, newest = offers.get(ApiKey.PRODUCE, (0, -1))
    fetch_from, _ = offers.get(ApiKey.FETCH, (0, 0))
    return (max(oldest, PRODUCE_ON_4_FROM) if fetch_from >= FETCH_ON_4_FROM else oldest), newest


def unsupported_version_response() -> bytes:
    """The answer of a broker to an unknown version of ApiVersions: v0, error 35, the versions of key 18."""
    return b"".join(
        [
            put.int16(ErrorCode.UNSUPPORTED_VERSION),
            put.array(1, is_flexible=False),
            put.int16(ApiKey.API_VERSIONS),
            put.int16(0),
            put.int16(APIS[ApiKey.API_VERSIONS].max_version),
        ]
    )
