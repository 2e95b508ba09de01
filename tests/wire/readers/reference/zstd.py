"""The decompressed size of a frame of zstd, from its sequences. Literals are not decoded.

Source: RFC 8878, 3.1 and 4.1.
"""

from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

_RAW, _RLE, _COMPRESSED = range(3)
_PREDEFINED, _ONE_SYMBOL, _DESCRIBED, _REPEATED = range(4)
MAX_OF_A_BLOCK: Final = 1 << 17


@dataclass(frozen=True, slots=True)
class _Cell:
    """One state of an FSE table: its symbol, how many bits choose the next state, the base to add them to."""

    symbol: int
    bits: int
    base: int


_Table = list[_Cell]


@dataclass(frozen=True, slots=True)
class _Kind:
    """One of the three kinds of code in a sequence: its largest symbol, the largest logarithm of a table, and
    the logarithm and the shares of the table that needs no description."""

    most_symbol: int
    most_log: int
    default_log: int
    defaults: tuple[int, ...]


_LITERALS: Final = _Kind(
    35,
    9,
    6,
    (4, 3, *[2] * 11, 1, 1, 1, *[2] * 9, 3, 2, *[1] * 5, *[-1] * 4),
)
_OFFSETS: Final = _Kind(31, 8, 5, (*[1] * 6, 2, 2, 2, *[1] * 15, *[-1] * 5))
_MATCHES: Final = _Kind(
    52,
    9,
    6,
    (1, 4, 3, *[2] * 6, *[1] * 37, *[-1] * 7),
)
_KINDS: Final = (_LITERALS, _OFFSETS, _MATCHES)
"""The kinds, in the order of their tables in a block."""

_LITERALS_BITS: Final = (*[0] * 16, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
_LITERALS_BASE: Final[tuple[int, ...]] = (
    *range(16),
    *accumulate((1 << bits for bits in _LITERALS_BITS[16:-1]), initial=16),
)
_MATCH_BITS: Final = (*[0] * 32, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
_MATCH_BASE: Final[tuple[int, ...]] = (
    *range(3, 35),
    *accumulate((1 << bits for bits in _MATCH_BITS[32:-1]), initial=35),
)


class _UnsoundError(ValueError):
    """A match reaches too far back, or the data is not a frame."""


@dataclass(slots=True)
class _Frame:
    window: int
    written: int = 0
    repeated: list[int] = field(default_factory=lambda: [1, 4, 8])
    tables: list[_Table | None] = field(default_factory=lambda: [None, None, None])


def zstd_size(data: bytes | memoryview, blocks_at: int, window: int) -> int:
    """The decompressed size of a frame, in bytes. The frame's blocks begin at `blocks_at` in `data`.

    The size is -1 if a match reaches back further than `window` bytes or before the frame's beginning, or if
    the data is not a frame.
    """
    whole, frame, pos, is_last = bytes(data), _Frame(window), blocks_at, False
    try:
        while not is_last:
            head = int.from_bytes(_taken(whole, pos, 3), "little")
            is_last, kind, size = bool(head & 1), head >> 1 & 3, head >> 3
            block = _taken(whole, pos + 3, 1 if kind == _RLE else size)
            pos += 3 + len(block)
            if kind > _COMPRESSED:
                return -1
            frame.written += _block(block, frame) if kind == _COMPRESSED else size
    except (_UnsoundError, IndexError):
        return -1
    return frame.written


def zstd_work(data: bytes | memoryview, blocks_at: int, behind: int) -> int:
    """The work of decompressing a frame, in bytes of output: 6,000 a block and 20 a sequence.

    It is -1 if a block is cut short, or if not exactly `behind` bytes follow the last one.
    """
    whole, work, pos, is_last = bytes(data), 0, blocks_at, False
    try:
        while not is_last:
            head = int.from_bytes(_taken(whole, pos, 3), "little")
            is_last, kind = bool(head & 1), head >> 1 & 3
            block = _taken(whole, pos + 3, 1 if kind == _RLE else head >> 3)
            pos, work = pos + 3 + len(block), work + 6000
            if kind == _COMPRESSED:
                work += 20 * _sequences_count(block, _literals(block)[1])[0]
    except (_UnsoundError, IndexError):
        return -1
    return work if len(whole) - pos == behind else -1


def _taken(data: bytes, pos: int, size: int) -> bytes:
    if size > len(data) - pos:
        raise _UnsoundError
    return data[pos : pos + size]


def _sequences_count(block: bytes, pos: int) -> tuple[int, int]:
    """(how many sequences follow the literals, where that number ends)."""
    count = block[pos]
    if count == 255:
        return int.from_bytes(_taken(block, pos + 1, 2), "little") + 0x7F00, pos + 3
    if count >= 128:
        return (count - 128 << 8) + block[pos + 1], pos + 2
    return count, pos + 1


def _block(block: bytes, frame: _Frame) -> int:
    """The decompressed size of a compressed block, in bytes."""
    literals, pos = _literals(block)
    count, pos = _sequences_count(block, pos)
    if count == 0:
        return literals
    modes, pos = block[pos], pos + 1
    for index, kind in enumerate(_KINDS):
        pos = _read_table(block, pos, modes >> (6 - 2 * index) & 3, index, kind, frame)
    return _sequences(_Backwards(block[pos:]), count, literals, frame)


def _literals(block: bytes) -> tuple[int, int]:
    """(how many literals the block has, where their section ends)."""
    kind, layout = block[0] & 3, block[0] >> 2 & 3
    if kind in (_RAW, _RLE):
        head_size, shift = ((1, 3), (2, 4), (1, 3), (3, 4))[layout]
        size = int.from_bytes(_taken(block, 0, head_size), "little") >> shift
        return size, head_size + (size if kind == _RAW else 1)
    head_size, bits = ((3, 10), (3, 10), (4, 14), (5, 18))[layout]
    head, mask = int.from_bytes(_taken(block, 0, head_size), "little"), (1 << bits) - 1
    return head >> 4 & mask, head_size + (head >> (4 + bits) & mask)


def _read_table(block: bytes, pos: int, mode: int, index: int, kind: _Kind, frame: _Frame) -> int:
    """Read a table into the frame, and return the end of its description."""
    if mode == _PREDEFINED:
        frame.tables[index] = _table_of(kind.defaults, kind.default_log)
    elif mode == _ONE_SYMBOL:
        if block[pos] > kind.most_symbol:
            raise _UnsoundError
        frame.tables[index] = [_Cell(block[pos], 0, 0)]
        pos += 1
    elif mode == _DESCRIBED:
        shares, log, pos = _shares(block, pos, kind)
        frame.tables[index] = _table_of(shares, log)
    elif frame.tables[index] is None:
        raise _UnsoundError
    return pos


def _shares(block: bytes, pos: int, kind: _Kind) -> tuple[list[int], int, int]:
    """(how many states each symbol has, the table's logarithm, where the description ends)."""
    bits, at = int.from_bytes(block[pos : pos + 128], "little"), 4
    log = (bits & 0xF) + 5
    left, shares = (1 << log), list[int]()
    if log > kind.most_log:
        raise _UnsoundError
    while left > 0 and len(shares) <= kind.most_symbol:
        width = (left + 1).bit_length()
        value, low = bits >> at & ((1 << width) - 1), bits >> at & ((1 << width - 1) - 1)
        threshold = (1 << width) - 1 - (left + 1)
        at += width
        if low < threshold:
            at, value = at - 1, low
        elif value >= 1 << width - 1:
            value -= threshold
        share = value - 1
        left -= abs(share)
        shares.append(share)
        zeros = 3 if share == 0 else 0
        while zeros == 3:
            zeros, at = bits >> at & 3, at + 2
            shares += [0] * zeros
    end = pos + (at + 7) // 8
    if left != 0 or len(shares) > kind.most_symbol + 1 or end > len(block):
        raise _UnsoundError
    return shares, log, end


def _table_of(shares: tuple[int, ...] | list[int], log: int) -> _Table:
    size = 1 << log
    symbols, high, pos = [0] * size, size, 0
    for symbol, share in enumerate(shares):
        if share == -1:
            high -= 1
            symbols[high] = symbol
    step, mask = (size >> 1) + (size >> 3) + 3, size - 1
    for symbol, share in enumerate(shares):
        for _ in range(max(0, share)):
            symbols[pos] = symbol
            pos = pos + step & mask
            while pos >= high:
                pos = pos + step & mask
    following, table = [abs(share) for share in shares], []
    for symbol in symbols:
        state = following[symbol]
        following[symbol] += 1
        bits = log + 1 - state.bit_length()
        table.append(_Cell(symbol, bits, (state << bits) - size))
    return table


class _Backwards:
    """A stream of bits, read from the end. The last set bit is not part of it."""

    def __init__(self, data: bytes) -> None:
        if not data or not data[-1]:
            raise _UnsoundError
        self._data = data
        self.left = 8 * len(data) - 9 + data[-1].bit_length()

    def read(self, count: int) -> int:
        self.left -= count
        if self.left < 0:
            raise _UnsoundError
        first, end = self.left >> 3, self.left + count + 7 >> 3
        return int.from_bytes(self._data[first:end], "little") >> (self.left & 7) & ((1 << count) - 1)


def _sequences(stream: _Backwards, count: int, literals: int, frame: _Frame) -> int:
    """The decompressed size of a block: of its sequences, and of the literals after them."""
    of_literals, of_offsets, of_matches = (_known(table) for table in frame.tables)
    first = [stream.read(len(table).bit_length() - 1) for table in (of_literals, of_offsets, of_matches)]
    a, b, c = of_literals[first[0]], of_offsets[first[1]], of_matches[first[2]]
    size = 0
    while True:
        value = (1 << b.symbol) + stream.read(b.symbol)
        match = _MATCH_BASE[c.symbol] + stream.read(_MATCH_BITS[c.symbol])
        length = _LITERALS_BASE[a.symbol] + stream.read(_LITERALS_BITS[a.symbol])
        offset = _offset(value, length, frame.repeated)
        literals, size = literals - length, size + length
        if not 0 < offset <= min(frame.window, frame.written + size):
            raise _UnsoundError
        size += match
        count -= 1
        if literals < 0 or size > MAX_OF_A_BLOCK:
            raise _UnsoundError
        if not count:
            break
        a = of_literals[a.base + stream.read(a.bits)]
        c = of_matches[c.base + stream.read(c.bits)]
        b = of_offsets[b.base + stream.read(b.bits)]
    if stream.left:
        raise _UnsoundError
    return size + literals


def _known(table: _Table | None) -> _Table:
    assert table is not None, "each is read before the sequences are"
    return table


def _offset(value: int, literals: int, repeated: list[int]) -> int:
    """How many bytes back a match begins. `repeated` has the latest offsets and is updated.

    Source: RFC 8878, 3.1.1.5.
    """
    if value > 3:
        repeated[:] = [value - 3, *repeated[:2]]
        return value - 3
    which = value - 1 + (literals == 0)
    offset: int = repeated[which] if which < 3 else repeated[0] - 1
    if which:
        repeated[:] = [offset, repeated[0], repeated[1] if which > 1 else repeated[2]]
    return offset
