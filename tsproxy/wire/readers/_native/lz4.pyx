# cython: language_level=3, boundscheck=False, wraparound=False
"""The decompressed size of a block of lz4, from its sequences."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t, uint64_t, uintptr_t
from libc.string cimport memcpy

cdef enum:
    MIN_MATCH = 4
    EXTENDED = 15
    TOKEN_BITS = 4
    OFFSET_BYTES = 2
    LANES = 16                   # bytes of a vector on x86-64 and ARM64
    CHUNK = 128                  # eight vectors


def lz4_size(data):
    cdef Py_buffer view
    cdef const uint8_t* start
    cdef int64_t size
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    start = <const uint8_t*>view.buf
    size = decompressed_size(start, start + view.len)
    PyBuffer_Release(&view)
    return size


def holds_zeros(data):
    cdef Py_buffer view
    cdef bint has_zeros
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    has_zeros = are_in(<const uint8_t*>view.buf, view.len)
    PyBuffer_Release(&view)
    return has_zeros


cdef bint are_in(const uint8_t* data, Py_ssize_t size) noexcept nogil:
    """True if the data has four zeros in a row.

    Four zeros always contain a pair of zeros at an even address. A chunk without such a pair is read only
    once. `begin_in_chunk`, which reads each byte four times, is for the other chunks.
    """
    cdef Py_ssize_t at = LANES - (<uintptr_t>data & (LANES - 1))
    if size < CHUNK + LANES + 2:
        return begin_in(data, size - 3)
    if begin_in(data, at):
        return True
    while at + CHUNK + 2 <= size:
        # If the pair is in the chunk, its four zeros begin in the chunk or one byte before it.
        if may_hold_pair(data + at) and begin_in_chunk(data + at - 1):
            return True
        at += CHUNK
    return begin_in(data + at - 1, size - at - 2)


cdef inline bint may_hold_pair(const uint8_t* data) noexcept nogil:
    """False if no pair of zeros is at an even place of this chunk. True if there is such a pair. Also true if
    one vector of the chunk has the first zero of a pair, and another vector has the second one.

    The function compares only the least bytes of the eight vectors with zero, not each vector. A compiler
    makes vector instructions of the loop.
    """
    cdef uint8_t least[LANES]
    cdef uint8_t first, second, third, fourth
    cdef uint64_t words[2]
    cdef Py_ssize_t lane
    for lane in range(LANES):
        first = lesser(data[lane], data[lane + LANES])
        second = lesser(data[lane + 2 * LANES], data[lane + 3 * LANES])
        third = lesser(data[lane + 4 * LANES], data[lane + 5 * LANES])
        fourth = lesser(data[lane + 6 * LANES], data[lane + 7 * LANES])
        least[lane] = lesser(lesser(first, second), lesser(third, fourth))
    memcpy(words, least, LANES)
    return (holds_low(words[0]) | holds_low(words[1])) & <uint64_t>0x8000800080008000 != 0


cdef inline uint8_t lesser(uint8_t one, uint8_t other) noexcept nogil:
    return one if one < other else other


cdef inline uint64_t holds_low(uint64_t word) noexcept nogil:
    """A word where the highest bit of some 16-bit lane is set if and only if one of the four lanes is 0."""
    return (word - <uint64_t>0x0001000100010001) & ~word


cdef bint begin_in_chunk(const uint8_t* data) noexcept nogil:
    """The same as `begin_in` for a count of CHUNK. A compiler makes vector instructions of the loop."""
    cdef Py_ssize_t at
    cdef uint8_t least = 0xFF
    for at in range(CHUNK):
        least = lesser(least, data[at] | data[at + 1] | data[at + 2] | data[at + 3])
    return least == 0


cdef bint begin_in(const uint8_t* data, Py_ssize_t count) noexcept nogil:
    """True if four zeros begin at one of the first `count` bytes. Three more bytes must follow them."""
    cdef Py_ssize_t at
    for at in range(count):
        if not (data[at] or data[at + 1] or data[at + 2] or data[at + 3]):
            return True
    return False


cdef int64_t decompressed_size(const uint8_t* at, const uint8_t* end) noexcept nogil:
    cdef int64_t written = 0, length
    cdef int offset, token
    while at < end:
        token = at[0]
        at += 1
        length = token >> TOKEN_BITS
        if length == EXTENDED:
            at = read_length(at, end, &length)
        if length < 0 or length > end - at:
            return -1
        at += length
        written += length
        if at == end:
            return written
        if end - at < OFFSET_BYTES:
            return -1
        offset = at[0] | at[1] << 8
        at += OFFSET_BYTES
        if offset == 0 or offset > written:
            return -1
        length = token & EXTENDED
        if length == EXTENDED:
            at = read_length(at, end, &length)
        if length < 0:
            return -1
        written += length + MIN_MATCH
    return -1


cdef inline const uint8_t* read_length(const uint8_t* at, const uint8_t* end, int64_t* length) noexcept nogil:
    """The end of a length whose first four bits are known; a length that is cut short becomes -1."""
    while at < end and at[0] == 0xFF:
        length[0] += 0xFF
        at += 1
    if at == end:
        length[0] = -1
        return end
    length[0] += at[0]
    return at + 1
