# cython: language_level=3, boundscheck=False, wraparound=False
"""What records that are alike have in common, learnt from one of them; how it is used stands in `alike.pxd`."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tsproxy.wire.kernel._native.record cimport VARINT_BYTES, short_varint

cdef uint64_t RUNS_ON = 0x8080808080808080ULL


cdef void learn(Shape* shape, const uint8_t* at, const uint8_t* end) noexcept nogil:
    """The shape of the record from `at` to `end`, which `usual_record` has read; none where it has headers."""
    cdef uint64_t length, delta, offset_delta, key_size = 1, value_size = 1
    cdef const uint8_t* delta_at = short_varint(at, &length) + 1
    cdef const uint8_t* offset_delta_at = short_varint(delta_at, &delta)
    cdef const uint8_t* key_size_at = short_varint(offset_delta_at, &offset_delta)
    cdef const uint8_t* key = short_varint(key_size_at, &key_size)
    cdef const uint8_t* value_size_at = key if key_size & 1 else key + (key_size >> 1)
    cdef const uint8_t* value = short_varint(value_size_at, &value_size)
    cdef const uint8_t* value_end = value if value_size & 1 else value + (value_size >> 1)
    if value_end + 1 != end or key - at > HEAD_BYTES or offset_delta_at - delta_at > MOST_DELTA_BYTES:
        begin_shape(shape)
        return
    shape.head_mask = low_bytes(delta_at - 1 - at)
    shape.head_mask |= RUNS_ON & low_bytes(key_size_at - at) & ~low_bytes(delta_at - at)
    shape.head_mask |= low_bytes(key - at) & ~low_bytes(key_size_at - at)
    shape.head = le64(at) & shape.head_mask
    shape.value_size_at = value_size_at - at
    shape.value_size_mask = <uint32_t>low_bytes(value - value_size_at)
    shape.value_size = le32(value_size_at) & shape.value_size_mask
    shape.delta_shift = 8 * <int>(delta_at - at)
    shape.delta_mask = low_bytes(offset_delta_at - delta_at)
    shape.size = end - at
    shape.reach = max(HEAD_BYTES, shape.size, shape.value_size_at + VARINT_BYTES)
