# The sums over batches that ended in the same way. A batch needs no memory of its own: counts are numbers,
# and a histogram gets a new bar only for the first batch of a bucket since the last drain.

from libc.stdint cimport int32_t, int64_t

from tsproxy.fastpath._native.time_range cimport Span

cdef struct Bar:
    int32_t bucket
    int64_t batches
    int64_t records

cdef struct Histogram:
    Bar* bars
    int32_t count
    int32_t capacity
    int32_t latest  # the bar of the last batch, which is mostly the bar of the next batch, too

cdef struct Counts:
    int64_t batches
    int64_t records
    int64_t bytes
    int64_t requests
    int64_t records_unread
    int64_t first_ms
    int64_t last_ms
    int64_t drift_min_ms   # above `drift_max_ms` if no record carried a time
    int64_t drift_max_ms
    int64_t last_request
    Histogram ahead
    Histogram behind

cdef int64_t drift(int64_t timestamp_ms, int64_t now_ms) noexcept
cdef int32_t bucket(int64_t drift_ms) noexcept
cdef void begin(Counts* counts) noexcept
cdef void release(Counts* counts) noexcept
cdef Py_ssize_t bars_bytes(Counts* counts) noexcept
cdef int add(
    Counts* counts, int64_t records, int64_t size, Span times, Span at_fault, int64_t request,
    int64_t now_ms,
) except -1
cdef object take_totals(Counts* counts, key, peer, limits, int64_t bad_records, culprit_ms)
