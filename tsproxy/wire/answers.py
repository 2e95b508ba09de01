"""Cuts the broker's stream into answers: some stream through, some are held until they are whole.

Which of the two is the session's to say, from the slot at the head of its queue; a streamed answer
costs no memory however large it is.
"""

from tsproxy.wire.primitives import DecodeError

_SIZE_BYTES = 4
_HEAD_BYTES = 8


class AnswerStream:
    """Feed it bytes; ask for the next answer's head, then either `stream` it or take it `whole`."""

    __slots__ = ("_buffer", "_streaming")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._streaming = 0

    @property
    def is_streaming(self) -> bool:
        return self._streaming > 0

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def size(self) -> int | None:
        """The next answer's size (its prefix not counted), None until four bytes are there."""
        if len(self._buffer) < _SIZE_BYTES:
            return None
        size = int.from_bytes(self._buffer[:_SIZE_BYTES], "big", signed=True)
        if size < 0:
            raise DecodeError(f"an answer of {size} bytes (first bytes: {bytes(self._buffer[:8]).hex(' ')})")
        return size

    def correlation_id(self) -> int | None:
        """The next answer's correlation id, None until it is there."""
        size = self.size()
        if size is not None and size < _HEAD_BYTES - _SIZE_BYTES:
            raise DecodeError(f"an answer of {size} bytes")
        if len(self._buffer) < _HEAD_BYTES:
            return None
        return int.from_bytes(self._buffer[_SIZE_BYTES:_HEAD_BYTES], "big", signed=True)

    def stream(self) -> None:
        """Let the next answer through as it comes: `passing` gives its bytes."""
        self._streaming = _SIZE_BYTES + (self.size() or 0)

    def passing(self) -> tuple[bytes, bool]:
        """(what has come of the streamed answer, whether that was its end)."""
        data = bytes(memoryview(self._buffer)[: self._streaming])
        del self._buffer[: len(data)]
        self._streaming -= len(data)
        return data, self._streaming == 0

    def whole(self, most: int) -> bytes | None:
        """The next answer without its size, None until it is whole; DecodeError above `most` bytes."""
        size = self.size()
        if size is None:
            return None
        if size > most:
            raise DecodeError(
                f"an answer of {size} bytes that must be read whole, at most {most} are allowed"
            )
        end = _SIZE_BYTES + size
        if len(self._buffer) < end:
            return None
        payload = bytes(memoryview(self._buffer)[_SIZE_BYTES:end])
        del self._buffer[:end]
        return payload
