# One plain record: its varints, where it ends, whether it is as it should be.
#
# How a record is laid out and which fault is which stands in `wire/records.py`; this is the same
# reading, kept to what innocence needs. `read_usual` reads nearly every record there is, `any_record`
# whatever comes, byte by byte.

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
    SHORT_VARINT = 3
    FIELDS_BYTES = 32    # more than five short varints, the attributes and a header count take
    AHEAD_BYTES = 512    # of what is read: by when it is, memory has answered

cdef struct Fields:      # where each begins, as `read_usual` has found them
    const uint8_t* attributes
    const uint8_t* offset_delta
    const uint8_t* key_size
    const uint8_t* key
    const uint8_t* value_size
    const uint8_t* value
    const uint8_t* end
    bint has_headers


cdef inline int64_t zigzag(uint64_t raw) noexcept nogil:
    return <int64_t>((raw >> 1) ^ (0 - (raw & 1)))


cdef inline const uint8_t* short_varint(const uint8_t* at, uint64_t* raw) noexcept nogil:
    """Where a varint of one to three bytes ends, NULL for a longer one; all three must be there."""
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
    """Where a varint ends; NULL where it is cut short, or `runs_on` past `most_bytes`."""
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


cdef inline const uint8_t* sized(
    const uint8_t* at, const uint8_t* end, bint may_be_null
) noexcept nogil:
    """Where a varint size and that many bytes end. Below 0 is null; NULL where it does not fit."""
    cdef uint64_t raw
    cdef bint runs_on
    at = any_varint(at, end, 5, &raw, &runs_on)
    if at == NULL:
        return NULL
    if raw & 1:
        return at if may_be_null else NULL
    return at + (raw >> 1) if <int64_t>(raw >> 1) <= end - at else NULL


cdef inline const uint8_t* headers(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Where the headers end whose count is at `at`; NULL where they do not fit."""
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


cdef inline const uint8_t* any_record(
    const uint8_t* at, const uint8_t* end, bint lengths_must_fit, uint64_t* delta
) noexcept nogil:
    """Where the record at `at` ends, NULL where it is not whole or not right."""
    cdef const uint8_t* attributes
    cdef uint64_t length, offset_delta
    cdef bint runs_on
    attributes = at = any_varint(at, end, 5, &length, &runs_on)
    if at == NULL or at == end:
        return NULL
    at = any_varint(at + 1, end, 10, delta, &runs_on)
    if at != NULL:
        at = any_varint(at, end, 5, &offset_delta, &runs_on)
    if at != NULL:
        at = sized(at, end, True)
    if at != NULL:
        at = sized(at, end, True)
    if at != NULL:
        at = headers(at, end)
    if at != NULL and lengths_must_fit and at - attributes != zigzag(length):
        return NULL
    return at


cdef inline bint read_usual(
    const uint8_t* at, const uint8_t* end, Fields* its, uint64_t* delta
) noexcept nogil:
    """True for a record that fills its length, with short varints, well before the end.

    Where the next one begins is taken from its length and only then found to be true: the processor goes
    on from there meanwhile.
    """
    cdef uint64_t length, offset_delta, key_size, value_size
    if end - at < FIELDS_BYTES:
        return False
    its.attributes = short_varint(at, &length)
    if its.attributes == NULL or length & 1 or <int64_t>(length >> 1) > end - its.attributes:
        return False
    prefetch(at + AHEAD_BYTES)
    its.end = its.attributes + (length >> 1)
    its.offset_delta = short_varint(its.attributes + 1, delta)
    if its.offset_delta == NULL:
        return False
    its.key_size = short_varint(its.offset_delta, &offset_delta)
    if its.key_size == NULL:
        return False
    its.key = its.value_size = short_varint(its.key_size, &key_size)
    if its.key == NULL:
        return False
    if not key_size & 1:
        if <int64_t>(key_size >> 1) > end - its.key - SHORT_VARINT:
            return False
        its.value_size += key_size >> 1
    its.value = short_varint(its.value_size, &value_size)
    if its.value == NULL:
        return False
    value_size = 0 if value_size & 1 else value_size >> 1
    its.has_headers = <int64_t>value_size != its.end - its.value - 1
    if not its.has_headers:
        return its.end[-1] == 0
    return <int64_t>value_size < its.end - its.value and headers(its.value + value_size, its.end) == its.end
