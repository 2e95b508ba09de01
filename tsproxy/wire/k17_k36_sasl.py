"""SaslHandshake (key 17, versions 0 and 1) and SaslAuthenticate (key 36, versions 0 to 2).

Source: `SaslHandshakeRequest.json` and the schemas like it. SaslHandshake is never flexible.
SaslAuthenticate is flexible from v2 on. Its v1 adds session_lifetime_ms to the answer (KIP-368), which the
proxy does not need.
"""

from tsproxy.wire.primitives import Reader

_AUTHENTICATE_FLEXIBLE_FROM = 2


def read_handshake_request(body: bytes | memoryview) -> str:
    """The mechanism that the client chose."""
    return Reader(body).string(is_flexible=False)


def read_handshake_response(body: bytes | memoryview) -> int:
    """The error code."""
    return Reader(body).int16()


def read_authenticate_request(version: int, body: bytes | memoryview) -> bytes:
    """The client's token."""
    return bytes(Reader(body).nullable_bytes(version >= _AUTHENTICATE_FLEXIBLE_FROM) or b"")


def read_authenticate_response(version: int, body: bytes | memoryview) -> tuple[int, bytes]:
    """The error code and the broker's token."""
    flexible = version >= _AUTHENTICATE_FLEXIBLE_FROM
    reader = Reader(body)
    error_code = reader.int16()
    reader.skip_nullable_string(flexible)
    return error_code, bytes(reader.nullable_bytes(flexible) or b"")
