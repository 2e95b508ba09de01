# cython: language_level=3, boundscheck=False, wraparound=False
"""Counts and histograms of batches, taken as `Totals`."""

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t

from tsproxy.decisions.drift import EDGES
from tsproxy.decisions.totals import Totals, bar

cdef enum:
    MAX_EDGES = 256

cdef int64_t edges[MAX_EDGES]
cdef int32_t edge_count = len(EDGES)
for _at in range(edge_count):
    edges[_at] = EDGES[_at]


cdef int64_t drift(int64_t timestamp_ms, int64_t now_ms) noexcept:
    """The drift in ms, saturated at ±(2^63-1). `now_ms` is not negative, so only one side can overflow."""
    if timestamp_ms < now_ms - INT64_MAX:
        return -INT64_MAX
    return timestamp_ms - now_ms


cdef int32_t bucket(int64_t drift_ms) noexcept:
    """The signed bucket: 1 + how many edges lie below the magnitude (`decisions/drift.py`)."""
    cdef int64_t magnitude = drift_ms if drift_ms > 0 else -drift_ms
    cdef int32_t low = 0, high = edge_count, middle
    if drift_ms == 0:
        return 0
    while low < high:
        middle = (low + high) >> 1
        if edges[middle] < magnitude:
            low = middle + 1
        else:
            high = middle
    return low + 1 if drift_ms > 0 else -low - 1


cdef int count(Histogram* histogram, int32_t bucket, int64_t records) except -1:
    cdef int32_t at = histogram.latest
    cdef int32_t capacity
    cdef Bar* bars
    if at >= histogram.count or histogram.bars[at].bucket != bucket:
        at = 0
        while at < histogram.count and histogram.bars[at].bucket != bucket:
            at += 1
        if at == histogram.capacity:
            capacity = 2 * at if at else 2
            bars = <Bar*>PyMem_Realloc(histogram.bars, capacity * sizeof(Bar))
            if bars == NULL:
                raise MemoryError
            histogram.bars, histogram.capacity = bars, capacity
        if at == histogram.count:
            histogram.bars[at] = Bar(bucket=bucket, batches=0, records=0)
            histogram.count += 1
        histogram.latest = at
    histogram.bars[at].batches += 1
    histogram.bars[at].records += records
    return 0


cdef dict histogram_of(Histogram* histogram):
    cdef int32_t at
    return {
        histogram.bars[at].bucket: bar(histogram.bars[at].batches, histogram.bars[at].records)
        for at in range(histogram.count)
    }


cdef void begin(Counts* counts) noexcept:
    """Set all counts to zero, and keep the allocated memory for later."""
    counts.batches = counts.records = counts.bytes = counts.requests = counts.records_unread = 0
    counts.drift_min_ms, counts.drift_max_ms = INT64_MAX, INT64_MIN
    counts.ahead.count = counts.behind.count = 0


cdef void release(Counts* counts) noexcept:
    PyMem_Free(counts.ahead.bars)
    PyMem_Free(counts.behind.bars)


cdef Py_ssize_t bars_bytes(Counts* counts) noexcept:
    """The memory of both histograms."""
    return (counts.ahead.capacity + counts.behind.capacity) * <Py_ssize_t>sizeof(Bar)


cdef int add(
    Counts* counts, int64_t records, int64_t size, Span times, Span at_fault, int64_t request,
    int64_t now_ms,
) except -1:
    """Add one batch of the request with the number `request`. The drift is that of the times `at_fault`. The
    histograms are of all `times`."""
    cdef int64_t behind, ahead
    if counts.batches == 0:
        counts.first_ms = counts.last_ms = now_ms
    if counts.batches == 0 or counts.last_request != request:
        counts.last_request = request
        counts.requests += 1
    counts.batches += 1
    counts.records += records
    counts.bytes += size
    counts.first_ms = min(counts.first_ms, now_ms)
    counts.last_ms = max(counts.last_ms, now_ms)
    if times.lowest > times.highest:
        return 0
    behind, ahead = drift(times.lowest, now_ms), drift(times.highest, now_ms)
    counts.drift_min_ms = min(counts.drift_min_ms, drift(at_fault.lowest, now_ms))
    counts.drift_max_ms = max(counts.drift_max_ms, drift(at_fault.highest, now_ms))
    count(&counts.ahead, bucket(ahead), records)
    count(&counts.behind, bucket(behind), records)
    return 0


cdef object take_totals(Counts* counts, key, peer, limits, int64_t bad_records, culprit_ms):
    """The counts as `Totals`. The counts begin at zero again. All batches with `bad_records` were rejected."""
    has_times = counts.drift_min_ms <= counts.drift_max_ms
    totals = Totals(
        key=key,
        peer=peer,
        limits=limits,
        requests=counts.requests,
        culprit_ms=culprit_ms,
        batches=counts.batches,
        records=counts.records,
        bad_records=bad_records,
        collateral_records=counts.records - bad_records if bad_records else 0,
        bytes=counts.bytes,
        records_unread=counts.records_unread,
        first_ms=counts.first_ms,
        last_ms=counts.last_ms,
        drift_min_ms=counts.drift_min_ms if has_times else None,
        drift_max_ms=counts.drift_max_ms if has_times else None,
        ahead=histogram_of(&counts.ahead),
        behind=histogram_of(&counts.behind),
    )
    begin(counts)
    return totals
