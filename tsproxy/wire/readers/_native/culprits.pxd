from libc.stdint cimport int32_t, int64_t, uint8_t

cdef struct Columns:       # of culprits: arrays with room for the same number
    int* positions
    long long* times
    long long* offset_deltas

cdef struct Pieces:        # the text before a time, between the time and the offset, and after the offset
    const uint8_t* before
    Py_ssize_t before_size
    const uint8_t* between
    Py_ssize_t between_size
    const uint8_t* after
    Py_ssize_t after_size

cdef Pieces pieces_of(bytes before, bytes between, bytes after) noexcept
cdef Py_ssize_t search(
    const uint8_t* at, const uint8_t* end, int64_t base_timestamp, int32_t count,
    int64_t lowest_ms, int64_t highest_ms, Py_ssize_t room, Columns columns,
) noexcept nogil
cdef Py_ssize_t most_bytes(Pieces* pieces) noexcept
cdef uint8_t* put_errors(
    uint8_t* at, Columns culprits, Py_ssize_t count, int64_t base_offset, Pieces* pieces, bint is_flexible
) noexcept nogil
