# cython: language_level=3, boundscheck=False, wraparound=False
"""Decompresses one member of gzip with few blocks.

A block may be 14 bytes of codes that nothing uses. A decompressor makes tables for it, which takes 5 us, and
libraries do not count blocks. Here blocks are counted while they are decompressed. No read leaves the data
(`refill`), and no write leaves the room (`SPARE`).
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.ref cimport Py_DECREF, PyObject
from libc.stdint cimport INT64_MAX, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

cdef extern from "Python.h":
    PyObject* PyBytes_FromStringAndSize(const char*, Py_ssize_t) except NULL
    char* PyBytes_AS_STRING(PyObject*)
    int _PyBytes_Resize(PyObject**, Py_ssize_t) except -1

cdef extern from *:
    """
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define LOWEST_FIRST(bytes) __builtin_bswap32(bytes)
    #else
    #define LOWEST_FIRST(bytes) (bytes)
    #endif
    """
    uint32_t LOWEST_FIRST(uint32_t bytes) nogil

cdef enum:
    HEADER_BYTES = 10            # without a name, a comment or extra fields, which no producer writes
    TRAILER_BYTES = 8            # checksum and size of the content
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
    FIXED_LITERALS = 288         # two of them and of the distances mean nothing
    FIXED_DISTANCES = 32
    LITERAL_BITS = 11            # of an index into each kind of table; a longer code is read bit by bit
    DISTANCE_BITS = 9
    LENGTH_BITS = 7
    TABLE_SIZE = 1 << LITERAL_BITS
    WORTH_JOINING = 2048         # bytes that are left; for fewer, `join_literals` takes longer than it saves
    CHUNK = 16                   # bytes that are copied at once
    SPARE = 288                  # bytes behind the content: for ten literals, and a match of 258 in chunks

cdef enum Kind:
    LITERALS
    DISTANCES
    CODE_LENGTHS

# A Code says what the next bits mean: up to three literals, and perhaps a length or the block's end after
# them; or a distance.
ctypedef uint64_t Code

cdef enum:                       # the parts of a Code, from the lowest bit on
    BITS = 0x3F                  # how many bits, with those that follow a length or a distance
    IS_END = 1 << 6              # of the block
    IS_LONG = 1 << 7             # the code is too long for the table, or there is none
    OWN_BITS_AT = 8              # how many bits without those that follow
    VALUE_AT = 16                # the least length or distance; the symbol of a code of lengths
    VALUE = 0xFFFF
    COUNT_AT = 32                # how many literals
    COUNT = 3
    FOLLOWING_AT = 34            # the mask of the bits that follow a length
    FOLLOWING = 0x1F
    LITERALS_AT = 40             # the literals; the mask of the bits that follow a distance

cdef struct Codes:
    Code table[TABLE_SIZE]       # by the next bits
    Code longer[FIXED_LITERALS]  # of the codes that are too long for the table, in the order of the codes
    int16_t count[MOST_BITS + 1]  # of codes, by their length

cdef struct Bits:
    const uint8_t* at
    const uint8_t* end
    uint64_t word                # the next bits
    int have                     # of them; below 0 if more were read than there were

cdef struct Room:
    uint8_t* start
    uint8_t* at
    uint8_t* end                 # with SPARE bytes behind it

cdef Codes fixed_literals, fixed_distances  # of the blocks that describe none
cdef int* TABLE_BITS = [LITERAL_BITS, DISTANCE_BITS, LENGTH_BITS]  # by Kind
cdef uint8_t* ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
cdef uint8_t* LENGTH_EXTRA = [
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
]
cdef uint16_t* LENGTH_BASE = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195,
    227, 258,
]


def gzip_content(data, int64_t most_blocks, int64_t most):
    cdef Py_buffer view
    cdef PyObject* content
    cdef uint8_t* out
    cdef int64_t size
    cdef bint is_whole
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        size = size_in_trailer(<const uint8_t*>view.buf, view.len)
        if size > most:
            return None
        content = PyBytes_FromStringAndSize(NULL, size + SPARE)
        out = <uint8_t*>PyBytes_AS_STRING(content)
        with nogil:
            is_whole = inflate(&view, most_blocks, out, size)
        _PyBytes_Resize(&content, size)
        found = <object>content
        Py_DECREF(found)
        return found if is_whole else None
    finally:
        PyBuffer_Release(&view)


cdef int64_t size_in_trailer(const uint8_t* data, Py_ssize_t size) noexcept nogil:
    """The size of the content, in bytes; above any limit if this is no ordinary member."""
    if size < HEADER_BYTES + TRAILER_BYTES:
        return INT64_MAX
    if data[0] != 0x1F or data[1] != 0x8B or data[2] != 8 or data[3] != 0:
        return INT64_MAX
    data += size - 4
    return data[0] | data[1] << 8 | data[2] << 16 | <int64_t>data[3] << 24


cdef bint inflate(const Py_buffer* view, int64_t most_blocks, uint8_t* out, int64_t size) noexcept nogil:
    """Write the content. False if it does not have this size, for too many blocks, for damaged ones, and if
    there are other bytes between the last one and the trailer."""
    cdef Codes literals, distances
    cdef Bits bits
    cdef Room room
    cdef bint is_last = False
    bits.at, bits.word, bits.have = <const uint8_t*>view.buf + HEADER_BYTES, 0, 0
    bits.end = <const uint8_t*>view.buf + view.len - TRAILER_BYTES
    room.start, room.at, room.end = out, out, out + size
    while not is_last:
        is_last = read(&bits, 1)
        most_blocks -= 1
        if most_blocks < 0 or not of_block(&bits, &room, &literals, &distances):
            return False
    return room.at == room.end and bits.at - (bits.have >> 3) == bits.end


cdef bint of_block(Bits* bits, Room* room, Codes* literals, Codes* distances) noexcept nogil:
    """Write the next block's content. False if it is damaged, or does not fit into the room."""
    cdef int kind = <int>read(bits, 2)
    if kind == STORED:
        return stored(bits, room)
    if kind == FIXED:
        return coded(bits, room, &fixed_literals, &fixed_distances)
    if kind == DESCRIBED and describe(bits, literals, distances):
        return coded(bits, room, literals, distances)
    return False


cdef inline void refill(Bits* bits) noexcept nogil:
    """Have at least 56 bits, or all that there are."""
    cdef const uint8_t* at = bits.at
    if bits.end - at >= 8:  # so `have` is not below 0
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


cdef bint stored(Bits* bits, Room* room) noexcept nogil:
    cdef int64_t size
    drop(bits, bits.have & 7)
    size = <int64_t>read(bits, 16)
    if read(bits, 16) != size ^ 0xFFFF or bits.have < 0:
        return False
    bits.at -= bits.have >> 3  # whole bytes that were taken too early
    bits.word, bits.have = 0, 0
    if size > bits.end - bits.at or size > room.end - room.at:
        return False
    memcpy(room.at, bits.at, size)
    bits.at += size
    room.at += size
    return True


cdef bint coded(Bits* stream, Room* room, const Codes* literals, const Codes* distances) noexcept nogil:
    """Write what the codes of a block mean, up to its end. False if the bits or the room end before it."""
    cdef Bits bits = stream[0]  # copies stay in registers
    cdef uint8_t* at = room.at
    cdef Code code
    cdef int64_t size, distance
    while at <= room.end:  # each turn writes something, or is the last one
        refill(&bits)
        code = literals.table[bits.word & (TABLE_SIZE - 1)]
        at = write(at, code)
        if is_literals(code):
            drop(&bits, code & BITS)
            code = literals.table[bits.word & (TABLE_SIZE - 1)]
            at = write(at, code)
            if is_literals(code):
                drop(&bits, code & BITS)
                continue
        if code & IS_LONG:
            refill(&bits)
            code = long_code(bits.word, literals, LITERAL_BITS)
            at = write(at, code)
            if is_literals(code):
                drop(&bits, code & BITS)
                continue
        size = value_of(code, bits.word, code >> FOLLOWING_AT & FOLLOWING)
        drop(&bits, code & BITS)
        if code & IS_END:
            stream[0], room.at = bits, at
            return bits.have >= 0 and at <= room.end
        code = next_code(bits.word, distances, DISTANCE_BITS)  # 56 bits were enough for all since `refill`
        distance = value_of(code, bits.word, code >> LITERALS_AT)
        drop(&bits, code & BITS)
        if code & IS_LONG or size == 0 or distance > at - room.start:
            return False
        copy(at, distance, size)
        at += size
    return False


cdef inline bint is_literals(Code code) noexcept nogil:
    return code & (IS_END | IS_LONG | <Code>VALUE << VALUE_AT) == 0


cdef inline uint8_t* write(uint8_t* at, Code code) noexcept nogil:
    """Write the literals of a code, and return where they end. Always four bytes are written."""
    cdef uint32_t literals = LOWEST_FIRST(<uint32_t>(code >> LITERALS_AT))
    memcpy(at, &literals, 4)
    return at + (code >> COUNT_AT & COUNT)


cdef inline int64_t value_of(Code code, uint64_t word, uint64_t following) noexcept nogil:
    """A length or a distance, with the bits that follow its code."""
    return <int64_t>((code >> VALUE_AT & VALUE) + (word >> (code >> OWN_BITS_AT & BITS) & following))


cdef inline void copy(uint8_t* at, int64_t distance, int64_t size) noexcept nogil:
    """Copy bytes from `distance` bytes before: whole chunks, if they do not overlap."""
    cdef const uint8_t* source = at - distance
    cdef int64_t index = CHUNK
    if distance < CHUNK:
        copy_overlapping(at, distance, size)
        return
    memcpy(at, source, CHUNK)
    while index < size:
        memcpy(at + index, source + index, CHUNK)
        index += CHUNK


cdef void copy_overlapping(uint8_t* at, int64_t distance, int64_t size) noexcept nogil:
    cdef int64_t index
    if distance == 1:
        memset(at, at[-1], size)
    else:
        for index in range(size):
            at[index] = at[index - distance]


cdef inline Code next_code(uint64_t word, const Codes* codes, int table_bits) noexcept nogil:
    cdef Code code = codes.table[word & ((1 << table_bits) - 1)]
    return long_code(word, codes, table_bits) if code & IS_LONG else code


cdef Code long_code(uint64_t word, const Codes* codes, int table_bits) noexcept nogil:
    """The next code, if it is too long for the table; IS_LONG if there is none. Codes of one length are
    consecutive numbers, highest bit first (RFC 1951, 3.2.2)."""
    cdef int32_t code = 0, first = 0, longer = 0
    cdef int length
    for length in range(1, MOST_BITS + 1):
        code |= <int32_t>(word >> (length - 1) & 1)
        if code - first < codes.count[length]:
            return codes.longer[longer + code - first] if length > table_bits else IS_LONG
        first = first + codes.count[length] << 1
        if length > table_bits:
            longer += codes.count[length]
        code <<= 1
    return IS_LONG


cdef bint describe(Bits* bits, Codes* literals, Codes* distances) noexcept nogil:
    """Read the codes of a block. False if there are none."""
    cdef uint8_t lengths[MOST_LITERALS + MOST_DISTANCES]
    cdef uint8_t of_lengths[19]
    cdef Codes* codes = distances  # the lengths of codes are codes, too
    cdef Code code
    cdef int literal_count = <int>read(bits, 5) + 257
    cdef int distance_count = <int>read(bits, 5) + 1
    cdef int count = <int>read(bits, 4) + 4
    cdef int index = 0, again, symbol
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
        code = codes.table[bits.word & ((1 << LENGTH_BITS) - 1)]  # none is longer
        drop(bits, code & BITS)
        if code & IS_LONG or bits.have < 0:
            return False
        symbol = code >> VALUE_AT
        again, length = 1, <uint8_t>symbol
        if symbol == COPY_LAST:
            if index == 0:
                return False
            again, length = 3 + <int>read(bits, 2), lengths[index - 1]
        elif symbol == FEW_ZEROS:
            again, length = 3 + <int>read(bits, 3), 0
        elif symbol == MANY_ZEROS:
            again, length = 11 + <int>read(bits, 7), 0
        if again > literal_count + distance_count - index:
            return False
        memset(&lengths[index], length, again)
        index += again
    if not lengths[BLOCK_END]:
        return False
    if not make_codes(&lengths[literal_count], distance_count, DISTANCES, distances):
        return False
    if not make_codes(lengths, literal_count, LITERALS, literals):
        return False
    if bits.end - bits.at >= WORTH_JOINING:
        join_literals(literals)
    return True


cdef bint make_codes(const uint8_t* lengths, int count, Kind kind, Codes* codes) noexcept nogil:
    """Make codes of so many bits, one for each symbol that has some. False for too many codes, and as in zlib
    for too few: a single one of one bit may stand alone.

    The table grows with the length of the codes: each half begins as a copy of the table before, since
    shorter codes do not depend on the next bit.
    """
    cdef int16_t ordered[FIXED_LITERALS]  # the symbols, by length
    cdef int16_t place[MOST_BITS + 2]
    cdef int16_t* symbols = ordered
    cdef Code* longer = codes.longer
    cdef int32_t left = 1, code = 0
    cdef int symbol, length, index, longest = 0
    cdef int table_bits = TABLE_BITS[<int>kind]
    memset(codes.count, 0, sizeof(codes.count))
    for symbol in range(count):
        codes.count[lengths[symbol]] += 1
    codes.count[0] = 0
    place[1] = 0
    for length in range(1, MOST_BITS + 1):
        place[length + 1] = place[length] + codes.count[length]
        left = 2 * left - codes.count[length]
        if left < 0:
            return False
        if codes.count[length]:
            longest = length
    if left > 0 and longest > (kind != CODE_LENGTHS):
        return False
    for symbol in range(count):
        if lengths[symbol]:
            ordered[place[lengths[symbol]]] = symbol
            place[lengths[symbol]] += 1
    codes.table[0] = IS_LONG
    for length in range(1, table_bits + 1):
        memcpy(&codes.table[1 << (length - 1)], codes.table, sizeof(Code) << (length - 1))
        for index in range(codes.count[length]):
            codes.table[code] = of_symbol(kind, symbols[index], length)
            code = following(code, length)
        symbols += codes.count[length]
    for length in range(table_bits + 1, MOST_BITS + 1):
        for index in range(codes.count[length]):
            longer[index] = of_symbol(kind, symbols[index], length)
        longer += codes.count[length]
        symbols += codes.count[length]
    return True


cdef inline int32_t following(int32_t code, int length) noexcept nogil:
    """The next code of this length, or of a greater one. Codes begin with their highest bit, and the first
    bit is the lowest one of an index: so this adds 1 to the highest bit and carries downwards."""
    cdef int32_t bit = 1 << (length - 1)
    while code & bit:
        code ^= bit
        bit >>= 1
    return code | bit


cdef inline Code of_symbol(Kind kind, int symbol, int length) noexcept nogil:
    cdef Code code = length | length << OWN_BITS_AT
    cdef Code extra = 0, value = symbol
    if kind == LITERALS:
        if symbol < BLOCK_END:
            return code | <Code>symbol << LITERALS_AT | <Code>1 << COUNT_AT
        if symbol == BLOCK_END:
            return code | IS_END
        if symbol >= MOST_LITERALS:
            return IS_LONG
        extra, value = LENGTH_EXTRA[symbol - BLOCK_END - 1], LENGTH_BASE[symbol - BLOCK_END - 1]
        code |= ((<Code>1 << extra) - 1) << FOLLOWING_AT
    elif kind == DISTANCES:
        if symbol >= MOST_DISTANCES:
            return IS_LONG
        if symbol >= 4:
            extra = (symbol >> 1) - 1
            value = <Code>(2 + (symbol & 1)) << extra
        value += 1
        code |= ((<Code>1 << extra) - 1) << LITERALS_AT
    return (code | value << VALUE_AT) + extra


cdef void join_literals(Codes* codes) noexcept nogil:
    """Let each place of the table that stands for a literal stand for what follows it, too, if it fits: other
    literals, and then perhaps a length or the block's end."""
    cdef Code joined, other
    cdef int at, bits, count
    for at in range(TABLE_SIZE - 1, -1, -1):  # `other` stands before it, so it is not joined yet
        joined, count = codes.table[at], 1
        while is_literals(joined) and count < 3:
            bits = joined & BITS
            other = codes.table[at >> bits]
            if other & IS_LONG or bits + <int>(other >> OWN_BITS_AT & BITS) > LITERAL_BITS:
                break
            joined += other & ((<Code>1 << LITERALS_AT) - 1)
            joined |= other >> LITERALS_AT << LITERALS_AT << 8 * count
            count += 1
        codes.table[at] = joined


cdef void make_fixed_codes() noexcept nogil:
    cdef uint8_t lengths[FIXED_LITERALS]
    memset(lengths, 8, 144)
    memset(&lengths[144], 9, 112)
    memset(&lengths[256], 7, 24)
    memset(&lengths[280], 8, 8)
    make_codes(lengths, FIXED_LITERALS, LITERALS, &fixed_literals)
    memset(lengths, 5, FIXED_DISTANCES)
    make_codes(lengths, FIXED_DISTANCES, DISTANCES, &fixed_distances)


make_fixed_codes()
