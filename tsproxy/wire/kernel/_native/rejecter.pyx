# cython: language_level=3, boundscheck=False, wraparound=False
"""Requests that are rejected as others were before: see `_twin/rejecter.py`.

A request is read to its end before anything is done about it; what then is done cannot fail but for want
of memory. Room for an answer is made before it is written, as `room_for` reckons.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.ref cimport PyObject
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t
from libc.string cimport memcmp

from google_crc32c import value as crc_of

from tsproxy.wire.kernel._native.culprits cimport (
    Columns, most_bytes as most_bytes_of_error, put_errors, search,
)
from tsproxy.wire.kernel._native.cursor cimport (
    Cursor, is_whole, no_tags, peek_int16, peek_int32, peek_int64, peek_uint32,
    read_int32, read_size, read_string_size, take,
)
from tsproxy.wire.kernel._native.put cimport (
    put_int16, put_int32, put_int64, put_no_tags, put_size, put_string,
)
from tsproxy.wire.kernel._native.usual cimport BATCH_HEADER, CODEC, is_usual, records_of
from tsproxy.wire.kernel._native.walk cimport FINE, Walked, walk_records

cdef enum:
    SIZE_BYTES = 4
    SMALLEST = 10
    ATTRIBUTES = 21
    PRODUCER = 43
    PRODUCER_BYTES = 10          # its id, and its epoch
    MOST_RECORDS = 20000         # of one go
    MOST_BESIDE = 64             # bytes of an answer, of a topic in it or of a partition, texts aside
    KEPT_BYTES = 16384           # of room for answers, from one go to the next


cdef class Rejecter:
    def __cinit__(self, RequestLexer requests):
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
        return end, PyBytes_FromStringAndSize(<const char*>self.answers, self.size), self.silent_ms

    cdef Py_ssize_t run(self, const uint8_t* data, Py_ssize_t size, int64_t now_ms) except -1:
        """How many bytes of `data` are rejected requests; the answers to them are in `answers`."""
        cdef RequestLexer requests = self.requests
        cdef Py_ssize_t start = 0
        cdef int64_t announced
        self.size = self.silent_ms = 0
        self.records_left = MOST_RECORDS
        if self.capacity > KEPT_BYTES:
            self.let_room_go()
        if not requests.is_open or requests.table is None or requests.in_flight.count:
            return 0
        if not requests.table.rejections:
            return 0
        while self.silent_ms == 0 and size - start >= SIZE_BYTES + SMALLEST:
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
        """The guilty of a request that is done with."""
        while self.count:
            self.count -= 1
            PyMem_Free(self.guilty[self.count].culprits.times)

    cdef bint rejects(self, const uint8_t* payload, int64_t size, int64_t now_ms) except -1:
        """True where the request is rejected: its answer is added, and it is booked."""
        cdef Cursor body = Cursor(payload, payload + size, False)
        cdef ProduceHead head
        cdef Py_ssize_t at
        cdef Guilty* guilty
        cdef int64_t guilty_bytes = 0
        if not self.requests.begins_produce(&body, now_ms, &head):
            return False
        if not self.all_are_guilty(&body, &head, now_ms):
            return False
        for at in range(self.count):
            guilty_bytes += self.guilty[at].size
        silence = (<Rejections>self.guilty[0].rejections).rejections[self.guilty[0].way].silence
        if silence is not None:
            silent_ms = silence(self.count, guilty_bytes, now_ms)
            if silent_ms is None:
                return False
            self.silent_ms = silent_ms
        self.answer(&head, now_ms)
        self.records_left -= self.records()
        for at in range(self.count):
            guilty = &self.guilty[at]
            (<Rejections>guilty.rejections).book(
                guilty.way,
                &self.requests.table.edges,
                guilty.records,
                guilty.size,
                guilty.times,
                guilty.at_fault,
                guilty.bad_records,
                guilty.culprits.times[0],
                head.correlation_id,
                now_ms,
            )
        return True

    cdef bint all_are_guilty(self, Cursor* body, ProduceHead* head, int64_t now_ms) except -1:
        cdef int64_t topics = head.topics
        while topics > 0:
            if not self.topic_is_guilty(body, head.is_flexible, now_ms):
                return False
            topics -= 1
        no_tags(body, head.is_flexible)
        return is_whole(body) and self.is_short()

    cdef bint topic_is_guilty(self, Cursor* body, bint is_flexible, int64_t now_ms) except -1:
        """True where each of its partitions is; they stand behind `guilty` then."""
        cdef int64_t name_size = read_string_size(body, is_flexible)
        cdef const uint8_t* name = take(body, name_size)
        cdef int64_t partitions = read_size(body, is_flexible)
        cdef Guilty* guilty
        cdef Rejections rejections
        cdef const uint8_t* records
        if body.is_bad or partitions < 1 or partitions > MOST_PARTITIONS - self.count:
            return False
        rejections = self.requests.table.rejections.get(PyBytes_FromStringAndSize(<const char*>name, name_size))
        if rejections is None or now_ms >= rejections.until_ms:  # then no walk for nothing
            return False
        while partitions > 0:
            guilty = &self.guilty[self.count]
            guilty.rejections, guilty.topic, guilty.topic_size = <PyObject*>rejections, name, name_size
            guilty.partition, guilty.size = read_int32(body), read_size(body, is_flexible)
            records = take(body, guilty.size)
            no_tags(body, is_flexible)
            if body.is_bad or not self.batch_is_guilty(rejections, records, guilty, now_ms):
                return False
            partitions -= 1
        no_tags(body, is_flexible)
        return not body.is_bad

    cdef bint batch_is_guilty(
        self, Rejections rejections, const uint8_t* at, Guilty* guilty, int64_t now_ms
    ) except -1:
        """True for one plain batch with nothing wrong but times that are rejected; `guilty` is filled, and
        counts from now on."""
        cdef Walked found
        cdef Span bounds
        cdef int32_t count
        cdef Py_ssize_t index, bad_records
        cdef char* columns
        is_transactional = self.requests.table.transactional_id_bytes is not None
        if guilty.size > rejections.max_message_bytes:
            return False
        if not is_usual(at, guilty.size, is_transactional, min(MOST_RECORDS, self.requests.table.records_per_batch)):
            return False
        if peek_int16(at + ATTRIBUTES) & CODEC:
            return False
        count = records_of(at)
        walk_records(at + BATCH_HEADER, at + guilty.size, peek_int64(at + 27), count, True, &found)
        bounds = rejections.bounds(now_ms)
        if found.fault != FINE or found.lowest > found.highest or peek_int64(at + 35) != max(found.highest, -1):
            return False
        if found.lowest <= INT64_MIN + now_ms:
            return False
        if bounds.lowest <= found.lowest and found.highest <= bounds.highest:
            return False
        columns = <char*>PyMem_Malloc(count * (2 * sizeof(int64_t) + sizeof(int32_t)))
        if columns == NULL:
            raise MemoryError
        guilty.producer = at + PRODUCER
        guilty.records, guilty.times = count, Span(found.lowest, found.highest)
        guilty.culprits.times = <long long*>columns
        guilty.culprits.offset_deltas = guilty.culprits.times + count
        guilty.culprits.positions = <int*>(guilty.culprits.offset_deltas + count)
        self.count += 1
        bad_records = search(
            at + BATCH_HEADER,
            at + guilty.size,
            peek_int64(at + 27),
            count,
            bounds.lowest,
            bounds.highest,
            count,
            guilty.culprits,
        )
        if bad_records < 1:
            return False
        guilty.bad_records = bad_records
        guilty.at_fault = Span(INT64_MAX, INT64_MIN)
        for index in range(bad_records):
            guilty.at_fault.lowest = min(guilty.at_fault.lowest, guilty.culprits.times[index])
            guilty.at_fault.highest = max(guilty.at_fault.highest, guilty.culprits.times[index])
        guilty.way = rejections.way_of(guilty.culprits.times[0], now_ms)
        if guilty.way < 0:
            return False
        checked = PyBytes_FromStringAndSize(<const char*>at + ATTRIBUTES, guilty.size - ATTRIBUTES)
        return crc_of(checked) == peek_uint32(at + 17)

    cdef bint is_short(self) noexcept:
        """True where no partition is named twice, nor a topic, all is of one producer, and soon done."""
        cdef Py_ssize_t at, other
        cdef int64_t bad_records = 0
        cdef Guilty* one
        cdef Guilty* before
        for at in range(self.count):
            one = &self.guilty[at]
            bad_records += one.bad_records
            if memcmp(one.producer, self.guilty[0].producer, PRODUCER_BYTES) != 0:
                return False
            for other in range(at):
                before = &self.guilty[other]
                if before.topic != one.topic:
                    if before.rejections == one.rejections:
                        return False
                elif before.partition == one.partition:
                    return False
        first = <Rejections>self.guilty[0].rejections
        return self.records() <= self.records_left and bad_records <= first.most_listed

    cdef int64_t records(self) noexcept:
        """Of all that are guilty."""
        cdef Py_ssize_t at
        cdef int64_t records = 0
        for at in range(self.count):
            records += self.guilty[at].records
        return records

    cdef int answer(self, ProduceHead* head, int64_t now_ms) except -1:
        """Add the frame that a broker would answer with."""
        cdef Py_ssize_t topics = 0, at = 0, behind
        cdef bint is_flexible = head.is_flexible
        cdef uint8_t* start
        cdef uint8_t* put
        self.room_for(self.most_bytes(now_ms))
        while at < self.count:
            at, topics = self.behind_topic_of(at), topics + 1
        start = self.answers + self.size
        put = put_no_tags(put_int32(start + SIZE_BYTES, head.correlation_id), is_flexible)
        put = put_size(put, topics, is_flexible)
        at = 0
        while at < self.count:
            behind = self.behind_topic_of(at)
            put = put_string(put, self.guilty[at].topic, self.guilty[at].topic_size, is_flexible)
            put = put_size(put, behind - at, is_flexible)
            while at < behind:
                put = put_rejection(put, &self.guilty[at], head)
                at += 1
            put = put_no_tags(put, is_flexible)
        put = put_no_tags(put_int32(put, self.silent_ms), is_flexible)
        put_int32(start, <int>(put - start - SIZE_BYTES))
        self.size = put - self.answers
        return 0

    cdef Py_ssize_t behind_topic_of(self, Py_ssize_t at) noexcept:
        """Where the first of the guilty stands, behind `at`, that is of another topic."""
        cdef const uint8_t* topic = self.guilty[at].topic
        while at < self.count and self.guilty[at].topic == topic:
            at += 1
        return at

    cdef Py_ssize_t most_bytes(self, int64_t now_ms) except -1:
        """How large the answer may be."""
        cdef Py_ssize_t at, size = MOST_BESIDE
        cdef Guilty* guilty
        cdef Rejections rejections
        for at in range(self.count):
            guilty = &self.guilty[at]
            rejections = <Rejections>guilty.rejections
            rejections.find_words(now_ms)
            size += MOST_BESIDE + guilty.topic_size + PyBytes_GET_SIZE(rejections.message_of(guilty.way))
            size += guilty.bad_records * most_bytes_of_error(&rejections.words)
        return size

    cdef void let_room_go(self) noexcept:
        PyMem_Free(self.answers)
        self.answers, self.capacity = NULL, 0

    cdef int room_for(self, Py_ssize_t size) except -1:
        """Behind what is there."""
        cdef Py_ssize_t capacity = max(self.size + size, 2 * self.capacity)
        cdef uint8_t* wider
        if self.size + size <= self.capacity:
            return 0
        wider = <uint8_t*>PyMem_Realloc(self.answers, capacity)
        if wider == NULL:
            raise MemoryError
        self.answers, self.capacity = wider, capacity
        return 0


cdef uint8_t* put_rejection(uint8_t* put, Guilty* guilty, ProduceHead* head) noexcept:
    """-1 for offsets and times, as brokers answer."""
    cdef Rejections rejections = <Rejections>guilty.rejections
    cdef bytes message = rejections.message_of(guilty.way)
    cdef bint is_flexible = head.is_flexible
    put = put_int16(put_int32(put, guilty.partition), rejections.ways[guilty.way].error_code)
    put = put_int64(put_int64(put, -1), -1)  # base_offset, log_append_time_ms
    if head.version >= 5:
        put = put_int64(put, -1)  # log_start_offset
    if head.version >= 8:
        put = put_size(put, guilty.bad_records, is_flexible)
        put = put_errors(put, guilty.culprits, guilty.bad_records, 0, &rejections.words, is_flexible)
        put = put_string(
            put, <const uint8_t*>PyBytes_AS_STRING(message), PyBytes_GET_SIZE(message), is_flexible
        )
    return put_no_tags(put, is_flexible)
