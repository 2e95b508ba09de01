"""Cuts the broker's stream into answers. Some are streamed, and some are held until they are complete.

The session decides this for each answer, by the slot at the head of its queue. A streamed answer costs no
memory, however large it is. If a streamed answer may name brokers at its end (`k01_k78_fetch`), only this
end is held.
"""

from typing import Protocol

from tsproxy.wire.k01_k78_fetch import MAX_TAIL_BYTES, blank_tail
from tsproxy.wire.primitives import DecodeError
from tsproxy.wire.readers import FetchWalk, Layout
from tsproxy.wire.received import Received

_SIZE_BYTES = 4
_HEAD_BYTES = 8


class Streaming(Protocol):
    """Counts the bytes of a streamed answer that have not arrived yet. The fast path counts them, too.

    `fetch` is the walk over the same answer if the answer may name brokers; else the walk is over.
    """

    streaming: int

    @property
    def fetch(self) -> FetchWalk: ...


class AnswerStream(Received):
    """Takes bytes in. The caller reads the next answer's head, and then calls `stream` or `whole`."""

    __slots__ = ("_in_flight",)

    def __init__(self, in_flight: Streaming) -> None:
        super().__init__()
        self._in_flight = in_flight

    @property
    def is_streaming(self) -> bool:
        return self._in_flight.streaming > 0

    def size(self) -> int | None:
        """The next answer's size without its size prefix, or None until four bytes have arrived."""
        head = self.peek(_HEAD_BYTES)
        if len(head) < _SIZE_BYTES:
            return None
        size = int.from_bytes(head[:_SIZE_BYTES], "big", signed=True)
        if size < 0:
            raise DecodeError(f"an answer of {size} bytes (first bytes: {head.hex(' ')})")
        return size

    def correlation_id(self) -> int | None:
        """The next answer's correlation id, or None until it has arrived."""
        size = self.size()
        if size is not None and size < _HEAD_BYTES - _SIZE_BYTES:
            raise DecodeError(f"an answer of {size} bytes")
        head = self.peek(_HEAD_BYTES)
        return int.from_bytes(head[_SIZE_BYTES:], "big", signed=True) if len(head) == _HEAD_BYTES else None

    def stream(self, layout: Layout | None) -> None:
        """Stream the next answer: `streamed` returns its bytes as they arrive.

        `layout`: the answer may name brokers at its end. This end is blanked.
        """
        size = _SIZE_BYTES + (self.size() or 0)
        self._in_flight.streaming = size
        if layout is None:
            self._in_flight.fetch.end()
        else:
            self._in_flight.fetch.begin(size, layout)

    def streamed(self) -> tuple[bytes, bool]:
        """The bytes of the streamed answer that have arrived, and True if the answer ends with them. Raises
        DecodeError."""
        in_flight = self._in_flight
        if in_flight.fetch.is_over:
            data = self.take(in_flight.streaming)
        else:
            data = self._walked()
        in_flight.streaming -= len(data)
        return data, in_flight.streaming == 0

    def _walked(self) -> bytes:
        """The arrived bytes of an answer that may name brokers. The tail is returned when all of it has
        arrived."""
        walk = self._in_flight.fetch
        with memoryview(self.data)[self.pos :] as arrived:
            walked = walk.advance(arrived)
        if walk.is_bad:
            raise DecodeError("records of an answer that does not fit its layout")
        if not walk.is_at_tail:
            return self.take(walked)
        if walk.left > MAX_TAIL_BYTES:
            raise DecodeError(f"an answer with {walk.left} bytes behind its records")
        if len(self) < walked + walk.left:
            return self.take(walked)
        data, layout = self.take(walked + walk.left), walk.layout
        walk.end()
        return data[:walked] + blank_tail(data[walked:], layout)

    def whole(self, most: int) -> bytes | None:
        """The next answer without its size prefix, or None until it is complete. Raises DecodeError above
        `most` bytes."""
        size = self.size()
        if size is None:
            return None
        if size > most:
            raise DecodeError(
                f"an answer of {size} bytes that must be read whole, at most {most} are allowed"
            )
        end = _SIZE_BYTES + size
        if len(self) < end:
            return None
        return self.take(end)[_SIZE_BYTES:]
