from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t

from tsproxy.wire.kernel._native.cursor cimport Cursor
from tsproxy.wire.kernel._native.in_flight cimport Entry, InFlight
from tsproxy.wire.kernel._native.table cimport Batch, Table
from tsproxy.wire.kernel._native.walk cimport Walked


cdef struct ProduceHead:   # all of a Produce request before its topics
    int16_t version
    int16_t acks
    int32_t correlation_id
    int64_t topics
    bint is_flexible


cdef class RequestLexer:
    cdef public Table table
    cdef public bint is_open
    cdef public Py_ssize_t most_in_flight
    cdef public int16_t oldest_produce
    cdef public int16_t newest_produce
    cdef readonly int64_t goes
    cdef InFlight in_flight
    cdef bytes relayed
    cdef bytes flexible_from
    cdef int64_t produce_frame
    cdef int64_t other_frame
    cdef object read_compressed

    cdef Py_ssize_t run(self, const uint8_t* data, Py_ssize_t size, int64_t now_ms) except -1
    cdef bint is_beginning(self, const uint8_t* data, Py_ssize_t size) noexcept
    cdef const uint8_t* fine(
        self, const uint8_t* at, const uint8_t* end, Py_ssize_t room, int64_t now_ms
    ) except NULL
    cdef int passes(self, const uint8_t* payload, int64_t size, int64_t now_ms) except -1
    cdef int relay_passes(self, Cursor* cursor, int64_t now_ms) except -1
    cdef bint is_offered(self, int16_t version) noexcept
    cdef bint begins_produce(self, Cursor* cursor, int64_t now_ms, ProduceHead* head) noexcept
    cdef int produce_passes(self, Cursor* body, int64_t now_ms) except -1
    cdef bint are_named_once(self, Py_ssize_t first) except -1
    cdef Py_ssize_t stage_topic(
        self, Cursor* body, bint is_flexible, Py_ssize_t guess, int64_t now_ms
    ) except? -2
    cdef int stage_partition(self, Cursor* body, bint is_flexible, Py_ssize_t row, int64_t now_ms) except -1
    cdef bint batch_is_fine(self, const uint8_t* at, int64_t size, Batch* batch, int64_t now_ms) except -1
    cdef bint walks_compressed(
        self, const uint8_t* at, int64_t size, int32_t count, Batch* batch, Walked* found
    ) except -1


cdef class AnswerLexer:
    cdef public bint is_open
    cdef InFlight in_flight

    cdef Py_ssize_t run(self, const uint8_t* data, Py_ssize_t size) except -1
    cdef bint is_slot_next(self) noexcept
    cdef bint begin(self, const uint8_t* at, const uint8_t* end) noexcept
    cdef bint may_pass(self, const uint8_t* payload, int64_t size) noexcept
    cdef int book_head(self) except -1
    cdef bint all_accepted(self, Cursor* answer, Entry* asked) noexcept
    cdef Py_ssize_t find(
        self, Entry* asked, const uint8_t* topic, int64_t topic_size, int32_t partition,
        Py_ssize_t expected, uint64_t seen
    ) noexcept
    cdef bint is_of(
        self, Entry* asked, Py_ssize_t index, const uint8_t* topic, int64_t topic_size, int32_t partition
    ) noexcept
    cdef void read_yes(self, Cursor* answer, int16_t version, bint is_flexible) noexcept
