# The header of a v2 batch that is right for every broker and every rule; codec and times are not checked.

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t

from tsproxy.wire.readers._native.cursor cimport peek_int16, peek_int32, peek_int64

cdef enum:
    BATCH_HEADER = 61
    CODEC = 0x07                 # attribute bits 0 to 2
    TRANSACTIONAL = 0x10         # attribute bit 4


cdef inline int32_t records_of(const uint8_t* at) noexcept nogil:
    return peek_int32(at + 57)


cdef inline bint is_usual(
    const uint8_t* at, int64_t size, bint may_be_transactional, int32_t most_records
) noexcept nogil:
    """True if the header is usual, and belongs to one batch that fills `size`."""
    cdef int16_t allowed = TRANSACTIONAL if may_be_transactional else 0
    cdef int32_t count
    if size < BATCH_HEADER or peek_int64(at) != 0 or peek_int32(at + 8) != size - 12 or at[16] != 2:
        return False
    count = records_of(at)
    if peek_int16(at + 21) & ~(allowed | CODEC) or count < 1 or count > most_records:
        return False
    return peek_int32(at + 23) == count - 1 and (peek_int64(at + 43) < 0 or peek_int32(at + 53) >= 0)
