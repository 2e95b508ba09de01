"""The request header and the response header.

Source: `RequestHeader.json`, `ResponseHeader.json`, `RequestHeader.java`.

Request header v1: api_key int16, api_version int16, correlation_id int32, client_id nullable string. v2
(flexible versions) adds a tag section; its client_id keeps the old int16 form.
Response header v0: correlation_id int32. v1 (flexible versions) adds a tag section. Answers to ApiVersions
have header v0 at every version.
"""

from dataclasses import dataclass

from tsproxy.model.kafka import ApiKey
from tsproxy.model.names import kept_name
from tsproxy.wire.apis import APIS
from tsproxy.wire.primitives import DecodeError, Reader


@dataclass(frozen=True, slots=True)
class RequestHeader:
    """A request header. `body_start` is the position of the body in the payload (without the size prefix).
    `client_id` is as `kept_name` makes it, since the name stays with the connection."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_start: int


def read_request_header(payload: bytes | memoryview) -> RequestHeader:
    """The header of one request of any API key. Raises DecodeError if it is truncated."""
    reader = Reader(payload)
    api_key = reader.int16()
    api_version = reader.int16()
    correlation_id = reader.int32()
    client_id = reader.nullable_string(is_flexible=False)
    api = APIS.get(api_key)
    if api is not None:
        reader.tags(api.is_flexible(api_version))
    kept = None if client_id is None else kept_name(client_id)
    return RequestHeader(api_key, api_version, correlation_id, kept, reader.pos)


def response_body_start(api_key: int, api_version: int, payload: bytes | memoryview) -> int:
    """The position of an answer's body in its payload (without the size prefix)."""
    if len(payload) < 4:
        raise DecodeError(f"answer of {len(payload)} bytes")
    reader = Reader(payload, 4)
    reader.tags(_has_response_tags(api_key, api_version))
    return reader.pos


def response_header(api_key: int, api_version: int, correlation_id: int) -> bytes:
    """The header of an answer that the proxy makes."""
    tag_section = b"\x00" if _has_response_tags(api_key, api_version) else b""
    return correlation_id.to_bytes(4, "big", signed=True) + tag_section


def frame(payload: bytes) -> bytes:
    """`payload` with its int32 size prefix."""
    return len(payload).to_bytes(4, "big") + payload


def _has_response_tags(api_key: int, api_version: int) -> bool:
    return api_key != ApiKey.API_VERSIONS and APIS[api_key].is_flexible(api_version)
