"""`Received`: a buffer of bytes that have arrived and are not processed yet."""


class Received:
    """A buffer with a position. Bytes that arrive in one piece and are taken in one piece are never copied.

    Memory grows with the received bytes, never with an announced size, and is freed as soon as everything
    is taken.
    """

    __slots__ = ("data", "pos")

    def __init__(self) -> None:
        self.data: bytes | bytearray = b""
        self.pos = 0

    def __len__(self) -> int:
        return len(self.data) - self.pos

    def feed(self, data: bytes) -> None:
        if not self:
            self.data, self.pos = bytes(data), 0  # this does not copy bytes
        elif isinstance(self.data, bytearray):
            if self.pos:
                del self.data[: self.pos]
                self.pos = 0
            self.data += data
        else:
            self.data, self.pos = bytearray(self.peek(len(self)) + data), 0

    def peek(self, size: int) -> bytes:
        """The next `size` bytes, or fewer if there are fewer."""
        return bytes(memoryview(self.data)[self.pos : self.pos + size])

    def take_until(self, end: int) -> bytes:
        """Remove and return the bytes up to position `end` of `data`."""
        return self.take(end - self.pos) if end > self.pos else b""

    def take(self, size: int) -> bytes:
        """Remove and return the next `size` bytes, or fewer if there are fewer."""
        if isinstance(self.data, bytes) and self.pos == 0 and size >= len(self.data):
            taken = self.data
        else:
            taken = self.peek(size)
        self.pos += len(taken)
        if not self:
            self.data, self.pos = b"", 0
        return taken
