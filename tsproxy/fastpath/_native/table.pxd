from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t

from tsproxy.fastpath._native.counts cimport Counts

cdef struct Row:
    const uint8_t* key       # the topic's name, or its id
    Py_ssize_t key_size
    bint is_bounded
    int64_t before_max_ms  # below 0: unlimited
    int64_t after_max_ms
    void* trust            # its TopicTrust, NULL if every compressed batch is read; `trusts` keeps it alive
    Counts counts

cdef struct Batch:
    int32_t row
    int32_t partition
    int32_t size_in_bytes
    int32_t records
    int8_t codec
    bint is_unread         # the times are those of the header
    int64_t lowest_ms      # above `highest_ms` if no record carries a time
    int64_t highest_ms
    int64_t producer_id
    int16_t producer_epoch


cdef class TopicTrust:
    cdef int32_t in_order       # compressed batches that were read and accepted in a row
    cdef int64_t compressed_ms  # the clock at the last compressed batch
    cdef int64_t read_until_ms  # the topic's penalty: every compressed batch is read until the clock shows this


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
    cdef list trusts
    cdef readonly object read_compressed
    cdef readonly object throttle
    cdef readonly object penalties     # a dict of the client's address; None for none
    cdef dict rejections               # key -> its Rejections
    cdef readonly list known_topics    # of rows and of rejections
    cdef uint64_t random               # the state of the draw

    cdef Py_ssize_t row_of(self, const uint8_t* key, Py_ssize_t size, Py_ssize_t guess)
    cdef int learn_penalty(self, Row* row, TopicTrust trust) except -1
    cdef bint may_stay_unread(self, Row* row, int64_t now_ms) except -1
    cdef int count_accepted(self, Batch* batch, int64_t request, int64_t now_ms) except -1
