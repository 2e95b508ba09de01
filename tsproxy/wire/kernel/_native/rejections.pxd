from libc.stdint cimport int32_t, int64_t

from tsproxy.wire.kernel._native.counts cimport Counts, Edges, Span
from tsproxy.wire.kernel._native.culprits cimport Pieces

cdef enum:
    MOST_WAYS = 8

cdef struct Way:
    Span first_ms          # where the first culprit's time must lie
    int64_t from_ms        # of the clock
    int64_t until_ms
    int error_code
    Counts counts
    int64_t bad_records
    int64_t culprit_ms


cdef class Rejections:
    cdef readonly object limits
    cdef int64_t before_max_ms   # below 0: unlimited
    cdef int64_t after_max_ms
    cdef int64_t max_message_bytes
    cdef Way ways[MOST_WAYS]
    cdef list rejections           # one a way
    cdef list messages           # as bytes
    cdef object pieces_at
    cdef Py_ssize_t most_listed
    cdef int64_t until_ms        # of whichever way lasts longest
    cdef Pieces words            # at `words_ms`; they lie in `pieces`
    cdef tuple pieces
    cdef int64_t words_ms

    cdef Span bounds(self, int64_t now_ms) noexcept
    cdef bytes message_of(self, int way)
    cdef int find_words(self, int64_t now_ms) except -1
    cdef int way_of(self, int64_t first_ms, int64_t now_ms) noexcept
    cdef int book(
        self, int way, Edges* edges, int64_t records, int64_t size, Span times, Span at_fault,
        int64_t bad_records, int64_t first_ms, int32_t correlation_id, int64_t now_ms,
    ) except -1
