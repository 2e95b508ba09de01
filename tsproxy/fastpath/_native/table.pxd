from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t

from tsproxy.fastpath._native.counts cimport Counts

cdef struct Row:
    const uint8_t* key       # the topic's name, or its id
    Py_ssize_t key_size
    bint is_bounded
    int64_t before_max_ms  # below 0: unlimited
    int64_t after_max_ms
    Counts counts

cdef struct Batch:
    int32_t row
    int32_t partition
    int32_t size_in_bytes
    int32_t records
    int8_t codec
    int64_t lowest_ms      # above `highest_ms` if no record carries a time
    int64_t highest_ms
    int64_t producer_id
    int16_t producer_epoch


cdef class Table:
    cdef readonly object peer
    cdef readonly object transactional_id
    cdef readonly bint names_ids
    cdef public Py_ssize_t in_flight
    cdef bytes client_id_bytes         # None for null
    cdef bytes transactional_id_bytes  # None for null
    cdef int32_t records_per_batch
    cdef Row* rows
    cdef Py_ssize_t count
    cdef Py_ssize_t capacity
    cdef dict index                    # key -> its row; keeps the keys alive
    cdef list keys
    cdef list topics
    cdef list limits
    cdef readonly object read_compressed
    cdef readonly object throttle
    cdef dict rejections               # key -> its Rejections

    cdef Py_ssize_t row_of(self, const uint8_t* key, Py_ssize_t size, Py_ssize_t guess)
    cdef int count_accepted(self, Batch* batch, int32_t correlation_id, int64_t now_ms) except -1
