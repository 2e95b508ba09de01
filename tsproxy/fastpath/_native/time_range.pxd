# The range of a topic's times: `TopicLimits.bounds` of `tsproxy.model` in C. The fast path computes it for
# each batch.

from libc.stdint cimport INT64_MAX, INT64_MIN, int64_t

cdef struct Span:          # of times in ms; empty if `lowest` lies above `highest`
    int64_t lowest
    int64_t highest


cdef inline bint wraps(int64_t timestamp_ms, int64_t now_ms) noexcept nogil:
    """True if the time is so low that Kafka's difference to `now_ms` wraps. `now_ms` is not negative."""
    return timestamp_ms <= INT64_MIN + now_ms


cdef inline Span range_at(int64_t before_max_ms, int64_t after_max_ms, int64_t now_ms) noexcept nogil:
    """The lowest and the highest time that is allowed. A limit below 0 means no limit. `now_ms` is not
    negative."""
    cdef Span span = Span(INT64_MIN + now_ms + 1, INT64_MAX)
    if before_max_ms >= 0:
        span.lowest = max(span.lowest, now_ms - before_max_ms)
    if after_max_ms >= 0 and now_ms <= INT64_MAX - after_max_ms:
        span.highest = now_ms + after_max_ms
    return span
