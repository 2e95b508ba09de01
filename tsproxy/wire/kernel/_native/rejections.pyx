# cython: language_level=3, boundscheck=False, wraparound=False
"""See `_twin/rejections.py`."""

from dataclasses import replace

from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t
from libc.string cimport memset

from tsproxy.wire.kernel._native.counts cimport add, begin, release, take_totals
from tsproxy.wire.kernel._native.culprits cimport pieces_of


cdef class Rejections:
    """All ways to reject batches of one topic."""

    def __cinit__(self, limits):
        self.limits, self.rejections, self.messages, self.words_ms = limits, [], [], -1
        self.before_max_ms = -1 if limits.before_max_ms is None else limits.before_max_ms
        self.after_max_ms = -1 if limits.after_max_ms is None else limits.after_max_ms
        self.max_message_bytes = limits.max_message_bytes
        memset(self.ways, 0, sizeof(self.ways))

    def __dealloc__(self):
        cdef int at
        for at in range(MOST_WAYS):
            release(&self.ways[at].counts)

    def learn(self, rejection):
        cdef int at = 0
        cdef Way* way
        if rejection.limits != self.limits:
            return
        while at < len(self.rejections) and self.rejections[at].blame != rejection.blame:
            at += 1
        if at == MOST_WAYS:
            return
        way = &self.ways[at]
        if at == len(self.rejections):
            self.rejections.append(rejection)
            self.messages.append(None)
            begin(&way.counts)
        self.rejections[at], self.messages[at] = rejection, rejection.error_message.encode()
        way.error_code = rejection.blame.error_code
        way.first_ms = Span(rejection.lowest_ms, rejection.highest_ms)
        way.from_ms, way.until_ms = rejection.from_ms, rejection.until_ms
        self.until_ms = max(self.until_ms, way.until_ms)
        self.pieces_at, self.words_ms, self.most_listed = rejection.pieces_at, -1, rejection.culprits_listed

    def drain(self, peer):
        cdef int at
        cdef Way* way
        totals = []
        for at in range(len(self.rejections)):
            way = &self.ways[at]
            if way.counts.batches:
                rejection = self.rejections[at]
                blame = replace(rejection.blame, bad_records=way.bad_records, culprit_ms=way.culprit_ms)
                totals.append(take_totals(&way.counts, peer, rejection.topic, self.limits, blame))
                way.bad_records = 0
        return totals

    cdef Span bounds(self, int64_t now_ms) noexcept:
        """The lowest and the highest time that is in range; `now_ms` is not negative."""
        cdef Span span = Span(INT64_MIN + now_ms + 1, INT64_MAX)
        if self.before_max_ms >= 0:
            span.lowest = max(span.lowest, now_ms - self.before_max_ms)
        if self.after_max_ms >= 0 and now_ms <= INT64_MAX - self.after_max_ms:
            span.highest = now_ms + self.after_max_ms
        return span

    cdef bytes message_of(self, int way):
        return <bytes>self.messages[way]

    cdef int find_words(self, int64_t now_ms) except -1:
        """The same for all culprits of one clock."""
        cdef bytes before, between, after
        if now_ms == self.words_ms:
            return 0
        before, between, after = [piece.encode() for piece in self.pieces_at(now_ms)]
        self.pieces = (before, between, after)
        self.words, self.words_ms = pieces_of(before, between, after), now_ms
        return 0

    cdef int way_of(self, int64_t first_ms, int64_t now_ms) noexcept:
        """How a batch is rejected whose first culprit has that time, -1 where it is to be looked at."""
        cdef int at
        cdef Way* way
        for at in range(len(self.rejections)):
            way = &self.ways[at]
            if way.from_ms <= now_ms < way.until_ms and way.first_ms.lowest <= first_ms <= way.first_ms.highest:
                return at
        return -1

    cdef int book(
        self, int way, Edges* edges, int64_t records, int64_t size, Span times, Span at_fault,
        int64_t bad_records, int64_t first_ms, int32_t correlation_id, int64_t now_ms,
    ) except -1:
        """One batch was rejected."""
        add(&self.ways[way].counts, edges, records, size, times, at_fault, correlation_id, now_ms)
        self.ways[way].bad_records += bad_records
        self.ways[way].culprit_ms = first_ms
        return 0
