# The reading of one plain record: its varints, where it ends, whether it is right.
#
# `wire/records.py` describes the layout and the faults. This code reads in the same way, without keys and
# values. `usual_record` reads nearly every record. `any_record` reads any record, varints byte by byte.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define tsproxy_prefetch(at) __builtin_prefetch(at)
    #else
    #define tsproxy_prefetch(at) ((void)0)
    #endif
    """
    void prefetch "tsproxy_prefetch"(const uint8_t* at) noexcept nogil

cdef enum:
    VARINT_BYTES = 4     # so many bytes must be there for a short varint
    FIELDS_BYTES = 32    # more bytes than five short varints, the attributes and a header count take
    AHEAD_BYTES = 512    # prefetched so far ahead, so that memory has answered before the read

cdef const uint8_t* headers(const uint8_t* at, const uint8_t* end) noexcept nogil

cdef struct Fields:          # of a record, as they stand there: `zigzag` makes numbers of them
    uint64_t length
    uint64_t delta
    uint64_t offset_delta
    uint64_t key_size
    uint64_t value_size

cdef const uint8_t* any_record(
    const uint8_t* at, const uint8_t* end, bint lengths_must_fit, Fields* fields
) noexcept nogil


cdef inline int64_t zigzag(uint64_t raw) noexcept nogil:
    return <int64_t>((raw >> 1) ^ (0 - (raw & 1)))


cdef inline const uint8_t* short_varint(const uint8_t* at, uint64_t* raw) noexcept nogil:
    """The end of a varint of one to three bytes, NULL for a longer one; VARINT_BYTES must be there."""
    if at[0] < 0x80:
        raw[0] = at[0]
        return at + 1
    if at[1] < 0x80:
        raw[0] = (at[0] & 0x7F) | <uint64_t>at[1] << 7
        return at + 2
    if at[2] < 0x80:
        raw[0] = (at[0] & 0x7F) | <uint64_t>(at[1] & 0x7F) << 7 | <uint64_t>at[2] << 14
        return at + 3
    return NULL


cdef inline const uint8_t* any_varint(
    const uint8_t* at, const uint8_t* end, int most_bytes, uint64_t* raw, bint* runs_on
) noexcept nogil:
    """The end of a varint; NULL if it is cut short, or longer than `most_bytes`: then `runs_on` is set."""
    cdef uint64_t value = 0
    cdef int shift = 0
    while at < end:
        value |= <uint64_t>(at[0] & 0x7F) << shift
        at += 1
        if at[-1] < 0x80:
            raw[0] = value if most_bytes > 5 else <uint32_t>value
            return at
        shift += 7
        if shift == 7 * most_bytes:
            runs_on[0] = True
            return NULL
    return NULL


cdef inline const uint8_t* payload(const uint8_t* at, const uint8_t* end, uint64_t* size) noexcept nogil:
    """The end of a varint size and that many bytes; NULL if they do not fit. A size below 0 has no bytes."""
    cdef bint runs_on
    at = any_varint(at, end, 5, size, &runs_on)
    if at == NULL or size[0] & 1:
        return at
    return at + (size[0] >> 1) if <int64_t>(size[0] >> 1) <= end - at else NULL


cdef inline const uint8_t* sized(
    const uint8_t* at, const uint8_t* end, bint may_be_null
) noexcept nogil:
    """The end of a varint size and that many bytes; NULL if they do not fit. A size below 0 is null."""
    cdef uint64_t size
    at = payload(at, end, &size)
    if at != NULL and size & 1 and not may_be_null:
        return NULL
    return at


cdef inline const uint8_t* usual_record(
    const uint8_t* at, const uint8_t* end, uint64_t* length, uint64_t* delta
) noexcept nogil:
    """The end of the record at `at` if it is usual, else NULL. A usual record fills its length, its varints
    before the headers are short, and at least FIELDS_BYTES bytes are there.

    The record's length gives the beginning of the next record, and is checked only afterwards. Meanwhile, the
    processor can go on with the next record.
    """
    cdef const uint8_t* record_end
    cdef uint64_t offset_delta, key_size, value_size
    if end - at < FIELDS_BYTES:
        return NULL
    prefetch(at + AHEAD_BYTES)
    at = short_varint(at, length)
    if at == NULL or length[0] & 1 or <int64_t>(length[0] >> 1) > end - at:
        return NULL
    record_end = at + (length[0] >> 1)
    at = short_varint(at + 1, delta)
    if at == NULL:
        return NULL
    at = short_varint(at, &offset_delta)
    if at == NULL:
        return NULL
    at = short_varint(at, &key_size)
    if at == NULL:
        return NULL
    if not key_size & 1:
        if <int64_t>(key_size >> 1) > end - at - VARINT_BYTES:
            return NULL
        at += key_size >> 1
    at = short_varint(at, &value_size)
    if at == NULL:
        return NULL
    value_size = 0 if value_size & 1 else value_size >> 1
    if <int64_t>value_size == record_end - at - 1:
        return record_end if record_end[-1] == 0 else NULL
    if <int64_t>value_size >= record_end - at or headers(at + value_size, record_end) != record_end:
        return NULL
    return record_end
