"""Cuts the client's stream into complete requests, and rejects bytes that cannot be a request.

A frame is an int32 size (which does not count itself) and that many bytes. A frame is returned only when it
is complete, so no broker ever gets the beginning of a frame that stalls. Memory grows with the received
bytes, never with the announced size.
"""

from dataclasses import dataclass
from typing import Final

from tsproxy.model.kafka import ApiKey
from tsproxy.wire.primitives import DecodeError
from tsproxy.wire.received import Received

SIZE_BYTES: Final = 4
_KEY_END: Final = SIZE_BYTES + 2
_HEAD_BYTES: Final = 8
"""The bytes of a frame that are checked, and shown if it is rejected."""
_SMALLEST: Final = 10
"""The size of the shortest request: API key, version, correlation id and a null client id."""

SASL_FRAME: Final = 512 * 1024
"""The largest frame, in bytes without its size prefix, that a broker accepts during and before a SASL
exchange: the default of `sasl.server.max.receive.size` (`BrokerSecurityConfigs.java`)."""
_OF_SASL: Final = frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})

_LOOKS_LIKE: Final = (
    (b"\x16\x03", "a TLS handshake (this port is plain text: the client should not use TLS here)"),
    (b"\x15\x03", "a TLS alert (this port is plain text: the client should not use TLS here)"),
    (b"GET ", "an HTTP request"),
    (b"POST", "an HTTP request"),
    (b"PUT ", "an HTTP request"),
    (b"HEAD", "an HTTP request"),
    (b"OPTI", "an HTTP request"),
    (b"CONN", "an HTTP request"),
    (b"PRI ", "an HTTP/2 preface"),
    (b"SSH-", "an SSH client"),
    (b"PROX", "a PROXY protocol v1 header"),
    (b"\r\n\r\n", "a PROXY protocol v2 header"),
)


class NotKafkaError(DecodeError):
    """The first bytes belong to another protocol. The text says which."""


class FrameTooLargeError(DecodeError):
    """A size above the limit for this API."""


class ApiNotAllowedError(DecodeError):
    """A request for an API that is not allowed now."""

    def __init__(self, api_key: int) -> None:
        super().__init__(f"API key {api_key} is not allowed now")
        self.api_key = api_key


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An incomplete frame. `number` distinguishes such frames of one connection. `announced` includes the
    size prefix, and is None if even the prefix is incomplete."""

    number: int
    received: int
    announced: int | None


def looks_like(head: bytes) -> str | None:
    """The name of another protocol that begins with these bytes, or None."""
    return next((what for start, what in _LOOKS_LIKE if head.startswith(start)), None)


class RequestFrames(Received):
    """Takes bytes in, and returns complete frames with their size prefix.

    `produce_frame` and `other_frame` limit the announced size in bytes, for Produce and for all other APIs.
    SASL_FRAME limits a SASL exchange as well. Raises NotKafkaError for the first bytes of another protocol,
    DecodeError for a size that no request has, and FrameTooLargeError above a limit.
    """

    __slots__ = ("_other_frame", "_produce_frame", "taken")

    def __init__(self, produce_frame: int, other_frame: int) -> None:
        super().__init__()
        self._produce_frame = produce_frame
        self._other_frame = other_frame
        self.taken = 0
        """How often frames were returned."""

    @property
    def unfinished(self) -> Unfinished | None:
        """The next frame, if only a part of it has arrived."""
        received = len(self)
        head = self.peek(SIZE_BYTES)
        if len(head) < SIZE_BYTES:
            return Unfinished(self.taken, received, None) if received else None
        size = SIZE_BYTES + int.from_bytes(head, "big", signed=True)
        return Unfinished(self.taken, received, size) if received < size else None

    def take_until(self, end: int) -> bytes:
        """Remove and return the bytes up to `end` of `data`: complete frames, or nothing."""
        self.taken += end > self.pos
        return super().take_until(end)

    def next_frame(self, is_raw: bool = False, only: frozenset[int] | None = None) -> bytes | None:
        """The next complete frame, or None until more bytes arrive. `is_raw`: a SASL token without header.

        `only` contains the API keys that are allowed before the client is authenticated. Frames then have at
        most SASL_FRAME bytes. Raises ApiNotAllowedError for another key as soon as the key has arrived.
        """
        head = self.peek(_HEAD_BYTES)
        if len(head) < SIZE_BYTES:
            return None
        size = int.from_bytes(head[:SIZE_BYTES], "big", signed=True)
        if is_raw:
            self._check_token(size)
        elif only is not None:
            self._check_stranger(size, head, only)
        else:
            self._check_request(size, head)
        if len(self) < SIZE_BYTES + size:
            return None
        self.taken += 1
        return self.take(SIZE_BYTES + size)

    def _check_token(self, size: int) -> None:
        """Check the size of a SASL token. The error text contains none of the token's bytes and no number
        made of them, because they may be part of a secret."""
        if size < 0:
            raise DecodeError("a SASL token of negative size")
        self._check_sasl_size(size, "a SASL token", "")

    def _check_stranger(self, size: int, head: bytes, only: frozenset[int]) -> None:
        """Check a frame before authentication. The error text contains no number of the frame, because the
        frame may be a token without a header."""
        if not _SMALLEST <= size <= min(SASL_FRAME, self._other_frame):
            what = looks_like(head)
            if what is not None:
                raise NotKafkaError(what)
            if size < _SMALLEST:
                raise DecodeError("a frame of fewer bytes than a request has")
        self._check_sasl_size(size, "a frame", " before authentication")
        api_key = _api_key(head)
        if api_key is not None and api_key not in only:
            raise ApiNotAllowedError(api_key)

    def _check_sasl_size(self, size: int, what: str, when: str) -> None:
        """Check `size` against the smaller one of the operator's limit and the broker's limit."""
        most = min(SASL_FRAME, self._other_frame)
        if size > most:
            name = "sasl.server.max.receive.size" if most == SASL_FRAME else "limits.other_frame"
            raise FrameTooLargeError(f"{what} above the {most} bytes that are allowed{when} ({name})")

    def _check_request(self, size: int, head: bytes) -> None:
        if size < _SMALLEST or size > max(self._produce_frame, self._other_frame):
            what = looks_like(head)
            if what is not None:
                raise NotKafkaError(what)
            if size < _SMALLEST:
                raise DecodeError(f"a frame of {size} bytes (first bytes: {head.hex(' ')})")
            raise FrameTooLargeError(
                f"a frame of {size} bytes, at most {self._produce_frame} are allowed "
                f"(limits.produce_frame; first bytes: {head.hex(' ')})"
            )
        api_key = _api_key(head)
        if api_key in _OF_SASL:
            self._check_sasl_size(size, "a frame of SASL", "")
        if api_key is not None and api_key != ApiKey.PRODUCE and size > self._other_frame:
            raise FrameTooLargeError(
                f"a frame of {size} bytes for API key {api_key}, at most {self._other_frame} are allowed "
                "(limits.other_frame)"
            )


def _api_key(head: bytes) -> int | None:
    """The API key of the frame that begins with `head`, or None until it has arrived."""
    if len(head) < _KEY_END:
        return None
    return int.from_bytes(head[SIZE_BYTES:_KEY_END], "big", signed=True)
