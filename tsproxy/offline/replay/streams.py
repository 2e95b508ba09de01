"""`RequestStream`: Kafka requests in one direction of a TCP connection.

Segments are put in order, and repetitions are left out. After lost packets, or in a capture that began later
than the connection, reading continues at the next segment that begins like a request. Clients write whole
requests, so nearly every request begins a segment. The bytes between are counted as lost, not guessed.
"""

from collections.abc import Iterator
from typing import Final

from tsproxy.offline.replay.packets import Segment
from tsproxy.wire.apis import request_is_understood
from tsproxy.wire.frames import SIZE_BYTES, RequestFrames
from tsproxy.wire.headers import read_request_header
from tsproxy.wire.primitives import DecodeError

WAITING_BYTES: Final = 1024 * 1024
"""The number of bytes to keep after a hole. If more bytes follow, the hole counts as lost."""

_WRAP: Final = 1 << 32
_HALF: Final = 1 << 31

Framed = tuple[bytes, int]
"""A whole request including its size, and the time in ms at which the capture had all of it."""


class RequestStream:
    """Finds the requests in TCP segments. `lost_bytes`: the number of bytes that were sent and cannot be
    read. `holes`: how often bytes were lost within the stream."""

    __slots__ = ("_frame_bytes", "_frames", "_next", "_waiting", "holes", "lost_bytes")

    def __init__(self, frame_bytes: int) -> None:
        self._frame_bytes = frame_bytes
        self._frames: RequestFrames | None = None
        self._next: int | None = None
        self._waiting: dict[int, Segment] = {}
        self.holes = 0
        self.lost_bytes = 0

    def take(self, segment: Segment) -> Iterator[Framed]:
        """The requests that this segment completes."""
        if segment.is_syn:
            self._waiting.clear()
            self._next = (segment.sequence + 1) % _WRAP
            self._frames = self._new_frames()
            return
        if not segment.payload and not segment.missing:
            return
        if self._next is None:
            self._next = segment.sequence
        if self._ahead(segment.sequence) > 0:
            self._waiting[segment.sequence] = segment
            if sum(len(each.payload) for each in self._waiting.values()) <= WAITING_BYTES:
                return
            self._skip_hole()
        else:
            yield from self._deliver(segment)
        while (following := self._following()) is not None:
            yield from self._deliver(following)

    def end(self) -> Iterator[Framed]:
        """The requests after holes that were never filled."""
        while self._waiting:
            self._skip_hole()
            while (following := self._following()) is not None:
                yield from self._deliver(following)

    def _ahead(self, sequence: int) -> int:
        """The distance of a sequence number from the next expected one; below 0 if it was seen before."""
        assert self._next is not None
        return (sequence - self._next + _HALF) % _WRAP - _HALF

    def _following(self) -> Segment | None:
        due = next((sequence for sequence in self._waiting if self._ahead(sequence) <= 0), None)
        return None if due is None else self._waiting.pop(due)

    def _skip_hole(self) -> None:
        nearest = min(self._waiting, key=self._ahead)
        self._lose(self._ahead(nearest))
        self._next = nearest

    def _deliver(self, segment: Segment) -> Iterator[Framed]:
        known = -self._ahead(segment.sequence)
        payload = segment.payload[known:]
        if payload:
            assert self._next is not None
            self._next = (self._next + len(payload)) % _WRAP
            yield from self._feed(payload, segment.at_ms, begins_segment=known == 0)
        if segment.missing and known <= len(segment.payload):
            self._lose(segment.missing)
            assert self._next is not None
            self._next = (self._next + segment.missing) % _WRAP

    def _feed(self, payload: bytes, at_ms: int, *, begins_segment: bool) -> Iterator[Framed]:
        if self._frames is None:
            if not begins_segment or not _begins_request(payload, self._frame_bytes):
                self.lost_bytes += len(payload)
                return
            self._frames = self._new_frames()
        self._frames.feed(payload)
        try:
            while (frame := self._frames.next_frame()) is not None:
                yield frame, at_ms
        except DecodeError:  # a SASL token, another protocol, or an unnoticed hole
            self._lose(0)

    def _lose(self, size: int) -> None:
        """Count `size` missing bytes. The request that had begun before them is lost as well."""
        self.holes += 1
        self.lost_bytes += size + (self._frames.buffered if self._frames else 0)
        self._frames = None

    def _new_frames(self) -> RequestFrames:
        return RequestFrames(self._frame_bytes, self._frame_bytes)


def _begins_request(payload: bytes, frame_bytes: int) -> bool:
    """True if these bytes look like a request: a size, a known API and version, a client id."""
    if not 0 < int.from_bytes(payload[:SIZE_BYTES], "big", signed=True) <= frame_bytes:
        return False
    try:
        header = read_request_header(payload[SIZE_BYTES:])
    except DecodeError:
        return False
    is_known = request_is_understood(header.api_key, header.api_version)
    return is_known and header.correlation_id >= 0 and (header.client_id or "").isprintable()
