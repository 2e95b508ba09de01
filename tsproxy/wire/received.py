"""Bytes that came and are not taken yet."""


class Received:
    """A buffer with a position. What came in one piece and is taken in one piece is never copied.

    Memory grows with the bytes received, never with a size that somebody announced, and is let go as
    soon as everything is taken.
    """

    __slots__ = ("data", "pos")

    def __init__(self) -> None:
        self.data: bytes | bytearray = b""
        self.pos = 0

    def __len__(self) -> int:
        return len(self.data) - self.pos

    def feed(self, data: bytes) -> None:
        if not self:
            self.data, self.pos = bytes(data), 0  # bytes are not copied by this
        elif isinstance(self.data, bytearray):
            if self.pos:
                del self.data[: self.pos]
                self.pos = 0
            self.data += data
        else:
            self.data, self.pos = bytearray(self.peek(len(self)) + data), 0

    def peek(self, size: int) -> bytes:
        """The next `size` bytes, or as many as there are."""
        return bytes(memoryview(self.data)[self.pos : self.pos + size])

    def take(self, size: int) -> bytes:
        """The same, taken."""
        if isinstance(self.data, bytes) and self.pos == 0 and size >= len(self.data):
            taken = self.data
        else:
            taken = self.peek(size)
        self.pos += len(taken)
        if not self:
            self.data, self.pos = b"", 0
        return taken
