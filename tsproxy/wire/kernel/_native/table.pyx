# cython: language_level=3, boundscheck=False, wraparound=False
"""A row a topic: the bounds that a batch must keep to pass, and what passed and was accepted.

Nothing is allocated for a batch: counts are numbers in the row, and a histogram grows by a bar when a
bucket is met for the first time since the last drain.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t
from libc.string cimport memcmp, memset

from tsproxy.model.outcome import Totals

MAX_ROWS = 1_000
"""Topics of one connection beyond this one take the way through the session."""


cdef bytes _raw(text):
    return None if text is None else text.encode("utf-8", "surrogateescape")


cdef int64_t drift(int64_t timestamp_ms, int64_t now_ms) noexcept:
    """Saturated at ±(2^63-1); `now_ms` is not negative, so only one side can overflow."""
    if timestamp_ms < now_ms - INT64_MAX:
        return -INT64_MAX
    return timestamp_ms - now_ms


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


cdef tuple bars_of(Histogram* histogram):
    cdef int32_t at
    return tuple(
        sorted(
            [
                (histogram.bars[at].bucket, histogram.bars[at].batches, histogram.bars[at].records)
                for at in range(histogram.count)
            ]
        )
    )


cdef void clear(Row* row) noexcept:
    row.batches = row.records = row.bytes = row.requests = 0
    row.drift_min_ms, row.drift_max_ms = INT64_MAX, INT64_MIN
    row.ahead.count = row.behind.count = 0


cdef class Table:
    """See `_twin/table.py`."""

    def __cinit__(self, peer, transactional_id, records_per_batch, edges):
        cdef Py_ssize_t at
        self.peer = peer
        self.transactional_id = transactional_id
        self.client_id_bytes = _raw(peer.client_id)
        self.transactional_id_bytes = _raw(transactional_id)
        self.records_per_batch = min(records_per_batch, 0x7FFFFFFF)
        self.index, self.topics, self.limits = {}, [], []
        self.edges_count = len(edges)
        self.edges = <int64_t*>PyMem_Malloc(max(1, self.edges_count) * sizeof(int64_t))
        if self.edges == NULL:
            raise MemoryError
        for at in range(self.edges_count):
            self.edges[at] = edges[at]

    def __dealloc__(self):
        cdef Py_ssize_t at
        for at in range(self.count):
            PyMem_Free(self.rows[at].ahead.bars)
            PyMem_Free(self.rows[at].behind.bars)
        PyMem_Free(self.rows)
        PyMem_Free(self.edges)

    def __contains__(self, topic):
        return _raw(topic) in self.index

    def add(self, topic, limits, before_max_ms, after_max_ms):
        cdef bytes raw = _raw(topic)
        cdef Py_ssize_t capacity
        cdef Row* rows
        cdef Row* row
        cdef int64_t before = -1 if before_max_ms is None else before_max_ms
        cdef int64_t after = -1 if after_max_ms is None else after_max_ms
        if raw in self.index or self.count >= MAX_ROWS:
            return
        if self.count == self.capacity:
            capacity = 2 * self.capacity if self.capacity else 2
            rows = <Row*>PyMem_Realloc(self.rows, capacity * sizeof(Row))
            if rows == NULL:
                raise MemoryError
            self.rows, self.capacity = rows, capacity
        row = &self.rows[self.count]
        memset(row, 0, sizeof(Row))
        row.topic = <const uint8_t*>PyBytes_AS_STRING(raw)
        row.topic_size = PyBytes_GET_SIZE(raw)
        row.is_bounded = before_max_ms is not None or after_max_ms is not None
        row.before_max_ms, row.after_max_ms = before, after
        clear(row)
        self.index[raw] = self.count
        self.topics.append(topic)
        self.limits.append(limits)
        self.count += 1

    def drain(self):
        cdef Py_ssize_t at
        cdef Row* row
        totals = []
        for at in range(self.count):
            row = &self.rows[at]
            if row.batches:
                has_times = row.drift_min_ms <= row.drift_max_ms
                totals.append(
                    Totals(
                        peer=self.peer,
                        topic=self.topics[at],
                        limits=self.limits[at],
                        batches=row.batches,
                        records=row.records,
                        bytes=row.bytes,
                        requests=row.requests,
                        first_ms=row.first_ms,
                        last_ms=row.last_ms,
                        drift_min_ms=row.drift_min_ms if has_times else None,
                        drift_max_ms=row.drift_max_ms if has_times else None,
                        ahead=bars_of(&row.ahead),
                        behind=bars_of(&row.behind),
                    )
                )
                clear(row)
        return totals

    cdef Py_ssize_t row_of(self, const uint8_t* topic, Py_ssize_t size, Py_ssize_t guess):
        """The row of a topic, -1 for none. `guess` is looked at first: requests repeat themselves."""
        if guess < self.count and self.rows[guess].topic_size == size:
            if memcmp(self.rows[guess].topic, topic, size) == 0:
                return guess
        return self.index.get(PyBytes_FromStringAndSize(<const char*>topic, size), -1)

    cdef int book(self, Batch* batch, int32_t correlation_id, int64_t now_ms) except -1:
        """The broker has accepted one batch of the request with that id."""
        cdef Row* row = &self.rows[batch.row]
        cdef int64_t behind, ahead
        if row.batches == 0:
            row.first_ms = row.last_ms = now_ms
        if row.batches == 0 or row.last_correlation_id != correlation_id:
            row.last_correlation_id = correlation_id
            row.requests += 1
        row.batches += 1
        row.records += batch.records
        row.bytes += batch.size_in_bytes
        row.first_ms = min(row.first_ms, now_ms)
        row.last_ms = max(row.last_ms, now_ms)
        if batch.lowest_ms > batch.highest_ms:
            return 0
        behind, ahead = drift(batch.lowest_ms, now_ms), drift(batch.highest_ms, now_ms)
        row.drift_min_ms = min(row.drift_min_ms, behind)
        row.drift_max_ms = max(row.drift_max_ms, ahead)
        count(&row.ahead, self.bucket(ahead), batch.records)
        count(&row.behind, self.bucket(behind), batch.records)
        return 0

    cdef int32_t bucket(self, int64_t drift_ms) noexcept:
        """The signed bucket: 1 + how many edges lie below the magnitude (`decisions/drift.py`)."""
        cdef int64_t magnitude = drift_ms if drift_ms > 0 else -drift_ms
        cdef int32_t low = 0, high = <int32_t>self.edges_count, middle
        if drift_ms == 0:
            return 0
        while low < high:
            middle = (low + high) >> 1
            if self.edges[middle] < magnitude:
                low = middle + 1
            else:
                high = middle
        return low + 1 if drift_ms > 0 else -low - 1
