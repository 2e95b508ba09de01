# cython: language_level=3, boundscheck=False, wraparound=False
"""The reading of headers, and of records that are not usual. `record.pxd` reads the usual ones inline."""

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


cdef const uint8_t* any_record(
    const uint8_t* at, const uint8_t* end, bint lengths_must_fit, Fields* fields
) noexcept nogil:
    """The end of the record at `at`; NULL if the record is not whole or not right."""
    cdef const uint8_t* attributes
    cdef bint runs_on
    attributes = at = any_varint(at, end, 5, &fields.length, &runs_on)
    if at == NULL or at >= end:
        return NULL
    at = any_varint(at + 1, end, 10, &fields.delta, &runs_on)
    if at != NULL:
        at = any_varint(at, end, 5, &fields.offset_delta, &runs_on)
    if at != NULL:
        at = payload(at, end, &fields.key_size)
    if at != NULL:
        at = payload(at, end, &fields.value_size)
    if at != NULL:
        at = at + 1 if at < end and at[0] == 0 else headers(at, end)
    if at != NULL and lengths_must_fit and at - attributes != zigzag(fields.length):
        return NULL
    return at
