# cython: language_level=3, boundscheck=False, wraparound=False
"""The reading of headers. `record.pxd` reads the rest of a record inline."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from tsproxy.wire.readers._native.record cimport any_varint, sized, zigzag


cdef const uint8_t* headers(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """The end of the headers whose count is at `at`; NULL if they do not fit."""
    cdef uint64_t raw
    cdef int64_t count
    cdef bint runs_on
    at = any_varint(at, end, 5, &raw, &runs_on)
    if at == NULL:
        return NULL
    count = zigzag(raw)
    if count < 0 or count > end - at:
        return NULL
    while count > 0 and at != NULL:
        at = sized(at, end, False)
        if at != NULL:
            at = sized(at, end, True)
        count -= 1
    return at
