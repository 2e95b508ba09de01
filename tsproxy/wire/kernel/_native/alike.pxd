# Records of one batch are mostly alike: as long, with varints as wide, sizes and all, and no headers. What
# one that was read field by field has shown need not be looked for in the next: where the same bytes stand
# in the same places, the same is true. And where the next one begins is known before memory has told it.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef extern from "Python.h":
    Py_ssize_t SSIZE_MAX "PY_SSIZE_T_MAX"

cdef enum:
    HEAD_BYTES = 8       # in which all before a key must lie
    MOST_DELTA_BYTES = 2 # of a timestamp's
    RUN = 4              # so many alike make a shape worth asking for again at once;
    PAUSE = 64           # else so many records are read without asking

cdef struct Shape:
    Py_ssize_t reach     # how many bytes must be there for it to be asked for
    Py_ssize_t size      # of a record, its length field included
    uint64_t head        # its first bytes, as far as they are alike: its length, how wide its deltas are,
    uint64_t head_mask   # the size of its key
    Py_ssize_t value_size_at
    uint32_t value_size
    uint32_t value_size_mask
    int delta_shift
    uint64_t delta_mask

cdef void learn(Shape* shape, const uint8_t* at, const uint8_t* end) noexcept nogil


cdef inline uint32_t le32(const uint8_t* at) noexcept nogil:
    return at[0] | <uint32_t>at[1] << 8 | <uint32_t>at[2] << 16 | <uint32_t>at[3] << 24


cdef inline uint64_t le64(const uint8_t* at) noexcept nogil:
    """Eight bytes, the first one lowest: compilers make one load of it."""
    return le32(at) | <uint64_t>le32(at + 4) << 32


cdef inline uint64_t low_bytes(Py_ssize_t count) noexcept nogil:
    """A mask of so many, 8 at most."""
    return ~<uint64_t>0 >> (64 - 8 * count) if count else 0


cdef inline void begin_shape(Shape* shape) noexcept nogil:
    """That of no record."""
    shape.reach = SSIZE_MAX


cdef inline bint is_alike(Shape* shape, const uint8_t* at, Py_ssize_t left) noexcept nogil:
    """True for a record of that shape."""
    return (
        left >= shape.reach
        and (le64(at) ^ shape.head) & shape.head_mask == 0
        and (le32(at + shape.value_size_at) ^ shape.value_size) & shape.value_size_mask == 0
        and at[shape.size - 1] == 0
    )


cdef inline uint64_t delta_of(Shape* shape, const uint8_t* at) noexcept nogil:
    """The timestamp delta, of one byte or two, of a record that is alike."""
    cdef uint64_t raw = le64(at) >> shape.delta_shift & shape.delta_mask
    return (raw & 0x7F) | (raw >> 1 & 0x3F80)
