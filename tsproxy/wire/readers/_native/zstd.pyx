# cython: language_level=3, boundscheck=False, wraparound=False
"""The decompressed size of a frame of zstd, from its sequences, and the work of decompressing it.

No read leaves the frame: a `Cursor` reads sections, and `read_bits` reads bits.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from tsproxy.wire.readers._native.cursor cimport Cursor, take

cdef enum:
    RAW = 0                      # how a block, or its literals, are stored
    RLE = 1
    COMPRESSED = 2
    PREDEFINED = 0               # where a table comes from
    ONE_SYMBOL = 1
    DESCRIBED = 2
    LITERALS = 0                 # the kinds of code
    OFFSETS = 1
    MATCHES = 2
    MAX_OF_A_BLOCK = 131072
    MAX_SYMBOLS = 53
    MAX_STATES = 512
    A_BLOCK = 6000               # work: in bytes of output that take as long, about a nanosecond each
    A_SEQUENCE = 20

cdef struct Cell:
    uint16_t base
    uint8_t symbol
    uint8_t bits

cdef struct FseTable:
    Cell cells[MAX_STATES]
    int log                      # -1 if there is no table

cdef struct Frame:
    int64_t window
    int64_t written
    int64_t repeated[3]
    FseTable tables[3]

cdef struct Backwards:
    const uint8_t* data
    const uint8_t* end
    int64_t left                 # bits; below 0 if more were read than there were

cdef int* MAX_SYMBOL = [35, 31, 52]
cdef int* MAX_LOG = [9, 8, 9]
cdef int* DEFAULT_LOG = [6, 5, 6]
cdef int* DEFAULT_COUNT = [36, 29, 53]
cdef int16_t* LITERALS_SHARES = [
    4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1,
    -1, -1, -1, -1,
]
cdef int16_t* OFFSETS_SHARES = [
    1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1,
]
cdef int16_t* MATCHES_SHARES = [
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
]
cdef uint8_t* LITERALS_BITS = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
]
cdef int32_t* LITERALS_BASE = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 28, 32, 40, 48, 64, 128, 256, 512,
    1024, 2048, 4096, 8192, 16384, 32768, 65536,
]
cdef uint8_t* MATCHES_BITS = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
]
cdef int32_t* MATCHES_BASE = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
    32, 33, 34, 35, 37, 39, 41, 43, 47, 51, 59, 67, 83, 99, 131, 259, 515, 1027, 2051, 4099, 8195, 16387, 32771,
    65539,
]


def zstd_size(data, Py_ssize_t blocks_at, int64_t window):
    cdef Py_buffer view
    cdef Cursor blocks
    cdef Frame frame
    cdef int64_t size
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    blocks = cursor_at(&view, blocks_at)
    frame.window, frame.written = window, 0
    frame.repeated[0], frame.repeated[1], frame.repeated[2] = 1, 4, 8
    frame.tables[LITERALS].log = frame.tables[OFFSETS].log = frame.tables[MATCHES].log = -1
    with nogil:
        size = decompressed_size(&blocks, &frame)
    PyBuffer_Release(&view)
    return size


def zstd_work(data, Py_ssize_t blocks_at, Py_ssize_t behind):
    cdef Py_buffer view
    cdef Cursor blocks
    cdef int64_t work
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    blocks = cursor_at(&view, blocks_at)
    work = work_of(&blocks)
    if blocks.is_bad or blocks.end - blocks.at != behind:
        work = -1
    PyBuffer_Release(&view)
    return work


cdef Cursor cursor_at(const Py_buffer* view, Py_ssize_t at) noexcept nogil:
    cdef Cursor cursor = Cursor(<const uint8_t*>view.buf, <const uint8_t*>view.buf + view.len, False)
    take(&cursor, at)
    return cursor


cdef int64_t work_of(Cursor* blocks) noexcept nogil:
    """The work of a frame's blocks, from their headers alone. `blocks` moves behind them."""
    cdef uint64_t head = 0
    cdef int64_t work = 0
    cdef Cursor block
    while not head & 1 and not blocks.is_bad:
        head = little_endian(blocks, 3)
        block.at = take(blocks, 1 if head >> 1 & 3 == RLE else <int64_t>(head >> 3))
        block.end, block.is_bad = blocks.at, blocks.is_bad
        work += A_BLOCK
        if head >> 1 & 3 == COMPRESSED and not block.is_bad:
            of_literals(&block)
            work += A_SEQUENCE * sequences_count(&block)
            blocks.is_bad = block.is_bad
    return work


cdef int64_t decompressed_size(Cursor* blocks, Frame* frame) noexcept nogil:
    cdef uint64_t head
    cdef int64_t size
    cdef bint is_last = False
    cdef Cursor block
    while not is_last:
        head = little_endian(blocks, 3)
        is_last, size = head & 1, head >> 3
        if blocks.is_bad:
            return -1
        if head >> 1 & 3 == RAW:
            take(blocks, size)
        elif head >> 1 & 3 == RLE:
            take(blocks, 1)
        elif head >> 1 & 3 == COMPRESSED:
            block.at = take(blocks, size)
            block.end, block.is_bad = blocks.at, blocks.is_bad
            if block.is_bad:
                return -1
            size = of_block(&block, frame)
        else:
            return -1
        if blocks.is_bad or size < 0:
            return -1
        frame.written += size
    return frame.written


cdef inline uint64_t little_endian(Cursor* cursor, int size) noexcept nogil:
    cdef const uint8_t* at = take(cursor, size)
    cdef uint64_t value = 0
    cdef int index
    if at == NULL:
        return 0
    for index in range(size):
        value |= <uint64_t>at[index] << 8 * index
    return value


cdef int64_t of_block(Cursor* block, Frame* frame) noexcept nogil:
    """The decompressed size of a compressed block, -1 for an unsound one."""
    cdef int64_t literals = of_literals(block)
    cdef int64_t count = sequences_count(block)
    cdef int kind, modes
    if block.is_bad or count == 0:
        return -1 if block.is_bad else literals
    modes = <int>little_endian(block, 1)
    for kind in range(3):
        read_table(block, modes >> (6 - 2 * kind) & 3, kind, &frame.tables[kind])
    return -1 if block.is_bad else of_sequences(block, count, literals, frame)


cdef int64_t sequences_count(Cursor* block) noexcept nogil:
    """How many sequences follow the literals. The cursor moves behind that number."""
    cdef int64_t count = <int64_t>little_endian(block, 1)
    if count == 255:
        return <int64_t>little_endian(block, 2) + 0x7F00
    if count >= 128:
        return (count - 128 << 8) + <int64_t>little_endian(block, 1)
    return count


cdef int64_t of_literals(Cursor* block) noexcept nogil:
    """How many literals the block has. The cursor `block` moves behind their section."""
    cdef int64_t size
    cdef uint64_t head
    cdef int kind, layout, bits
    if block.at == block.end:
        block.is_bad = True
        return 0
    kind, layout = block.at[0] & 3, block.at[0] >> 2 & 3
    if kind == RAW or kind == RLE:
        if layout == 1:
            size = <int64_t>(little_endian(block, 2) >> 4)
        elif layout == 3:
            size = <int64_t>(little_endian(block, 3) >> 4)
        else:
            size = <int64_t>(little_endian(block, 1) >> 3)
        take(block, size if kind == RAW else 1)
        return size
    bits = 10 if layout < 2 else 14 if layout == 2 else 18
    head = little_endian(block, 3 if layout < 2 else layout + 2)
    take(block, <int64_t>(head >> (4 + bits) & ((1 << bits) - 1)))
    return <int64_t>(head >> 4 & ((1 << bits) - 1))


cdef void read_table(Cursor* block, int mode, int kind, FseTable* table) noexcept nogil:
    """Make the next table in the given mode. `block` becomes bad if there is none."""
    cdef int16_t shares[MAX_SYMBOLS]
    cdef int count
    if block.is_bad:
        return
    if mode == PREDEFINED:
        if kind == LITERALS:
            make_table(LITERALS_SHARES, DEFAULT_COUNT[kind], DEFAULT_LOG[kind], table)
        elif kind == OFFSETS:
            make_table(OFFSETS_SHARES, DEFAULT_COUNT[kind], DEFAULT_LOG[kind], table)
        else:
            make_table(MATCHES_SHARES, DEFAULT_COUNT[kind], DEFAULT_LOG[kind], table)
    elif mode == ONE_SYMBOL:
        table.log = 0
        table.cells[0] = Cell(0, <uint8_t>little_endian(block, 1), 0)
        if table.cells[0].symbol > MAX_SYMBOL[kind]:
            block.is_bad = True
    elif mode == DESCRIBED:
        count = read_shares(block, kind, shares, &table.log)
        if not block.is_bad:
            make_table(shares, count, table.log, table)
    elif table.log < 0:
        block.is_bad = True


cdef int read_shares(Cursor* block, int kind, int16_t* shares, int* log) noexcept nogil:
    """Read each symbol's share of the states, and return how many symbols are described. `block` moves behind
    the description."""
    cdef int64_t at = 4, size = block.end - block.at
    cdef int32_t left, value, low, threshold, share
    cdef int count = 0, width, zeros
    log[0] = <int>forwards(block, 0, 4) + 5
    left = 1 << log[0]
    if log[0] > MAX_LOG[kind]:
        block.is_bad = True
        return 0
    while left > 0 and count <= MAX_SYMBOL[kind]:
        width = bit_length(left + 1)
        value = <int32_t>forwards(block, at, width)
        low, threshold = value & ((1 << (width - 1)) - 1), (1 << width) - 2 - left
        at += width
        if low < threshold:
            at, value = at - 1, low
        elif value >= 1 << (width - 1):
            value -= threshold
        share = value - 1
        left -= share if share >= 0 else 1
        shares[count] = <int16_t>share
        count += 1
        zeros = 3 if share == 0 else 0
        while zeros == 3:
            zeros = <int>forwards(block, at, 2)
            at += 2
            if count + zeros > MAX_SYMBOL[kind] + 1:
                block.is_bad = True
                return 0
            memset(&shares[count], 0, zeros * sizeof(int16_t))
            count += zeros
    if left != 0:
        block.is_bad = True
    take(block, (at + 7) // 8)
    return count


cdef inline uint32_t forwards(Cursor* block, int64_t at, int count) noexcept nogil:
    """`count` bits (at most 16) that begin `at` bits behind the cursor. Bits behind its end are 0."""
    cdef const uint8_t* byte = block.at + (at >> 3)
    cdef uint32_t value = 0
    cdef int index
    for index in range(3):
        if byte + index < block.end:
            value |= <uint32_t>byte[index] << 8 * index
    return value >> (at & 7) & ((1 << count) - 1)


cdef inline int bit_length(uint32_t value) noexcept nogil:
    cdef int length = 0
    while value:
        value >>= 1
        length += 1
    return length


cdef void make_table(const int16_t* shares, int count, int log, FseTable* table) noexcept nogil:
    """Spread the symbols over the states as RFC 8878, 4.1.1, does. The shares add up to 1 << log."""
    cdef uint16_t following[MAX_SYMBOLS]
    cdef int size = 1 << log, high = 1 << log, pos = 0, symbol, index, step, state
    table.log = log
    for symbol in range(count):
        following[symbol] = 1 if shares[symbol] < 0 else shares[symbol]
        if shares[symbol] < 0:
            high -= 1
            table.cells[high].symbol = <uint8_t>symbol
    step = (size >> 1) + (size >> 3) + 3
    for symbol in range(count):
        for index in range(shares[symbol]):
            table.cells[pos].symbol = <uint8_t>symbol
            pos = (pos + step) & (size - 1)
            while pos >= high:
                pos = (pos + step) & (size - 1)
    for index in range(size):
        symbol = table.cells[index].symbol
        state = following[symbol]
        following[symbol] += 1
        table.cells[index].bits = <uint8_t>(log + 1 - bit_length(state))
        table.cells[index].base = <uint16_t>((state << table.cells[index].bits) - size)


cdef inline uint64_t read_bits(Backwards* stream, int count) noexcept nogil:
    """The `count` bits (at most 57) before the bits that were read. The first of them is the lowest."""
    cdef const uint8_t* byte
    cdef uint64_t value = 0
    cdef int index
    stream.left -= count
    if stream.left < 0:
        return 0
    byte = stream.data + (stream.left >> 3)
    if stream.end - byte >= 8:
        value = (
            <uint64_t>byte[0] | <uint64_t>byte[1] << 8 | <uint64_t>byte[2] << 16 | <uint64_t>byte[3] << 24
            | <uint64_t>byte[4] << 32 | <uint64_t>byte[5] << 40 | <uint64_t>byte[6] << 48 | <uint64_t>byte[7] << 56
        )
    else:
        for index in range(<int>(stream.end - byte)):
            value |= <uint64_t>byte[index] << 8 * index
    return value >> (stream.left & 7) & ((<uint64_t>1 << count) - 1)


cdef int64_t of_sequences(Cursor* block, int64_t count, int64_t literals, Frame* frame) noexcept nogil:
    """The decompressed size of a block, of its sequences and the literals after them; -1 if it is unsound."""
    cdef Backwards stream
    cdef const Cell* a
    cdef const Cell* b
    cdef const Cell* c
    cdef const uint8_t* last = block.end - 1
    cdef int64_t size = 0, length, match, offset
    cdef uint64_t bits
    if block.at == block.end or last[0] == 0:
        return -1
    stream.data, stream.end = block.at, block.end
    stream.left = 8 * (block.end - block.at) - 9 + bit_length(last[0])
    a = &frame.tables[LITERALS].cells[read_bits(&stream, frame.tables[LITERALS].log)]
    b = &frame.tables[OFFSETS].cells[read_bits(&stream, frame.tables[OFFSETS].log)]
    c = &frame.tables[MATCHES].cells[read_bits(&stream, frame.tables[MATCHES].log)]
    while True:
        offset = (<int64_t>1 << b.symbol) + <int64_t>read_bits(&stream, b.symbol)
        bits = read_bits(&stream, MATCHES_BITS[c.symbol] + LITERALS_BITS[a.symbol])
        length = LITERALS_BASE[a.symbol] + <int64_t>(bits & ((1 << LITERALS_BITS[a.symbol]) - 1))
        match = MATCHES_BASE[c.symbol] + <int64_t>(bits >> LITERALS_BITS[a.symbol])
        offset = read_offset(offset, length, frame.repeated)
        literals -= length
        size += length
        if stream.left < 0 or offset < 1 or offset > frame.window or offset > frame.written + size:
            return -1
        size += match
        count -= 1
        if literals < 0 or size > MAX_OF_A_BLOCK:
            return -1
        if count == 0:
            break
        bits = read_bits(&stream, a.bits + c.bits + b.bits)
        a = &frame.tables[LITERALS].cells[a.base + (bits >> (c.bits + b.bits))]
        c = &frame.tables[MATCHES].cells[c.base + (bits >> b.bits & ((1 << c.bits) - 1))]
        b = &frame.tables[OFFSETS].cells[b.base + (bits & ((1 << b.bits) - 1))]
    return size + literals if stream.left == 0 else -1


cdef inline int64_t read_offset(int64_t value, int64_t literals, int64_t* repeated) noexcept nogil:
    """How many bytes back a match begins. `repeated` has the latest offsets and is updated (RFC 8878,
    3.1.1.5)."""
    cdef int which
    cdef int64_t offset
    if value > 3:
        offset, which = value - 3, 3
    else:
        which = <int>value - 1 + (literals == 0)
        offset = repeated[which] if which < 3 else repeated[0] - 1
    if which == 0:
        return offset
    if which > 1:
        repeated[2] = repeated[1]
    repeated[1], repeated[0] = repeated[0], offset
    return offset
