"""Decompresses a member of gzip. Source: RFC 1951 and RFC 1952."""

from itertools import accumulate
from typing import Final

_HEADER_BYTES: Final = 10
_TRAILER_BYTES: Final = 8
_STORED, _FIXED, _DESCRIBED = range(3)
_COPY_LAST, _FEW_ZEROS, _MANY_ZEROS = 16, 17, 18
_BLOCK_END: Final = 256
_MOST_BITS: Final = 15
_MOST_LITERALS, _MOST_DISTANCES = 286, 30

_ORDER: Final = (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15)
_LENGTH_EXTRA: Final = (*[0] * 8, *(bits for bits in range(1, 6) for _ in range(4)))
_LENGTH_BASE: Final = (*accumulate((1 << bits for bits in _LENGTH_EXTRA[:-1]), initial=3), 258)
_DISTANCE_EXTRA: Final = (0, 0, *(bits for bits in range(14) for _ in range(2)))
_DISTANCE_BASE: Final = (*accumulate((1 << bits for bits in _DISTANCE_EXTRA[:-1]), initial=1),)
_FIXED_LENGTHS: Final = [8] * 144 + [9] * 112 + [7] * 24 + [8] * 8

_Codes = dict[tuple[int, int], int]
"""(how many bits, the code) -> symbol."""


class _DamagedError(Exception):
    pass


class _Bits:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def read(self, count: int) -> int:
        """`count` bits, the first one lowest. Raises _DamagedError if they are not there."""
        return sum(self._bit() << index for index in range(count))

    def _bit(self) -> int:
        if self._at >= 8 * len(self._data):
            raise _DamagedError
        bit = self._data[self._at >> 3] >> (self._at & 7) & 1
        self._at += 1
        return bit

    def symbol(self, codes: _Codes) -> int:
        code = 0
        for length in range(1, _MOST_BITS + 1):
            code = code << 1 | self._bit()
            if (length, code) in codes:
                return codes[length, code]
        raise _DamagedError

    def stored(self) -> bytes:
        """The content of a stored block."""
        begin = self._end()
        self._at = 8 * begin
        size = self.read(16)
        if self.read(16) != size ^ 0xFFFF or size > len(self._data) - begin - 4:
            raise _DamagedError
        self._at += 8 * size
        return self._data[begin + 4 : begin + 4 + size]

    def _end(self) -> int:
        """The position of the first whole byte that is not read."""
        return (self._at + 7) // 8

    def has_ended(self) -> bool:
        return self._end() == len(self._data)


def gzip_content(data: bytes | memoryview, most_blocks: int, most: int) -> bytes | None:
    """The content of one member. Its checksum is not compared.

    It is None above `most` bytes or `most_blocks` blocks, for damaged data, for a member with a name or
    another optional field, and if there are bytes after the member.
    """
    member = bytes(data)
    if len(member) < _HEADER_BYTES + _TRAILER_BYTES or member[:4] != b"\x1f\x8b\x08\x00":
        return None
    size = int.from_bytes(member[-4:], "little")
    bits = _Bits(member[_HEADER_BYTES:-_TRAILER_BYTES])
    out, blocks, is_last = bytearray(), 0, False
    try:
        while size <= most and blocks < most_blocks and not is_last:
            is_last = bool(bits.read(1))
            _write_block(bits, out, size)
            blocks += 1
    except _DamagedError:
        return None
    return bytes(out) if is_last and len(out) == size and bits.has_ended() else None


def _write_block(bits: _Bits, out: bytearray, size: int) -> None:
    kind = bits.read(2)
    if kind == _STORED:
        out += bits.stored()
        return
    if kind == _FIXED:
        literals, distances = _codes_of(_FIXED_LENGTHS), _codes_of([5] * 32)
    elif kind == _DESCRIBED:
        literals, distances = _described(bits)
    else:
        raise _DamagedError
    while (symbol := bits.symbol(literals)) != _BLOCK_END:
        if symbol < _BLOCK_END:
            out.append(symbol)
        else:
            _copy(bits, out, symbol - _BLOCK_END - 1, distances)
        if len(out) > size:
            raise _DamagedError


def _copy(bits: _Bits, out: bytearray, index: int, distances: _Codes) -> None:
    if index >= len(_LENGTH_BASE):
        raise _DamagedError
    size = _LENGTH_BASE[index] + bits.read((*_LENGTH_EXTRA, 0)[index])
    symbol = bits.symbol(distances)
    if symbol >= _MOST_DISTANCES:
        raise _DamagedError
    distance = _DISTANCE_BASE[symbol] + bits.read(_DISTANCE_EXTRA[symbol])
    if distance > len(out):
        raise _DamagedError
    for _ in range(size):
        out.append(out[-distance])


def _described(bits: _Bits) -> tuple[_Codes, _Codes]:
    literal_count, distance_count, count = bits.read(5) + 257, bits.read(5) + 1, bits.read(4) + 4
    if literal_count > _MOST_LITERALS or distance_count > _MOST_DISTANCES:
        raise _DamagedError
    of_lengths = [0] * len(_ORDER)
    for symbol in _ORDER[:count]:
        of_lengths[symbol] = bits.read(3)
    codes, lengths = _codes_of(of_lengths, may_stand_alone=0), list[int]()
    while len(lengths) < literal_count + distance_count:
        symbol = bits.symbol(codes)
        if symbol == _COPY_LAST:
            if not lengths:
                raise _DamagedError
            lengths += lengths[-1:] * (3 + bits.read(2))
        elif symbol == _FEW_ZEROS:
            lengths += [0] * (3 + bits.read(3))
        elif symbol == _MANY_ZEROS:
            lengths += [0] * (11 + bits.read(7))
        else:
            lengths.append(symbol)
    if len(lengths) > literal_count + distance_count:
        raise _DamagedError
    if not lengths[_BLOCK_END]:
        raise _DamagedError
    return _codes_of(lengths[:literal_count]), _codes_of(lengths[literal_count:])


def _codes_of(lengths: list[int], may_stand_alone: int = 1) -> _Codes:
    """As in zlib, all codes must be in use, but a single one of one bit `may_stand_alone`."""
    codes, code = _Codes(), 0
    for length in range(1, _MOST_BITS + 1):
        code <<= 1
        for symbol, its_length in enumerate(lengths):
            if its_length == length:
                codes[length, code], code = symbol, code + 1
        if code > 1 << length:
            raise _DamagedError
    if code != 1 << _MOST_BITS and max(lengths, default=0) > may_stand_alone:
        raise _DamagedError
    return codes
