"""The decompressed size of a block of lz4, by its sequences. Source: lz4_Block_format.md."""

_MIN_MATCH = 4
_EXTENDED = 15
_TOKEN_BITS = 4


def lz4_size(data: bytes | memoryview) -> int:
    """The size in bytes of what a block decompresses to; -1 where a match copies what its block has not
    written yet, at offset 0 or before the block's beginning, or where the sequences do not end with the
    data."""
    block = bytes(data)
    pos = written = 0
    try:
        while pos < len(block):
            token = block[pos]
            literals, pos = _length(block, pos + 1, token >> _TOKEN_BITS)
            pos, written = pos + literals, written + literals
            if pos >= len(block):
                return written if pos == len(block) else -1
            offset = block[pos] | block[pos + 1] << 8
            if not 0 < offset <= written:
                return -1
            match, pos = _length(block, pos + 2, token & _EXTENDED)
            written += match + _MIN_MATCH
    except IndexError:
        return -1
    return -1


def _length(block: bytes, pos: int, length: int) -> tuple[int, int]:
    """A length whose first four bits are known, and where it ends. Raises IndexError where it is cut."""
    if length == _EXTENDED:
        while (more := block[pos]) == 0xFF:
            length, pos = length + more, pos + 1
        length, pos = length + more, pos + 1
    return length, pos


def holds_zeros(data: bytes | bytearray | memoryview) -> bool:
    """True where four zeros stand in a row: lz4's C code makes as many of the shortest match of offset 0."""
    return bytes(4) in bytes(data)
