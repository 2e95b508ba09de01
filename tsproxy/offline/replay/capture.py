"""`read_packets`: the packets in a capture file of tcpdump or Wireshark.

Source: draft-ietf-opsawg-pcap (both byte orders, micro- and nanoseconds) and draft-ietf-opsawg-pcapng
(section, interface, enhanced packet; blocks of other kinds are skipped).
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

MOST_BYTES: Final = 16 * 1024 * 1024
"""The largest packet or block. A file that announces a larger one is damaged."""

_PCAP: Final = {
    b"\xd4\xc3\xb2\xa1": ("<", 1_000),
    b"\xa1\xb2\xc3\xd4": (">", 1_000),
    b"\x4d\x3c\xb2\xa1": ("<", 1_000_000),
    b"\xa1\xb2\x3c\x4d": (">", 1_000_000),
}
"""Magic number -> byte order, and units of the timestamp's fraction in one millisecond."""

_SECTION: Final = b"\x0a\x0d\x0d\x0a"
_ORDERS: Final = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
_INTERFACE: Final = 1
_ENHANCED_PACKET: Final = 6
_END_OF_OPTIONS: Final = 0
_RESOLUTION: Final = 9  # if_tsresol
_OFFSET_S: Final = 14  # if_tsoffset


class CaptureError(ValueError):
    """The file is no capture, or is damaged. The text is for the user who named the file."""


@dataclass(frozen=True, slots=True)
class Packet:
    """A captured packet. `link` is the capture's LINKTYPE. `data` begins with the link layer. `is_cut`: the
    capture holds only a part of the packet."""

    at_ms: int
    link: int
    data: bytes
    is_cut: bool


def read_packets(file: BinaryIO) -> Iterator[Packet]:
    """All packets of the file, in its order. Raises CaptureError."""
    magic = file.read(4)
    if magic in _PCAP:
        yield from _pcap(file, *_PCAP[magic])
    elif magic == _SECTION:
        yield from _Sections(file).packets()
    else:
        raise CaptureError("is neither a pcap nor a pcapng file")


def _pcap(file: BinaryIO, order: str, parts_a_ms: int) -> Iterator[Packet]:
    *_, link = struct.unpack(f"{order}HHiIII", _exactly(file, 20))
    head = struct.Struct(f"{order}IIII")
    while raw := file.read(head.size):
        if len(raw) < head.size:
            raise CaptureError("ends within a packet")
        seconds, fraction, kept, whole = head.unpack(raw)
        data = _exactly(file, kept)
        yield Packet(seconds * 1000 + fraction // parts_a_ms, link & 0xFFFF, data, kept < whole)


@dataclass(frozen=True, slots=True)
class _Interface:
    link: int
    ticks_a_s: int
    offset_s: int


class _Sections:
    """A pcapng file after its first four bytes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._order = "<"
        self._interfaces: list[_Interface] = []

    def packets(self) -> Iterator[Packet]:
        self._begin_section()
        while raw := self._file.read(4):
            if raw == _SECTION:
                self._begin_section()
                continue
            (kind,) = self._unpack("I", raw.ljust(4, b"\0"))
            body = self._block()
            if kind == _INTERFACE:
                self._interfaces.append(self._interface(body))
            elif kind == _ENHANCED_PACKET:
                yield self._packet(body)

    def _begin_section(self) -> None:
        length, magic = _exactly(self._file, 4), _exactly(self._file, 4)
        if magic not in _ORDERS:
            raise CaptureError("is damaged: a section of no known byte order")
        self._order, self._interfaces = _ORDERS[magic], []
        (size,) = self._unpack("I", length)
        _exactly(self._file, size - 12)  # up to the end of the block

    def _block(self) -> bytes:
        """The body of the block. Its kind was read before."""
        (size,) = self._unpack("I", _exactly(self._file, 4))
        if size < 12:
            raise CaptureError(f"is damaged: a block of {size} bytes")
        return _exactly(self._file, size - 8)[:-4]

    def _interface(self, body: bytes) -> _Interface:
        (link,) = self._unpack("H", body[:2])
        ticks_a_s, offset_s, pos = 1_000_000, 0, 8
        while pos + 4 <= len(body):
            code, length = self._unpack("HH", body[pos : pos + 4])
            value = body[pos + 4 : pos + 4 + length]
            if code == _END_OF_OPTIONS:
                break
            if code == _RESOLUTION and length == 1:
                ticks_a_s = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
            elif code == _OFFSET_S and length == 8:
                (offset_s,) = self._unpack("q", value)
            pos += 4 + (length + 3) // 4 * 4
        return _Interface(link, ticks_a_s, offset_s)

    def _packet(self, body: bytes) -> Packet:
        if len(body) < 20:
            raise CaptureError("is damaged: a packet without its head")
        number, high, low, kept, whole = self._unpack("IIIII", body[:20])
        if number >= len(self._interfaces) or kept > len(body) - 20:
            raise CaptureError("is damaged: a packet of no known interface, or longer than its block")
        interface = self._interfaces[number]
        at_ms = (high << 32 | low) * 1000 // interface.ticks_a_s + interface.offset_s * 1000
        return Packet(at_ms, interface.link, body[20 : 20 + kept], kept < whole)

    def _unpack(self, layout: str, data: bytes) -> tuple[int, ...]:
        try:
            return struct.unpack(self._order + layout, data)
        except struct.error:
            raise CaptureError("is damaged: a block is too short") from None


def _exactly(file: BinaryIO, size: int) -> bytes:
    if not 0 <= size <= MOST_BYTES:
        raise CaptureError(f"is damaged: {size} bytes announced")
    data = file.read(size)
    if len(data) < size:
        raise CaptureError("ends within a packet")
    return data
