from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t

from tsproxy.fastpath._native.in_flight cimport Entry, InFlight
from tsproxy.wire.readers._native.cursor cimport Cursor


cdef class AnswerFilter:
    cdef public bint is_open
    cdef InFlight in_flight

    cdef Py_ssize_t run(self, const uint8_t* data, Py_ssize_t size) except -1
    cdef bint is_slot_next(self) noexcept
    cdef bint begin(self, const uint8_t* at, const uint8_t* end) noexcept
    cdef bint is_forwardable(self, const uint8_t* payload, int64_t size) noexcept
    cdef bint names_no_nodes(self, const uint8_t* at, int64_t size, int layout) noexcept
    cdef int count_head(self) except -1
    cdef bint all_accepted(self, Cursor* answer, Entry* asked) noexcept
    cdef Py_ssize_t find(
        self, Entry* asked, const uint8_t* key, int64_t key_size, int32_t partition,
        Py_ssize_t expected, uint64_t seen
    ) noexcept
    cdef bint is_of(
        self, Entry* asked, Py_ssize_t index, const uint8_t* key, int64_t key_size, int32_t partition
    ) noexcept
    cdef void read_acceptance(self, Cursor* answer, int16_t version, bint is_flexible) noexcept
