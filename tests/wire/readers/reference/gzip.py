"""The decompressed size of a member of gzip, from its codes. Source: RFC 1951 and RFC 1952."""

from itertools import accumulate
from typing import Final

_HEADER_BYTES: Final = 10
_STORED, _FIXED, _DESCRIBED = range(3)
_COPY_LAST, _FEW_ZEROS, _MANY_ZEROS = 16, 17, 18
_BLOCK_END: Final = 256
_MOST_BITS: Final = 15
_MOST_LITERALS, _MOST_DISTANCES = 286, 30

_ORDER: Final = (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15)
_LENGTH_EXTRA: Final = (*[0] * 8, *(bits for bits in range(1, 6) for _ in range(4)))
_LENGTH_BASE: Final = (*accumulate((1 << bits for bits in _LENGTH_EXTRA[:-1]), initial=3), 258)
_DISTANCE_EXTRA: Final = (0, 0, *(bits for bits in range(14) for _ in range(2)))
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

    def step_over(self) -> int:
        """Step over a stored block. Returns how many bytes it has."""
        self._at = (self._at + 7) // 8 * 8
        size = self.read(16)
        if self.read(16) != size ^ 0xFFFF or size > len(self._data) - self._at // 8:
            raise _DamagedError
        self._at += 8 * size
        return size


def gzip_size(data: bytes | memoryview, most_blocks: int, most: int) -> int:
    """The decompressed size of the first member, in bytes. Checksums are not read.

    It is -1 above `most` bytes or `most_blocks` blocks, for damaged data, and for a member with a name or
    another optional field.
    """
    member = bytes(data)
    if len(member) < _HEADER_BYTES or member[:4] != b"\x1f\x8b\x08\x00":
        return -1
    bits = _Bits(member[_HEADER_BYTES:])
    written, blocks, is_last = 0, 0, False
    try:
        while not is_last:
            is_last = bool(bits.read(1))
            written, blocks = _after_block(bits, written, most), blocks + 1
            if written > most or blocks > most_blocks:
                return -1
    except _DamagedError:
        return -1
    return written


def _after_block(bits: _Bits, written: int, most: int) -> int:
    kind = bits.read(2)
    if kind == _STORED:
        return written + bits.step_over()
    if kind == _FIXED:
        literals, distances = _codes_of(_FIXED_LENGTHS), _codes_of([5] * _MOST_DISTANCES)
    elif kind == _DESCRIBED:
        literals, distances = _described(bits)
    else:
        raise _DamagedError
    while written <= most:
        symbol = bits.symbol(literals)
        if symbol == _BLOCK_END:
            return written
        if symbol < _BLOCK_END:
            written += 1
            continue
        if symbol >= _MOST_LITERALS:
            raise _DamagedError
        index = symbol - _BLOCK_END - 1
        written += _LENGTH_BASE[index] + bits.read((*_LENGTH_EXTRA, 0)[index])
        bits.read(_DISTANCE_EXTRA[bits.symbol(distances)])
    return written


def _described(bits: _Bits) -> tuple[_Codes, _Codes]:
    literal_count, distance_count, count = bits.read(5) + 257, bits.read(5) + 1, bits.read(4) + 4
    if literal_count > _MOST_LITERALS or distance_count > _MOST_DISTANCES:
        raise _DamagedError
    of_lengths = [0] * len(_ORDER)
    for symbol in _ORDER[:count]:
        of_lengths[symbol] = bits.read(3)
    codes, lengths = _codes_of(of_lengths), list[int]()
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
    return _codes_of(lengths[:literal_count]), _codes_of(lengths[literal_count:])


def _codes_of(lengths: list[int]) -> _Codes:
    codes, code = _Codes(), 0
    for length in range(1, _MOST_BITS + 1):
        code <<= 1
        for symbol, its_length in enumerate(lengths):
            if its_length == length:
                codes[length, code], code = symbol, code + 1
        if code > 1 << length:
            raise _DamagedError
    return codes
