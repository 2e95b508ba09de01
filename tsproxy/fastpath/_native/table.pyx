# cython: language_level=3, boundscheck=False, wraparound=False
"""A row for each topic: the bounds of its times, and the counts of its accepted batches."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Size
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memset

from os import urandom
from sys import intern

from tsproxy.decisions.totals import key_of
from tsproxy.fastpath import adaptive
from tsproxy.model.outcome import VerdictName

from tsproxy.fastpath._native.counts cimport add, bars_bytes, begin, release, take_totals
from tsproxy.fastpath._native.rejections cimport Rejections
from tsproxy.fastpath._native.time_range cimport Span

cdef enum:
    A_NAME = 400  # bytes of a topic's name, as bytes and as text, and of its places in a dict and in lists

MAX_ROWS = 256
"""Further topics of a connection take the slow path."""

cdef int32_t trusted_after = adaptive.TRUSTED_AFTER
cdef uint64_t one_read_of = adaptive.ONE_READ_OF
cdef int64_t pause_ms = adaptive.PAUSE_MS


cdef bytes _raw(text):
    """The bytes of a text; an id is bytes already."""
    return text if text is None or isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")


cdef inline void count_in_order(Row* row) noexcept:
    if row.trust != NULL and (<TopicTrust>row.trust).in_order < trusted_after:
        (<TopicTrust>row.trust).in_order += 1


cdef class TopicTrust:
    pass


cdef class Table:
    def __cinit__(
        self, peer, transactional_id, records_per_batch, read_compressed=None, throttle=None, names_ids=False,
        seed=None, penalties=None,
    ):
        self.peer, self.names_ids = peer, names_ids
        self.transactional_id = transactional_id
        self.client_id_bytes = _raw(peer.client_id)
        self.transactional_id_bytes = _raw(transactional_id)
        self.records_per_batch = min(records_per_batch, 0x7FFFFFFF)
        self.index, self.keys, self.topics, self.limits, self.rejections = {}, [], [], [], {}
        self.trusts = []
        self.known_topics = []
        self.read_compressed, self.throttle, self.penalties = read_compressed, throttle, penalties
        self.random = (int.from_bytes(urandom(8), "big") if seed is None else seed) | 1  # never 0

    def __dealloc__(self):
        cdef Py_ssize_t at
        for at in range(self.count):
            release(&self.rows[at].counts)
        PyMem_Free(self.rows)

    def __contains__(self, key):
        return _raw(key) in self.index

    @property
    def kept(self):
        return self.count + len(self.rejections)

    @property
    def held_bytes(self):
        cdef Py_ssize_t at, total = 1024 + self.capacity * sizeof(Row)
        cdef Rejections rejections
        total += 5 * len(self.transactional_id_bytes or b"")  # once as bytes, once as text
        for at in range(self.count):
            total += A_NAME + 2 * self.rows[at].key_size + bars_bytes(&self.rows[at].counts)
        for raw, rejections in self.rejections.items():
            total += A_NAME + 2 * len(raw) + rejections.held_bytes()
        return total

    def add(self, topic, limits, before_max_ms, after_max_ms, topic_id=None, TopicTrust trust=None):
        cdef bytes raw = topic_id or _raw(topic)
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
        row.key = <const uint8_t*>PyBytes_AS_STRING(raw)
        row.key_size = PyBytes_GET_SIZE(raw)
        row.is_bounded = before_max_ms is not None or after_max_ms is not None
        row.before_max_ms, row.after_max_ms = before, after
        row.trust = NULL if trust is None else <void*>trust
        begin(&row.counts)
        self.index[raw] = self.count
        self.keys.append(raw)
        topic = intern(topic)  # connections share it: so it is found quickly among the topics of all
        self.topics.append(topic)
        self.known_topics.append(topic)
        self.limits.append(limits)
        self.trusts.append(trust)
        self.count += 1

    def repeat(self, rejection):
        cdef bytes raw = rejection.topic_id or _raw(rejection.topic)
        cdef Rejections known = self.rejections.get(raw)
        if known is None and len(self.rejections) < MAX_ROWS:
            known = self.rejections[raw] = Rejections(rejection.limits)
            self.known_topics.append(intern(rejection.topic))
        if known is not None:
            known.learn(rejection)

    def drain(self):
        cdef Py_ssize_t at
        cdef Rejections rejections
        totals = [
            take_totals(
                &self.rows[at].counts, key_of(self.peer, self.topics[at], VerdictName.ACCEPTED), self.peer,
                self.limits[at], 0, None,
            )
            for at in range(self.count)
            if self.rows[at].counts.batches
        ]
        for rejections in self.rejections.values():
            totals += rejections.drain(self.peer)
        return totals

    cdef Py_ssize_t row_of(self, const uint8_t* key, Py_ssize_t size, Py_ssize_t guess):
        """The row of a topic, -1 for none. `guess` is tried first, since requests are mostly alike."""
        if guess < self.count and self.rows[guess].key_size == size:
            if memcmp(self.rows[guess].key, key, size) == 0:
                return guess
        return self.index.get(PyBytes_FromStringAndSize(<const char*>key, size), -1)

    def was_in_order(self, key):
        """A compressed batch of the topic was read by the session, and the broker has accepted it."""
        at = self.index.get(_raw(key), -1)
        if at >= 0:
            count_in_order(&self.rows[at])

    cdef int learn_penalty(self, Row* row, TopicTrust trust) except -1:
        """Trust begins at 0 again if a batch of the topic was bad, on any connection of the client's address."""
        cdef int64_t until_ms
        if self.penalties is not None and PyDict_Size(self.penalties):
            until_ms = self.penalties.until_ms(self.topics[row - self.rows])
            if until_ms > trust.read_until_ms:
                trust.read_until_ms, trust.in_order = until_ms, 0
        return 0

    cdef bint may_stay_unread(self, Row* row, int64_t now_ms) except -1:
        """True if a compressed batch that has come need not be read, only its header."""
        cdef TopicTrust trust
        cdef int64_t since_ms
        if row.trust == NULL:
            return False
        trust = <TopicTrust>row.trust
        since_ms = now_ms - trust.compressed_ms
        trust.compressed_ms = now_ms
        self.learn_penalty(row, trust)
        if since_ms < 0 or since_ms > pause_ms:
            trust.in_order = 0
        if trust.in_order < trusted_after or now_ms < trust.read_until_ms:
            return False
        self.random ^= self.random >> 12  # xorshift64*: its high bits are good
        self.random ^= self.random << 25
        self.random ^= self.random >> 27
        return (self.random * 0x2545F4914F6CDD1D >> 33) % one_read_of != 0

    cdef int count_accepted(self, Batch* batch, int64_t request, int64_t now_ms) except -1:
        """Count one batch that the broker accepted, of the request with the number `request`."""
        cdef Span times = Span(batch.lowest_ms, batch.highest_ms)
        cdef Counts* counts = &self.rows[batch.row].counts
        add(counts, batch.records, batch.size_in_bytes, times, times, request, now_ms)
        if batch.is_unread:
            counts.records_unread += batch.records
        elif batch.codec:
            count_in_order(&self.rows[batch.row])
        return 0
