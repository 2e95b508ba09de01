from cpython.ref cimport PyObject
from libc.stdint cimport int16_t, int32_t, int64_t

from tsproxy.fastpath._native.table cimport Batch, Table
from tsproxy.wire.readers._native.fetch cimport FetchWalk

cdef enum Kind:
    SLOT      # of the session; `owner` is the slot
    RELAY     # forwarded by the fast path; there is no `owner`
    FETCH     # the same, and the end of its answer may name brokers; from here in the order of `Layout`
    SHARE_FETCH_0
    SHARE_FETCH
    PRODUCE   # forwarded by the fast path; `owner` is the table that it was forwarded by

cdef struct Entry:
    Kind kind
    int16_t api_version
    int16_t acks
    int32_t correlation_id
    int32_t batches
    int64_t now_ms     # of a SLOT: the memory of the slot, in bytes
    PyObject* owner    # a counted reference


cdef class InFlight:
    cdef object slot_of
    cdef Entry* entries      # a ring; its capacity is 0 or a power of two
    cdef Py_ssize_t capacity
    cdef Py_ssize_t first
    cdef Py_ssize_t count
    cdef Batch* batches      # a ring, too: the batches of all entries, in order
    cdef Py_ssize_t batch_capacity
    cdef Py_ssize_t first_batch
    cdef Py_ssize_t batch_count
    cdef public int64_t streaming
    cdef readonly FetchWalk fetch
    cdef readonly int64_t answered
    cdef int64_t slot_bytes  # the memory of all slots of the session

    cdef Entry* entry(self, Py_ssize_t index) noexcept
    cdef Batch* batch(self, Py_ssize_t index) noexcept
    cdef Batch* stage(self) except NULL
    cdef void unstage(self, Py_ssize_t count) noexcept
    cdef void free_batches(self) noexcept
    cdef int add(self, Entry entry) except -1
    cdef void drop(self) noexcept
    cdef object forwarded(self, Entry* entry)
