# A cursor over a frame: Kafka's primitive types, each read checked against the frame's end.
#
# A read past the end makes the cursor `is_bad` for good, and so does a varint that no encoder writes. The
# value that such a read returns means nothing. So a caller may read on, and check `is_bad` once before it
# uses a value.
# The types are those of `wire/primitives.py`.

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef struct Cursor:
    const uint8_t* at
    const uint8_t* end
    bint is_bad


cdef inline uint32_t peek_uint32(const uint8_t* at) noexcept nogil:
    return <uint32_t>at[0] << 24 | <uint32_t>at[1] << 16 | <uint32_t>at[2] << 8 | at[3]


cdef inline int32_t peek_int32(const uint8_t* at) noexcept nogil:
    return <int32_t>peek_uint32(at)


cdef inline int16_t peek_int16(const uint8_t* at) noexcept nogil:
    return <int16_t>(<uint16_t>at[0] << 8 | at[1])


cdef inline int64_t peek_int64(const uint8_t* at) noexcept nogil:
    return <int64_t>(<uint64_t>peek_uint32(at) << 32 | peek_uint32(at + 4))


cdef inline const uint8_t* take(Cursor* cursor, int64_t size) noexcept nogil:
    """The next `size` bytes, or NULL if they are not there. The cursor moves behind them."""
    cdef const uint8_t* start = cursor.at
    if size < 0 or size > cursor.end - start:
        cursor.is_bad = True
        return NULL
    cursor.at = start + size
    return start


cdef inline int16_t read_int16(Cursor* cursor) noexcept nogil:
    cdef const uint8_t* at = take(cursor, 2)
    return 0 if at == NULL else peek_int16(at)


cdef inline int32_t read_int32(Cursor* cursor) noexcept nogil:
    cdef const uint8_t* at = take(cursor, 4)
    return 0 if at == NULL else peek_int32(at)


cdef inline int64_t read_uvarint(Cursor* cursor) noexcept nogil:
    """An unsigned varint below 2^32 in as few bytes as it needs."""
    cdef uint64_t value = 0
    cdef int shift = 0
    cdef const uint8_t* at
    while shift < 35:
        at = take(cursor, 1)
        if at == NULL:
            return 0
        value |= <uint64_t>(at[0] & 0x7F) << shift
        if at[0] < 0x80:
            if value >> 32 or (at[0] == 0 and shift):
                break
            return <int64_t>value
        shift += 7
    cursor.is_bad = True
    return 0


cdef inline int64_t read_string_size(Cursor* cursor, bint is_flexible) noexcept nogil:
    return read_uvarint(cursor) - 1 if is_flexible else read_int16(cursor)


cdef inline int64_t read_size(Cursor* cursor, bint is_flexible) noexcept nogil:
    """The size of an array or of bytes; a size below 0 is null."""
    return read_uvarint(cursor) - 1 if is_flexible else read_int32(cursor)


cdef inline void no_tags(Cursor* cursor, bint is_flexible) noexcept nogil:
    cdef const uint8_t* at
    if is_flexible:
        at = take(cursor, 1)
        if at != NULL and at[0] != 0:
            cursor.is_bad = True


cdef inline bint is_whole(Cursor* cursor) noexcept nogil:
    """True if all reads succeeded, and nothing is left."""
    return not cursor.is_bad and cursor.at == cursor.end
