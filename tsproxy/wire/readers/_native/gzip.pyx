# cython: language_level=3, boundscheck=False, wraparound=False
"""The decompressed size of a member of gzip, from its codes, and only if it has few blocks.

A block may be 14 bytes of codes that nothing uses, for which a decompressor makes tables for 5 us. Here such
blocks are counted, before anything is decompressed. No read leaves the data (`refill`).
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memset

cdef enum:
    HEADER_BYTES = 10            # without a name, a comment or extra fields, which no producer writes
    STORED = 0                   # the kinds of block
    FIXED = 1
    DESCRIBED = 2
    COPY_LAST = 16               # lengths of codes: the last one again, or a run of zeros
    FEW_ZEROS = 17
    MANY_ZEROS = 18
    BLOCK_END = 256
    MOST_BITS = 15               # of a code
    MOST_LITERALS = 286          # codes for literals, lengths and the end of a block
    MOST_DISTANCES = 30
    FIXED_LITERALS = 288
    TABLE_BITS = 10              # a longer code is read bit by bit
    TABLE_SIZE = 1024
    SHORTEST_MATCH = 3

cdef enum Kind:
    LITERALS
    DISTANCES
    CODE_LENGTHS

cdef struct Code:
    uint8_t bits                 # with those that follow a length or a distance; 0: not in the table
    uint8_t extra                # so many of them follow
    uint16_t size                # bytes: 1 for a literal, 2 for two of them, 0 for the block's end

cdef struct Codes:
    Code table[TABLE_SIZE]       # by the next bits
    Code longer[FIXED_LITERALS]  # of the codes that are too long for the table, in the order of the codes
    int16_t count[MOST_BITS + 1]  # of codes, by their length

cdef struct Bits:
    const uint8_t* at
    const uint8_t* end
    uint64_t word                # the next bits
    int have                     # of them; below 0 if more were read than there were

cdef uint8_t* ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
cdef uint8_t* LENGTH_EXTRA = [
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
]
cdef uint16_t* LENGTH_BASE = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195,
    227, 258,
]


def gzip_size(data, int64_t most_blocks, int64_t most):
    cdef Py_buffer view
    cdef int64_t size
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    with nogil:
        size = of_member(<const uint8_t*>view.buf, view.len, most_blocks, most)
    PyBuffer_Release(&view)
    return size


cdef int64_t of_member(
    const uint8_t* data, Py_ssize_t size, int64_t most_blocks, int64_t most
) noexcept nogil:
    cdef Codes literals, distances
    cdef Bits bits
    cdef int64_t written = 0
    cdef bint is_last = False
    if size < HEADER_BYTES or data[0] != 0x1F or data[1] != 0x8B or data[2] != 8 or data[3] != 0:
        return -1
    bits.at, bits.end, bits.word, bits.have = data + HEADER_BYTES, data + size, 0, 0
    while not is_last:
        is_last = read(&bits, 1)
        written = of_block(&bits, written, most, &literals, &distances)
        most_blocks -= 1
        if written < 0 or most_blocks < 0:
            return -1
    return written


cdef int64_t of_block(
    Bits* bits, int64_t written, int64_t most, Codes* literals, Codes* distances
) noexcept nogil:
    """`written` and the size of the next block; -1 for a damaged block, or if that is above `most`."""
    cdef int kind = <int>read(bits, 2)
    if kind == STORED:
        written += stored(bits)
    elif kind == FIXED:
        fix(literals, distances)
        written = of_codes(bits, written, most, literals, distances)
    elif kind != DESCRIBED or not describe(bits, literals, distances):
        return -1
    else:
        written = of_codes(bits, written, most, literals, distances)
    return -1 if bits.have < 0 or written > most else written


cdef inline void refill(Bits* bits) noexcept nogil:
    """Have at least 48 bits, or all that there are."""
    cdef const uint8_t* at = bits.at
    if bits.have >= 48:
        return
    if bits.end - at >= 8 and bits.have >= 0:
        bits.word |= (
            <uint64_t>at[0] | <uint64_t>at[1] << 8 | <uint64_t>at[2] << 16 | <uint64_t>at[3] << 24
            | <uint64_t>at[4] << 32 | <uint64_t>at[5] << 40 | <uint64_t>at[6] << 48 | <uint64_t>at[7] << 56
        ) << bits.have
        bits.at += (63 - bits.have) >> 3
        bits.have |= 56
        return
    while bits.at < bits.end and 0 <= bits.have < 56:
        bits.word |= <uint64_t>bits.at[0] << bits.have
        bits.at += 1
        bits.have += 8


cdef inline void drop(Bits* bits, int count) noexcept nogil:
    bits.word >>= count
    bits.have -= count


cdef inline uint64_t read(Bits* bits, int count) noexcept nogil:
    """The next `count` bits, at most 16."""
    cdef uint64_t value
    refill(bits)
    value = bits.word & ((<uint64_t>1 << count) - 1)
    drop(bits, count)
    return value


cdef int64_t stored(Bits* bits) noexcept nogil:
    """Step over the bytes of a stored block, and return how many there are. `bits.have` is then below 0 if
    they are not there."""
    cdef int64_t size
    drop(bits, bits.have & 7)
    size = <int64_t>read(bits, 16)
    if read(bits, 16) != size ^ 0xFFFF or bits.have < 0:
        bits.have = -1
        return 0
    bits.at -= bits.have >> 3  # whole bytes that were taken too early
    bits.word, bits.have = 0, 0
    if size > bits.end - bits.at:
        bits.have = -1
        return 0
    bits.at += size
    return size


cdef int64_t of_codes(
    Bits* stream, int64_t written, int64_t most, const Codes* literals, const Codes* distances
) noexcept nogil:
    """`written` and the size of a block's codes up to its end. The bits may end before it."""
    cdef Bits bits = stream[0]  # a copy stays in registers
    cdef Code code
    while written <= most and bits.have >= 0:
        refill(&bits)
        code = next_code(bits.word, literals)
        if code.size >= SHORTEST_MATCH:
            written += code.size + <int64_t>(bits.word >> (code.bits - code.extra) & ((1 << code.extra) - 1))
            drop(&bits, code.bits)
            code = next_code(bits.word, distances)  # 48 bits are enough for both
        else:
            written += code.size
        drop(&bits, code.bits)
        if code.bits == 0:
            return -1
        if code.size == 0:
            break
    stream[0] = bits
    return written


cdef inline Code next_code(uint64_t word, const Codes* codes) noexcept nogil:
    cdef Code code = codes.table[word & (TABLE_SIZE - 1)]
    return code if code.bits else long_code(word, codes)


cdef Code long_code(uint64_t word, const Codes* codes) noexcept nogil:
    """The next code, if it is too long for the table. Codes of one length are consecutive numbers, highest
    bit first (RFC 1951, 3.2.2)."""
    cdef int32_t code = 0, first = 0, longer = 0
    cdef int length
    for length in range(1, MOST_BITS + 1):
        code |= <int32_t>(word >> (length - 1) & 1)
        if code - first < codes.count[length]:
            if length <= TABLE_BITS:
                break  # is in the table
            return codes.longer[longer + code - first]
        first = first + codes.count[length] << 1
        if length > TABLE_BITS:
            longer += codes.count[length]
        code <<= 1
    return Code(0, 0, 0)


cdef bint describe(Bits* bits, Codes* literals, Codes* distances) noexcept nogil:
    """Read the codes of a block. False if there are none."""
    cdef uint8_t lengths[MOST_LITERALS + MOST_DISTANCES]
    cdef uint8_t of_lengths[19]
    cdef Codes* codes = distances  # the lengths of codes are codes, too
    cdef Code code
    cdef int literal_count = <int>read(bits, 5) + 257
    cdef int distance_count = <int>read(bits, 5) + 1
    cdef int count = <int>read(bits, 4) + 4
    cdef int index = 0, again
    cdef uint8_t length
    if literal_count > MOST_LITERALS or distance_count > MOST_DISTANCES:
        return False
    memset(of_lengths, 0, sizeof(of_lengths))
    for index in range(count):
        of_lengths[ORDER[index]] = <uint8_t>read(bits, 3)
    if not make_codes(of_lengths, 19, CODE_LENGTHS, codes):
        return False
    index = 0
    while index < literal_count + distance_count:
        refill(bits)
        code = next_code(bits.word, codes)
        drop(bits, code.bits)
        if code.bits == 0 or bits.have < 0:
            return False
        again, length = 1, <uint8_t>code.size
        if code.size == COPY_LAST:
            if index == 0:
                return False
            again, length = 3 + <int>read(bits, 2), lengths[index - 1]
        elif code.size == FEW_ZEROS:
            again, length = 3 + <int>read(bits, 3), 0
        elif code.size == MANY_ZEROS:
            again, length = 11 + <int>read(bits, 7), 0
        if again > literal_count + distance_count - index:
            return False
        memset(&lengths[index], length, again)
        index += again
    if not make_codes(&lengths[literal_count], distance_count, DISTANCES, distances):
        return False
    return make_codes(lengths, literal_count, LITERALS, literals)


cdef void fix(Codes* literals, Codes* distances) noexcept nogil:
    """The codes of a block that describes none."""
    cdef uint8_t lengths[FIXED_LITERALS]
    memset(lengths, 8, 144)
    memset(&lengths[144], 9, 112)
    memset(&lengths[256], 7, 24)
    memset(&lengths[280], 8, 8)
    make_codes(lengths, FIXED_LITERALS, LITERALS, literals)
    memset(lengths, 5, MOST_DISTANCES)
    make_codes(lengths, MOST_DISTANCES, DISTANCES, distances)


cdef bint make_codes(const uint8_t* lengths, int count, Kind kind, Codes* codes) noexcept nogil:
    """Make codes of so many bits, one for each symbol that has some. False if there are too many codes."""
    cdef int32_t following[MOST_BITS + 1]  # the next code of each length
    cdef int32_t code = 0, left = 1
    cdef int symbol, length, longer = 0, at
    cdef Code meant
    memset(codes.count, 0, sizeof(codes.count))
    memset(codes.table, 0, sizeof(codes.table))
    for symbol in range(count):
        codes.count[lengths[symbol]] += 1
    codes.count[0] = 0
    for length in range(1, MOST_BITS + 1):
        code = code + codes.count[length - 1] << 1
        following[length] = code
        left = 2 * left - codes.count[length]
        if left < 0:
            return False
    for symbol in range(count):
        length = lengths[symbol]
        if 0 < length <= TABLE_BITS:
            meant = of_symbol(kind, symbol, length)
            at = reversed_bits(following[length], length)
            following[length] += 1
            while at < TABLE_SIZE:
                codes.table[at] = meant
                at += 1 << length
    for length in range(TABLE_BITS + 1, MOST_BITS + 1):
        for symbol in range(count if codes.count[length] else 0):
            if lengths[symbol] == length:
                codes.longer[longer] = of_symbol(kind, symbol, length)
                longer += 1
    if kind == LITERALS:
        join_literals(codes)
    return True


cdef inline int reversed_bits(int32_t code, int length) noexcept nogil:
    cdef int found = 0, index
    for index in range(length):
        found = found << 1 | code >> index & 1
    return found


cdef inline Code of_symbol(Kind kind, int symbol, int length) noexcept nogil:
    cdef int extra = 0, size = symbol
    if kind == LITERALS:
        if symbol >= MOST_LITERALS:
            return Code(0, 0, 0)
        if symbol > BLOCK_END:
            extra, size = LENGTH_EXTRA[symbol - BLOCK_END - 1], LENGTH_BASE[symbol - BLOCK_END - 1]
        else:
            size = symbol != BLOCK_END
    elif kind == DISTANCES:
        extra, size = (0 if symbol < 4 else (symbol >> 1) - 1), 1
    return Code(<uint8_t>(length + extra), <uint8_t>extra, <uint16_t>size)


cdef void join_literals(Codes* codes) noexcept nogil:
    """Let a place of the table stand for two literals, if both fit: most codes are of literals."""
    cdef Code first, second
    cdef int at
    for at in range(TABLE_SIZE - 1, -1, -1):  # the second one stands before the first, so it is a single one
        first = codes.table[at]
        second = codes.table[at >> first.bits]
        if first.size == 1 and second.size == 1 and first.bits + second.bits <= TABLE_BITS:
            codes.table[at] = Code(first.bits + second.bits, 0, 2)
