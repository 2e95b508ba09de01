from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t

from tsproxy.fastpath._native.in_flight cimport InFlight
from tsproxy.fastpath._native.table cimport Batch, Table
from tsproxy.wire.readers._native.cursor cimport Cursor
from tsproxy.wire.readers._native.walk cimport Walked


cdef struct ProduceHead:   # a Produce request up to its topics
    int16_t version
    int16_t acks
    int32_t correlation_id
    int64_t topics
    bint is_flexible


cdef class Newest:
    cdef public int64_t number


cdef class RequestFilter:
    cdef public Table table
    cdef public bint is_open
    cdef public Py_ssize_t most_in_flight
    cdef public int16_t oldest_produce
    cdef public int16_t newest_produce
    cdef public Newest newest           # None: the session has the only view
    cdef public int64_t view_number
    cdef InFlight in_flight
    cdef bytes relayed
    cdef int64_t produce_frame
    cdef int64_t other_frame
    cdef object new_budget
    cdef object budget     # of the current read; None until one of its batches is decompressed
    cdef bint may_draw     # the current request has a batch that a draw decides about
    cdef bint has_decompressed  # a batch of the current request was decompressed
    cdef int64_t refused   # the number of the last such request that may not be forwarded; -1 for none

    cdef bint may_take(self) noexcept
    cdef Py_ssize_t run(self, const uint8_t* data, Py_ssize_t size, int64_t now_ms) except -1
    cdef bint is_beginning(self, const uint8_t* data, Py_ssize_t size) noexcept
    cdef const uint8_t* end_of_run(
        self, const uint8_t* at, const uint8_t* end, Py_ssize_t most, int64_t now_ms
    ) except NULL
    cdef int forwards(self, const uint8_t* payload, int64_t size, int64_t now_ms) except -1
    cdef int forwards_other(self, Cursor* cursor, int64_t now_ms) except -1
    cdef bint is_offered(self, int16_t version) noexcept
    cdef bint begins_produce(self, Cursor* cursor, int64_t now_ms, ProduceHead* head) noexcept
    cdef int forwards_produce(self, Cursor* body, int64_t now_ms) except -1
    cdef bint are_named_once(self, Py_ssize_t first) except -1
    cdef Py_ssize_t stage_topic(
        self, Cursor* body, ProduceHead* head, Py_ssize_t guess, int64_t now_ms
    ) except? -2
    cdef int stage_partition(
        self, Cursor* body, ProduceHead* head, Py_ssize_t row, int64_t now_ms
    ) except -1
    cdef bint is_acceptable(
        self, const uint8_t* at, int64_t size, int16_t version, Batch* batch, int64_t now_ms
    ) except -1
    cdef bint is_header_enough(self, const uint8_t* at, Batch* batch, int64_t now_ms) except -1
    cdef bint read_compressed(
        self, const uint8_t* at, int64_t size, int32_t count, Batch* batch, Walked* walked
    ) except -1
