# cython: language_level=3, boundscheck=False, wraparound=False
"""Repeats rejections of the session: recognises the requests, answers them and counts them.

A request is read to its end before it is answered or counted. These steps can only fail if memory runs out.
Memory for an answer is reserved before the answer is written.

Without it, the session makes each rejection: 310 us of CPU in place of 3.1 for a request of 1 KB, and 553 in
place of 82 for one of 100 KB (`python -m benchmarks --only reject`, base and trial in turns, 2026-11-28).
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.ref cimport PyObject
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t
from libc.string cimport memcmp

from google_crc32c import value as crc_of

from tsproxy.fastpath._native.time_range cimport Span, wraps
from tsproxy.fastpath._native.topic_key cimport put_key, read_key_size
from tsproxy.fastpath._native.usual cimport BATCH_HEADER, CODEC, is_usual, records_of
from tsproxy.wire.readers._native.culprits cimport (
    Columns, most_bytes as most_bytes_of_error, put_errors, search,
)
from tsproxy.wire.readers._native.cursor cimport (
    Cursor, is_whole, no_tags, peek_int16, peek_int32, peek_int64, peek_uint32,
    read_int32, read_size, take,
)
from tsproxy.wire.readers._native.put cimport (
    put_int16, put_int32, put_int64, put_no_tags, put_size, put_string,
)
from tsproxy.wire.readers._native.walk cimport FINE, Walked, walk_records

cdef enum:
    SIZE_BYTES = 4
    SMALLEST = 10
    ATTRIBUTES = 21
    PRODUCER = 43
    PRODUCER_BYTES = 10          # its id, and its epoch
    MAX_RECORDS = 20000         # of one read: more would delay other connections
    MAX_OTHERS = 64             # bytes of an answer, a topic or a partition, without its texts
    KEPT_BYTES = 16384           # of memory for answers that may be kept from one read to the next


cdef class Rejecter:
    def __cinit__(self, RequestFilter requests):
        self.requests = requests

    def __dealloc__(self):
        self.forget()
        PyMem_Free(self.answers)

    def reject(self, data, int64_t now_ms):
        cdef Py_buffer view
        cdef Py_ssize_t end
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            end = self.run(<const uint8_t*>view.buf, view.len, now_ms)
        finally:
            PyBuffer_Release(&view)
        return end, PyBytes_FromStringAndSize(<const char*>self.answers, self.size), self.throttle_ms

    def reject_buffered(self, data, Py_ssize_t start, int64_t now_ms):
        cdef Py_buffer view
        cdef Py_ssize_t size
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            size = self.reject_some(<const uint8_t*>view.buf + start, view.len - start, now_ms)
        finally:
            PyBuffer_Release(&view)
        return start + size, PyBytes_FromStringAndSize(<const char*>self.answers, self.size), self.throttle_ms

    cdef Py_ssize_t run(self, const uint8_t* data, Py_ssize_t size, int64_t now_ms) except -1:
        """How many bytes of one read are rejected requests; `answers` then holds their answers."""
        if not self.requests.may_take():
            self.size = self.throttle_ms = 0
            return 0
        return self.reject_some(data, size, now_ms)

    cdef Py_ssize_t reject_some(self, const uint8_t* data, Py_ssize_t size, int64_t now_ms) except -1:
        cdef RequestFilter requests = self.requests
        cdef Py_ssize_t start = 0
        cdef int64_t announced
        self.size = self.throttle_ms = 0
        self.records_left = MAX_RECORDS
        if self.capacity > KEPT_BYTES:
            self.free_answers()
        if requests.table is None or requests.in_flight.count or not requests.table.rejections:
            return 0
        while self.throttle_ms == 0 and size - start >= SIZE_BYTES + SMALLEST:
            announced = peek_int32(data + start)
            if announced < SMALLEST or announced > size - start - SIZE_BYTES:
                break
            try:
                if not self.rejects(data + start + SIZE_BYTES, announced, now_ms):
                    break
            finally:
                self.forget()
            start += SIZE_BYTES + announced
            requests.in_flight.answered += 1
        return start

    cdef void forget(self) noexcept:
        """Free the partitions of the last request."""
        while self.count:
            self.count -= 1
            PyMem_Free(self.rejected[self.count].culprits.times)

    cdef bint rejects(self, const uint8_t* payload, int64_t size, int64_t now_ms) except -1:
        """True if the request is rejected: its answer is added, and it is counted."""
        cdef Cursor body = Cursor(payload, payload + size, False)
        cdef ProduceHead head
        cdef Py_ssize_t at
        cdef Rejected* rejected
        cdef int64_t rejected_bytes = 0
        if not self.requests.begins_produce(&body, now_ms, &head):
            return False
        if not self.rejects_all(&body, &head, now_ms):
            return False
        for at in range(self.count):
            rejected_bytes += self.rejected[at].size
        if self.requests.table.throttle is not None:
            throttle_ms = self.requests.table.throttle(self.count, rejected_bytes, now_ms)
            if throttle_ms is None:
                return False
            self.throttle_ms = throttle_ms
        self.answer(&head, now_ms)
        self.records_left -= self.records()
        for at in range(self.count):
            rejected = &self.rejected[at]
            (<Rejections>rejected.rejections).count(
                rejected.kind,
                rejected.records,
                rejected.size,
                rejected.times,
                rejected.at_fault,
                rejected.bad_records,
                rejected.culprits.times[0],
                self.requests.in_flight.answered,
                now_ms,
            )
        return True

    cdef bint rejects_all(self, Cursor* body, ProduceHead* head, int64_t now_ms) except -1:
        cdef int64_t topics = head.topics
        while topics > 0:
            if not self.rejects_topic(body, head, now_ms):
                return False
            topics -= 1
        no_tags(body, head.is_flexible)
        return is_whole(body) and self.is_short()

    cdef bint rejects_topic(self, Cursor* body, ProduceHead* head, int64_t now_ms) except -1:
        """True if each partition of the next topic is rejected; they are added to `rejected`."""
        cdef bint is_flexible = head.is_flexible
        cdef int64_t key_size = read_key_size(body, head.version)
        cdef const uint8_t* key = take(body, key_size)
        cdef int64_t partitions = read_size(body, is_flexible)
        cdef Rejected* rejected
        cdef Rejections rejections
        cdef const uint8_t* records
        if body.is_bad or partitions < 1 or partitions > MAX_PARTITIONS - self.count:
            return False
        rejections = self.requests.table.rejections.get(PyBytes_FromStringAndSize(<const char*>key, key_size))
        if rejections is None or not rejections.hold(now_ms):
            return False
        while partitions > 0:
            rejected = &self.rejected[self.count]
            rejected.rejections, rejected.key, rejected.key_size = <PyObject*>rejections, key, key_size
            rejected.partition, rejected.size = read_int32(body), read_size(body, is_flexible)
            records = take(body, rejected.size)
            no_tags(body, is_flexible)
            if body.is_bad or not self.rejects_batch(rejections, records, rejected, now_ms):
                return False
            partitions -= 1
        no_tags(body, is_flexible)
        return not body.is_bad

    cdef bint rejects_batch(
        self, Rejections rejections, const uint8_t* at, Rejected* rejected, int64_t now_ms
    ) except -1:
        """True for one plain batch with no fault but times that are rejected. Fills and adds `rejected`."""
        cdef Walked facts
        cdef Span bounds
        cdef int32_t count
        cdef Py_ssize_t index, bad_records
        cdef char* columns
        is_transactional = self.requests.table.transactional_id_bytes is not None
        if rejected.size > rejections.max_message_bytes:
            return False
        if not is_usual(at, rejected.size, is_transactional, min(MAX_RECORDS, self.requests.table.records_per_batch)):
            return False
        if peek_int16(at + ATTRIBUTES) & CODEC:
            return False
        count = records_of(at)
        walk_records(at + BATCH_HEADER, at + rejected.size, peek_int64(at + 27), count, True, &facts)
        bounds = rejections.bounds(now_ms)
        if facts.fault != FINE or facts.lowest > facts.highest or peek_int64(at + 35) != max(facts.highest, -1):
            return False
        if wraps(facts.lowest, now_ms):
            return False
        if bounds.lowest <= facts.lowest and facts.highest <= bounds.highest:
            return False
        columns = <char*>PyMem_Malloc(count * (2 * sizeof(int64_t) + sizeof(int32_t)))
        if columns == NULL:
            raise MemoryError
        rejected.producer = at + PRODUCER
        rejected.records, rejected.times = count, Span(facts.lowest, facts.highest)
        rejected.culprits.times = <long long*>columns
        rejected.culprits.offset_deltas = rejected.culprits.times + count
        rejected.culprits.positions = <int*>(rejected.culprits.offset_deltas + count)
        self.count += 1
        bad_records = search(
            at + BATCH_HEADER,
            at + rejected.size,
            peek_int64(at + 27),
            count,
            bounds.lowest,
            bounds.highest,
            count,
            rejected.culprits,
        )
        if bad_records < 1:
            return False
        rejected.bad_records = bad_records
        rejected.at_fault = Span(INT64_MAX, INT64_MIN)
        for index in range(bad_records):
            rejected.at_fault.lowest = min(rejected.at_fault.lowest, rejected.culprits.times[index])
            rejected.at_fault.highest = max(rejected.at_fault.highest, rejected.culprits.times[index])
        rejected.kind = rejections.kind_of(rejected.at_fault, now_ms)
        if rejected.kind < 0:
            return False
        checked = PyBytes_FromStringAndSize(<const char*>at + ATTRIBUTES, rejected.size - ATTRIBUTES)
        return crc_of(checked) == peek_uint32(at + 17)

    cdef bint is_short(self) noexcept:
        """True if no partition and no topic is named twice, all batches are of one producer, and there are
        neither too many records nor too many culprits."""
        cdef Py_ssize_t at, other
        cdef int64_t bad_records = 0
        cdef Rejected* one
        cdef Rejected* before
        for at in range(self.count):
            one = &self.rejected[at]
            bad_records += one.bad_records
            if memcmp(one.producer, self.rejected[0].producer, PRODUCER_BYTES) != 0:
                return False
            for other in range(at):
                before = &self.rejected[other]
                if before.key != one.key:
                    if before.rejections == one.rejections:
                        return False
                elif before.partition == one.partition:
                    return False
        first = <Rejections>self.rejected[0].rejections
        return self.records() <= self.records_left and bad_records <= first.most_listed

    cdef int64_t records(self) noexcept:
        """How many records the rejected batches contain."""
        cdef Py_ssize_t at
        cdef int64_t records = 0
        for at in range(self.count):
            records += self.rejected[at].records
        return records

    cdef int answer(self, ProduceHead* head, int64_t now_ms) except -1:
        """Add the answer, in the frame that a broker would send."""
        cdef Py_ssize_t topics = 0, at = 0, behind
        cdef bint is_flexible = head.is_flexible
        cdef uint8_t* start
        cdef uint8_t* put
        self.reserve(self.most_bytes(now_ms))
        while at < self.count:
            at, topics = self.end_of_topic(at), topics + 1
        start = self.answers + self.size
        put = put_no_tags(put_int32(start + SIZE_BYTES, head.correlation_id), is_flexible)
        put = put_size(put, topics, is_flexible)
        at = 0
        while at < self.count:
            behind = self.end_of_topic(at)
            put = put_key(put, self.rejected[at].key, self.rejected[at].key_size, head.version)
            put = put_size(put, behind - at, is_flexible)
            while at < behind:
                put = put_rejection(put, &self.rejected[at], head)
                at += 1
            put = put_no_tags(put, is_flexible)
        put = put_no_tags(put_int32(put, self.throttle_ms), is_flexible)
        put_int32(start, <int>(put - start - SIZE_BYTES))
        self.size = put - self.answers
        return 0

    cdef Py_ssize_t end_of_topic(self, Py_ssize_t at) noexcept:
        """The place of the first partition behind `at` that is of another topic."""
        cdef const uint8_t* key = self.rejected[at].key
        while at < self.count and self.rejected[at].key == key:
            at += 1
        return at

    cdef Py_ssize_t most_bytes(self, int64_t now_ms) except -1:
        """An upper bound of the answer's size."""
        cdef Py_ssize_t at, size = MAX_OTHERS
        cdef Rejected* rejected
        cdef Rejections rejections
        for at in range(self.count):
            rejected = &self.rejected[at]
            rejections = <Rejections>rejected.rejections
            rejections.find_words(now_ms)
            size += MAX_OTHERS + rejected.key_size + PyBytes_GET_SIZE(rejections.message_of(rejected.kind))
            size += rejected.bad_records * most_bytes_of_error(&rejections.words)
        return size

    cdef void free_answers(self) noexcept:
        PyMem_Free(self.answers)
        self.answers, self.capacity = NULL, 0

    cdef int reserve(self, Py_ssize_t size) except -1:
        """Make sure that so many bytes fit behind the answers."""
        cdef Py_ssize_t capacity = max(self.size + size, 2 * self.capacity)
        cdef uint8_t* wider
        if self.size + size <= self.capacity:
            return 0
        wider = <uint8_t*>PyMem_Realloc(self.answers, capacity)
        if wider == NULL:
            raise MemoryError
        self.answers, self.capacity = wider, capacity
        return 0


cdef uint8_t* put_rejection(uint8_t* put, Rejected* rejected, ProduceHead* head) noexcept:
    """Write the answer for one partition. Offsets and times are -1, as in brokers' answers."""
    cdef Rejections rejections = <Rejections>rejected.rejections
    cdef bytes message = rejections.message_of(rejected.kind)
    cdef bint is_flexible = head.is_flexible
    put = put_int16(put_int32(put, rejected.partition), rejections.kinds[rejected.kind].error_code)
    put = put_int64(put_int64(put, -1), -1)  # base_offset, log_append_time_ms
    if head.version >= 5:
        put = put_int64(put, -1)  # log_start_offset
    if head.version >= 8:
        put = put_size(put, rejected.bad_records, is_flexible)
        put = put_errors(put, rejected.culprits, rejected.bad_records, 0, &rejections.words, is_flexible)
        put = put_string(
            put, <const uint8_t*>PyBytes_AS_STRING(message), PyBytes_GET_SIZE(message), is_flexible
        )
    return put_no_tags(put, is_flexible)
