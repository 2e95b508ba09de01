# cython: language_level=3, boundscheck=False, wraparound=False
"""The rejections of one topic that may be repeated: their limits, their times, and how many there were.

There is one `Kind` for each key that the session has given: for each side and each unit.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from tsproxy.fastpath._native.counts cimport add, bars_bytes, begin, release, take_totals
from tsproxy.fastpath._native.time_range cimport Span, range_at
from tsproxy.wire.readers._native.culprits cimport pieces_of

from tsproxy.policy.timestamps import out_of_range_pieces

cdef enum:
    A_TOPIC = 2560  # bytes of one Rejections without its kinds: mostly room for the numbers of MAX_KINDS
    A_KIND = 768    # bytes of one kind, without its texts and histograms


cdef class Freshness:
    def __cinit__(self):
        self.asked_ms = self.until_ms = 0


cdef class Rejections:
    def __cinit__(self, limits):
        self.limits, self.rejections, self.messages, self.words_ms = limits, [], [], -1
        self.before_max_ms = -1 if limits.before_max_ms is None else limits.before_max_ms
        self.after_max_ms = -1 if limits.after_max_ms is None else limits.after_max_ms
        self.max_message_bytes = limits.max_message_bytes
        memset(self.kinds, 0, sizeof(self.kinds))

    def __dealloc__(self):
        cdef int at
        for at in range(MAX_KINDS):
            release(&self.kinds[at].counts)

    def learn(self, rejection):
        cdef int at = 0
        cdef Kind* kind
        if rejection.limits != self.limits:
            return
        while at < len(self.rejections) and self.rejections[at].key != rejection.key:
            at += 1
        if at == MAX_KINDS:
            return
        kind = &self.kinds[at]
        if at == len(self.rejections):
            self.rejections.append(rejection)
            self.messages.append(None)
            begin(&kind.counts)
        self.rejections[at], self.messages[at] = rejection, rejection.error_message.encode()
        kind.error_code = rejection.key.error_code
        kind.first_ms = Span(rejection.lowest_ms, rejection.highest_ms)
        kind.from_ms, kind.until_ms = rejection.from_ms, rejection.until_ms
        self.until_ms = max(self.until_ms, kind.until_ms)
        self.most_listed = rejection.culprits_listed
        self.freshness = rejection.freshness

    def drain(self, peer):
        cdef int at
        cdef Kind* kind
        cdef Counts* counts
        totals = []
        for at in range(len(self.rejections)):
            kind = &self.kinds[at]
            if kind.counts.batches:
                key, counts = self.rejections[at].key, &kind.counts
                totals.append(take_totals(counts, key, peer, self.limits, kind.bad_records, kind.culprit_ms))
                kind.bad_records = 0
        return totals

    cdef Py_ssize_t held_bytes(self):
        cdef Py_ssize_t total = A_TOPIC
        cdef int at
        for at in range(len(self.rejections)):
            total += A_KIND + 2 * len(self.messages[at]) + bars_bytes(&self.kinds[at].counts)
        return total

    cdef bint hold(self, int64_t now_ms) noexcept:
        """True if some kind may be repeated: neither its time is over, nor are the limits old."""
        if now_ms >= self.until_ms:  # avoids a useless walk
            return False
        return self.freshness is None or self.freshness.asked_ms <= now_ms < self.freshness.until_ms

    cdef Span bounds(self, int64_t now_ms) noexcept:
        return range_at(self.before_max_ms, self.after_max_ms, now_ms)

    cdef bytes message_of(self, int kind):
        return <bytes>self.messages[kind]

    cdef int find_words(self, int64_t now_ms) except -1:
        """Set `words` to the parts of a culprit's text, which are the same for all culprits at one time."""
        cdef bytes before, between, after
        if now_ms == self.words_ms:
            return 0
        before, between, after = [piece.encode() for piece in out_of_range_pieces(self.limits, now_ms)]
        self.pieces = (before, between, after)
        self.words, self.words_ms = pieces_of(before, between, after), now_ms
        return 0

    cdef int kind_of(self, Span at_fault, int64_t now_ms) noexcept:
        """The kind of rejection that all culprits have, -1 if the session must judge the batch."""
        cdef int at
        cdef Kind* kind
        for at in range(len(self.rejections)):
            kind = &self.kinds[at]
            if not kind.from_ms <= now_ms < kind.until_ms:
                continue
            if kind.first_ms.lowest <= at_fault.lowest and at_fault.highest <= kind.first_ms.highest:
                return at
        return -1

    cdef int count(
        self, int kind, int64_t records, int64_t size, Span times, Span at_fault,
        int64_t bad_records, int64_t first_ms, int64_t request, int64_t now_ms,
    ) except -1:
        """Count one batch that is rejected."""
        add(&self.kinds[kind].counts, records, size, times, at_fault, request, now_ms)
        self.kinds[kind].bad_records += bad_records
        self.kinds[kind].culprit_ms = first_ms
        return 0
