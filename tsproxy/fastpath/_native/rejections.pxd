from libc.stdint cimport int32_t, int64_t

from tsproxy.fastpath._native.counts cimport Counts
from tsproxy.fastpath._native.time_range cimport Span
from tsproxy.wire.readers._native.culprits cimport Pieces

cdef enum:
    MAX_KINDS = 8

cdef struct Kind:
    Span first_ms          # the range of the culprits' times
    int64_t from_ms        # of the clock
    int64_t until_ms
    int error_code
    Counts counts
    int64_t bad_records
    int64_t culprit_ms


cdef class Freshness:
    cdef public int64_t asked_ms
    cdef public int64_t until_ms


cdef class Rejections:
    cdef readonly object limits
    cdef int64_t before_max_ms   # below 0: unlimited
    cdef int64_t after_max_ms
    cdef int64_t max_message_bytes
    cdef Kind kinds[MAX_KINDS]
    cdef list rejections         # one for each kind
    cdef list messages           # as bytes
    cdef Py_ssize_t most_listed
    cdef int64_t until_ms        # of the kind that lasts longest
    cdef Freshness freshness     # None if the limits are never old
    cdef Pieces words            # at the time `words_ms`; `pieces` stores their bytes
    cdef tuple pieces
    cdef int64_t words_ms

    cdef Py_ssize_t held_bytes(self)
    cdef bint hold(self, int64_t now_ms) noexcept
    cdef Span bounds(self, int64_t now_ms) noexcept
    cdef bytes message_of(self, int kind)
    cdef int find_words(self, int64_t now_ms) except -1
    cdef int kind_of(self, Span at_fault, int64_t now_ms) noexcept
    cdef int count(
        self, int kind, int64_t records, int64_t size, Span times, Span at_fault,
        int64_t bad_records, int64_t first_ms, int64_t request, int64_t now_ms,
    ) except -1
