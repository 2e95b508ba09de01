# cython: language_level=3, boundscheck=False, wraparound=False
"""What a block of lz4 unfolds to, as its sequences say: see `_twin/lz4.py`."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t

cdef enum:
    MIN_MATCH = 4
    EXTENDED = 15
    TOKEN_BITS = 4
    OFFSET_BYTES = 2
    STRIDE = 64


def lz4_unfolded(data):
    cdef Py_buffer view
    cdef const uint8_t* start
    cdef int64_t size
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    start = <const uint8_t*>view.buf
    size = unfolded(start, start + view.len)
    PyBuffer_Release(&view)
    return size


def holds_zeros(data):
    cdef Py_buffer view
    cdef bint found
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    found = are_in(<const uint8_t*>view.buf, view.len)
    PyBuffer_Release(&view)
    return found


cdef bint are_in(const uint8_t* data, Py_ssize_t size) noexcept nogil:
    """True for four zeros in a row. Whole strides are what a compiler makes vectors of."""
    cdef Py_ssize_t at = 0, index
    cdef uint8_t least, joined
    while at + STRIDE + 3 <= size:
        least = 0xFF
        for index in range(STRIDE):
            joined = data[at + index] | data[at + index + 1] | data[at + index + 2] | data[at + index + 3]
            least = joined if joined < least else least
        if least == 0:
            return True
        at += STRIDE
    while at + 3 < size:
        if not (data[at] or data[at + 1] or data[at + 2] or data[at + 3]):
            return True
        at += 1
    return False


cdef int64_t unfolded(const uint8_t* at, const uint8_t* end) noexcept nogil:
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
    """Where a length ends whose first four bits are known; one that is cut short becomes -1."""
    while at < end and at[0] == 0xFF:
        length[0] += 0xFF
        at += 1
    if at == end:
        length[0] = -1
        return end
    length[0] += at[0]
    return at + 1
