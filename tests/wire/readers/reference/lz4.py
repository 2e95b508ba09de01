"""The decompressed size of a block of lz4, from its sequences. Source: lz4_Block_format.md."""

_MIN_MATCH = 4
_EXTENDED = 15
_TOKEN_BITS = 4


def lz4_size(data: bytes | memoryview) -> int:
    """The decompressed size of a block, in bytes.

    It is -1 if a match copies bytes that are not written yet: its offset is 0, or it begins before
    the block. It is also -1 if the sequences do not end with the data.
    """
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
    """(a length whose first four bits are `length`, where it ends). Raises IndexError if it is cut short."""
    if length == _EXTENDED:
        while (more := block[pos]) == 0xFF:
            length, pos = length + more, pos + 1
        length, pos = length + more, pos + 1
    return length, pos


def holds_zeros(data: bytes | bytearray | memoryview) -> bool:
    """True if the data has four zeros in a row. lz4's C code writes four zeros for the shortest match of
    offset 0."""
    return bytes(4) in bytes(data)
