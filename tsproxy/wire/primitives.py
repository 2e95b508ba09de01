"""Kafka's primitive types: a `Reader` of received bytes, and functions that make bytes to send.

Source: `ByteUtils.java`, `MessageUtil.java`, the protocol guide. Numbers are big-endian. A string is an int16
length and UTF-8. From a flexible version on, the length is an unsigned varint of length + 1 (0 means null).
An array has an int32 count, or the same varint in flexible versions. Invalid UTF-8 survives a round trip
(surrogateescape).
"""

import struct
from typing import Final

_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")

MAX_STRING: Final = 0x7FFF
"""Kafka's generated code rejects longer strings, also compact ones (`MessageDataGenerator.java`)."""

MAX_TAGS: Final = 100
"""The most tagged fields in one section. A field takes at least two bytes, so a frame could have fifty
million fields. Each message of Kafka defines fewer than ten."""
MAX_TAGS_TOGETHER: Final = 25_000
"""The most tagged fields in all sections of one message. Answers to Produce have a section for each
partition."""


class DecodeError(ValueError):
    """The peer sent bytes that do not fit their layout."""


class TooManyElementsError(Exception):
    """The message announces more elements than its reader may look at. Another reader may."""


class Reader:
    """A cursor over `data[pos:end]`. Every method raises DecodeError beyond the end."""

    __slots__ = ("_tags_left", "data", "end", "pos")

    def __init__(self, data: bytes | memoryview, pos: int = 0, end: int | None = None) -> None:
        self.data = memoryview(data)
        self.pos = pos
        self.end = len(data) if end is None else end
        self._tags_left = MAX_TAGS_TOGETHER

    @property
    def remaining(self) -> int:
        return self.end - self.pos

    def skip(self, size: int) -> int:
        """Skip `size` bytes and return their start."""
        start = self.pos
        if size < 0 or size > self.end - start:
            raise DecodeError(f"{size} bytes announced, {self.end - start} left")
        self.pos = start + size
        return start

    def int8(self) -> int:
        byte = self.data[self.skip(1)]
        return byte - 256 if byte > 127 else byte

    def int16(self) -> int:
        return int(_INT16.unpack_from(self.data, self.skip(2))[0])

    def int32(self) -> int:
        return int(_INT32.unpack_from(self.data, self.skip(4))[0])

    def int64(self) -> int:
        return int(_INT64.unpack_from(self.data, self.skip(8))[0])

    def unsigned_varint(self) -> int:
        """Base-128 with the least significant group first, in at most 5 bytes. Bits above 31 are dropped."""
        start = self.pos
        if start < self.end and (byte := self.data[start]) < 0x80:  # nearly all, several in each partition
            self.pos = start + 1
            return byte
        value = 0
        for shift in (0, 7, 14, 21, 28):
            byte = self.data[self.skip(1)]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & 0xFFFFFFFF
        raise DecodeError("unsigned varint longer than 5 bytes")

    def take(self, size: int) -> memoryview:
        start = self.skip(size)
        return self.data[start : self.pos]

    def nullable_string(self, is_flexible: bool) -> str | None:
        length = self._string_length(is_flexible)
        return None if length < 0 else str(self.take(length), "utf-8", "surrogateescape")

    def skip_nullable_string(self, is_flexible: bool) -> None:
        self.skip(max(0, self._string_length(is_flexible)))

    def _string_length(self, is_flexible: bool) -> int:
        """The length of a string, or -1 for null."""
        length = self.unsigned_varint() - 1 if is_flexible else self.int16()
        if length < -1:
            raise DecodeError(f"string of length {length}")
        if length > MAX_STRING:
            raise DecodeError(f"string of length {length}, at most {MAX_STRING} allowed")
        return length

    def string(self, is_flexible: bool) -> str:
        value = self.nullable_string(is_flexible)
        if value is None:
            raise DecodeError("null where a string must stand")
        return value

    def nullable_array(self, is_flexible: bool) -> int | None:
        """The number of elements that follow, or None for null. It is at most the number of remaining bytes,
        so a loop over the elements is safe."""
        count = self.unsigned_varint() - 1 if is_flexible else self.int32()
        if count < 0:
            if count == -1:
                return None
            raise DecodeError(f"array of {count} elements")
        if count > self.remaining:
            raise DecodeError(f"array of {count} elements in {self.remaining} bytes")
        return count

    def array(self, is_flexible: bool) -> int:
        count = self.nullable_array(is_flexible)
        if count is None:
            raise DecodeError("null where an array must stand")
        return count

    def nullable_bytes(self, is_flexible: bool) -> memoryview | None:
        length = self.unsigned_varint() - 1 if is_flexible else self.int32()
        if length < 0:
            if length == -1:
                return None
            raise DecodeError(f"bytes of length {length}")
        return self.take(length)

    def tags(self, is_flexible: bool) -> bytes:
        """A complete tagged-field section with its count, unchanged. It is empty before the flexible
        versions.

        Raises DecodeError for more than MAX_TAGS fields, or more than MAX_TAGS_TOGETHER in all sections.
        """
        if not is_flexible:
            return b""
        start = self.pos
        for _ in range(self.tag_count()):
            self.unsigned_varint()
            self.skip(self.unsigned_varint())
        return bytes(self.data[start : self.pos])

    def tag_count(self) -> int:
        """The number of tagged fields that follow, with the limits of `tags`."""
        count = self.unsigned_varint()
        self._tags_left -= count
        if count > MAX_TAGS or self._tags_left < 0:
            raise DecodeError(
                f"{count} tagged fields, at most {MAX_TAGS} and {MAX_TAGS_TOGETHER} a message are read"
            )
        return count


class BoundedReader(Reader):
    """A reader of a message whose arrays may have `most_elements` together. A larger one raises
    TooManyElementsError before its first element is read."""

    __slots__ = ("_elements_left",)

    def __init__(self, data: bytes | memoryview, most_elements: int) -> None:
        super().__init__(data)
        self._elements_left = most_elements

    def nullable_array(self, is_flexible: bool) -> int | None:
        count = super().nullable_array(is_flexible)
        self._elements_left -= count or 0
        if self._elements_left < 0:
            raise TooManyElementsError
        return count


def int8(value: int) -> bytes:
    return value.to_bytes(1, "big", signed=True)


def int16(value: int) -> bytes:
    return _INT16.pack(value)


def int32(value: int) -> bytes:
    return _INT32.pack(value)


def int64(value: int) -> bytes:
    return _INT64.pack(value)


def unsigned_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def string(value: str | None, is_flexible: bool) -> bytes:
    if value is None:
        return b"\x00" if is_flexible else b"\xff\xff"
    raw = value.encode("utf-8", "surrogateescape")
    return (unsigned_varint(len(raw) + 1) if is_flexible else int16(len(raw))) + raw


def array(count: int | None, is_flexible: bool) -> bytes:
    """The count of an array, which comes before its elements."""
    if is_flexible:
        return unsigned_varint(0 if count is None else count + 1)
    return int32(-1 if count is None else count)


def nullable_bytes(value: bytes | memoryview | None, is_flexible: bool) -> bytes:
    if value is None:
        return array(None, is_flexible)
    return array(len(value), is_flexible) + bytes(value)


EMPTY_TAGS: Final = b"\x00"


def tags(raw: bytes, is_flexible: bool) -> bytes:
    """A tagged-field section, unchanged, or an empty section if `raw` is empty."""
    if not is_flexible:
        return b""
    return raw or EMPTY_TAGS
