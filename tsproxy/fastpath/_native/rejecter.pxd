from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t

from tsproxy.wire.readers._native.culprits cimport Columns
from tsproxy.wire.readers._native.cursor cimport Cursor
from tsproxy.fastpath._native.requests cimport ProduceHead, RequestFilter
from tsproxy.fastpath._native.rejections cimport Rejections
from tsproxy.fastpath._native.time_range cimport Span

cdef enum:
    MAX_PARTITIONS = 64

cdef struct Rejected:        # one partition of a request, and how it is rejected
    PyObject* rejections   # of its topic; the table keeps them alive
    const uint8_t* key
    int64_t key_size
    int32_t partition
    int32_t records
    int64_t size
    const uint8_t* producer
    int kind
    Span times
    Span at_fault
    Py_ssize_t bad_records
    Columns culprits       # one allocation, which begins at `times`


cdef class Rejecter:
    cdef readonly int throttle_ms
    cdef uint8_t* answers
    cdef Py_ssize_t size       # of the answers
    cdef Py_ssize_t capacity
    cdef int64_t records_left  # how many more may be rejected in this read
    cdef RequestFilter requests
    cdef Rejected rejected[MAX_PARTITIONS]
    cdef Py_ssize_t count      # of `rejected`

    cdef Py_ssize_t run(self, const uint8_t* data, Py_ssize_t size, int64_t now_ms) except -1
    cdef Py_ssize_t reject_some(self, const uint8_t* data, Py_ssize_t size, int64_t now_ms) except -1
    cdef void forget(self) noexcept
    cdef bint rejects(self, const uint8_t* payload, int64_t size, int64_t now_ms) except -1
    cdef bint rejects_all(self, Cursor* body, ProduceHead* head, int64_t now_ms) except -1
    cdef bint rejects_topic(self, Cursor* body, ProduceHead* head, int64_t now_ms) except -1
    cdef bint rejects_batch(
        self, Rejections rejections, const uint8_t* at, Rejected* rejected, int64_t now_ms
    ) except -1
    cdef bint is_short(self) noexcept
    cdef int64_t records(self) noexcept
    cdef int answer(self, ProduceHead* head, int64_t now_ms) except -1
    cdef Py_ssize_t end_of_topic(self, Py_ssize_t at) noexcept
    cdef Py_ssize_t most_bytes(self, int64_t now_ms) except -1
    cdef void free_answers(self) noexcept
    cdef int reserve(self, Py_ssize_t size) except -1
