# cython: language_level=3, boundscheck=False, wraparound=False
"""The requests that may be forwarded as they came: whole frames that certainly need no change.

Every read of a frame goes through a `Cursor` or the walk, which both stay inside it.
"""

from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.ref cimport PyObject
from libc.stdint cimport INT64_MAX, INT64_MIN, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp

from tsproxy.fastpath._native.in_flight cimport (
    FETCH, PRODUCE, RELAY, SHARE_FETCH, SHARE_FETCH_0, Entry, InFlight, Kind,
)
from tsproxy.fastpath._native.table cimport Batch, Row, Table
from tsproxy.fastpath._native.time_range cimport Span, range_at
from tsproxy.fastpath._native.topic_key cimport FLEXIBLE_FROM, TOPIC_IDS_FROM, read_key_size
from tsproxy.fastpath._native.usual cimport BATCH_HEADER, CODEC, is_usual, records_of
from tsproxy.wire.readers._native.cursor cimport (
    Cursor, is_whole, no_tags, peek_int16, peek_int32, peek_int64,
    read_int16, read_int32, read_size, read_string_size, take,
)
from tsproxy.wire.readers._native.walk cimport FINE, Walked, walk_records

from tsproxy.wire import k00_produce, k01_k78_fetch
from tsproxy.wire.apis import APIS

cdef enum:
    SIZE_BYTES = 4
    SMALLEST = 10                # a request: key, version, correlation id, null client id
    OLDEST_PRODUCE = 3           # the first with batches of magic 2
    NEWEST_PRODUCE = 13
    RECORD_ERRORS_FROM = 8       # from this version on, a broker's answer names the rejected records
    FETCH_KEY = 1
    SHARE_FETCH_KEY = 78
    ZSTD = 4                     # the last codec
    MAX_COMPARED = 32           # so many are compared each with each; more are sorted first

cdef int16_t NODE_ENDPOINTS_FROM = k01_k78_fetch.NODE_ENDPOINTS_FROM
cdef int32_t MAX_PARTITIONS = k00_produce.MAX_PARTITIONS
cdef bytes FLEXIBLE_BY_KEY = bytes(
    min(APIS[key].flexible_from, 255) if key in APIS else 255 for key in range(max(APIS) + 1)
)
"""By API key: the first flexible version, 255 for none."""
cdef bytes OLDEST_BY_KEY = bytes(APIS[key].kafka_4_from if key in APIS else 0 for key in range(max(APIS) + 1))
"""By API key: the oldest version that Kafka 4 takes. The session notes who uses older ones."""


cdef bint is_text(const uint8_t* at, int64_t size, bytes text) noexcept:
    """True if the `size` bytes at `at` are `text`. If `text` is None, only size -1 (null) matches."""
    if text is None or size < 0:
        return text is None and size == -1
    return size == PyBytes_GET_SIZE(text) and memcmp(at, PyBytes_AS_STRING(text), size) == 0


cdef int compared(const void* one, const void* other) noexcept nogil:
    cdef uint64_t a = (<const uint64_t*>one)[0], b = (<const uint64_t*>other)[0]
    return (a > b) - (a < b)


cdef bint is_within(Row* row, int64_t lowest_ms, int64_t highest_ms, int64_t now_ms) noexcept:
    """True for times in the row's range, and for records without a time (KIP-32); `now_ms` is not negative."""
    cdef Span allowed
    if lowest_ms > highest_ms or not row.is_bounded:
        return True
    allowed = range_at(row.before_max_ms, row.after_max_ms, now_ms)
    return allowed.lowest <= lowest_ms and highest_ms <= allowed.highest


cdef class Newest:
    pass


cdef class RequestFilter:
    def __cinit__(self, InFlight in_flight, bytes relayed, produce_frame, other_frame, new_budget):
        if len(relayed) != len(FLEXIBLE_BY_KEY):
            raise ValueError("one byte an API key")
        self.in_flight, self.relayed = in_flight, relayed
        self.produce_frame, self.other_frame = produce_frame, other_frame
        self.new_budget, self.refused = new_budget, -1
        self.oldest_produce, self.newest_produce = OLDEST_PRODUCE, NEWEST_PRODUCE

    def forward_buffered(self, data, Py_ssize_t start, Py_ssize_t most, int64_t now_ms, budget):
        cdef Py_buffer view
        cdef const uint8_t* begin
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            begin = <const uint8_t*>view.buf
            self.budget = budget
            return self.end_of_run(begin + start, begin + view.len, most, now_ms) - begin
        finally:
            self.budget = None
            PyBuffer_Release(&view)

    def take_budget(self):
        budget, self.budget = self.budget, None
        return self.new_budget() if budget is None else budget

    def forward_read(self, data, int64_t now_ms):
        cdef Py_buffer view
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            return self.run(<const uint8_t*>view.buf, view.len, now_ms)
        finally:
            PyBuffer_Release(&view)

    def awaits_more(self, data):
        cdef Py_buffer view
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            return self.is_beginning(<const uint8_t*>view.buf, view.len)
        finally:
            PyBuffer_Release(&view)

    cdef bint may_take(self) noexcept:
        """True if no byte has to go to the session first."""
        return self.is_open and (self.newest is None or self.newest.number == self.view_number)

    cdef Py_ssize_t run(self, const uint8_t* data, Py_ssize_t size, int64_t now_ms) except -1:
        """How many bytes of one read may be forwarded."""
        self.budget = None
        if not self.may_take():
            return 0
        return self.end_of_run(data, data + size, self.most_in_flight - self.in_flight.count - 1, now_ms) - data

    cdef bint is_beginning(self, const uint8_t* data, Py_ssize_t size) noexcept:
        cdef int64_t announced
        if not self.is_open or size < SIZE_BYTES:
            return self.is_open
        announced = peek_int32(data)
        if announced < SMALLEST or announced <= size - SIZE_BYTES:
            return False
        if size < SIZE_BYTES + 2:
            return announced <= max(self.produce_frame, self.other_frame)
        return announced <= (self.produce_frame if peek_int16(data + SIZE_BYTES) == 0 else self.other_frame)

    cdef const uint8_t* end_of_run(
        self, const uint8_t* at, const uint8_t* end, Py_ssize_t most, int64_t now_ms
    ) except NULL:
        """The end of the requests, at most `most` of them from `at` on, that may be forwarded."""
        cdef int64_t size
        while most > 0 and end - at >= SIZE_BYTES + SMALLEST:
            size = peek_int32(at)
            if size < SMALLEST or size > end - at - SIZE_BYTES:
                break
            if not self.forwards(at + SIZE_BYTES, size, now_ms):
                break
            at += SIZE_BYTES + size
            most -= 1
        return at

    cdef int forwards(self, const uint8_t* payload, int64_t size, int64_t now_ms) except -1:
        """1 if the request may be forwarded (it is then in flight), else 0."""
        cdef Cursor cursor = Cursor(payload, payload + size, False)
        if peek_int16(payload) == 0:
            return self.forwards_produce(&cursor, now_ms)
        return size <= self.other_frame and self.forwards_other(&cursor, now_ms)

    cdef int forwards_other(self, Cursor* cursor, int64_t now_ms) except -1:
        cdef int16_t api_key = read_int16(cursor)
        cdef int16_t version = read_int16(cursor)
        cdef int32_t correlation_id = read_int32(cursor)
        cdef int64_t client_id_size = read_int16(cursor)
        cdef Kind kind
        if cursor.is_bad or api_key < 0 or api_key >= PyBytes_GET_SIZE(self.relayed) or client_id_size < -1:
            return 0
        if client_id_size > 0:
            take(cursor, client_id_size)
        no_tags(cursor, version >= <uint8_t>PyBytes_AS_STRING(FLEXIBLE_BY_KEY)[api_key])
        if cursor.is_bad or version < <uint8_t>PyBytes_AS_STRING(OLDEST_BY_KEY)[api_key]:
            return 0
        if version >= <uint8_t>PyBytes_AS_STRING(self.relayed)[api_key]:
            return 0
        kind = RELAY
        if api_key == FETCH_KEY and version >= NODE_ENDPOINTS_FROM:
            kind = FETCH
        elif api_key == SHARE_FETCH_KEY:
            kind = SHARE_FETCH if version else SHARE_FETCH_0
        self.in_flight.add(Entry(kind, version, 0, correlation_id, 0, now_ms, NULL))
        return 1

    cdef bint is_offered(self, int16_t version) noexcept:
        """True if the layout of the version is known here, and the broker supports the version."""
        if version < OLDEST_PRODUCE or version > NEWEST_PRODUCE:
            return False
        return self.oldest_produce <= version <= self.newest_produce

    cdef bint begins_produce(self, Cursor* cursor, int64_t now_ms, ProduceHead* head) noexcept:
        """True for a Produce request that the table was made for. `cursor` is then at its topics."""
        cdef int64_t size = cursor.end - cursor.at
        cdef int64_t client_id_size, id_size
        cdef const uint8_t* client_id
        cdef const uint8_t* transactional_id
        if self.table is None or size > self.produce_frame or now_ms < 0 or read_int16(cursor) != 0:
            return False
        head.version, head.correlation_id = read_int16(cursor), read_int32(cursor)
        head.is_flexible = head.version >= FLEXIBLE_FROM
        client_id_size = read_int16(cursor)
        client_id = take(cursor, client_id_size) if client_id_size > 0 else cursor.at
        no_tags(cursor, head.is_flexible)
        if cursor.is_bad or not self.is_offered(head.version):
            return False
        if not is_text(client_id, client_id_size, self.table.client_id_bytes):
            return False
        if self.table.names_ids != (head.version >= TOPIC_IDS_FROM):
            return False
        id_size = read_string_size(cursor, head.is_flexible)
        transactional_id = take(cursor, id_size) if id_size > 0 else cursor.at
        head.acks = read_int16(cursor)
        read_int32(cursor)  # timeout_ms
        head.topics = read_size(cursor, head.is_flexible)
        if cursor.is_bad or head.topics < 1 or (head.acks != -1 and head.acks != 1):
            return False
        return is_text(transactional_id, id_size, self.table.transactional_id_bytes)

    cdef int forwards_produce(self, Cursor* body, int64_t now_ms) except -1:
        cdef ProduceHead head
        cdef Py_ssize_t staged_before = self.in_flight.batch_count
        cdef int64_t topics, number = self.in_flight.answered + self.in_flight.count
        cdef Py_ssize_t row = -1
        # A batch that was drawn and found bad must not be drawn again, when the session asks about its request.
        if number == self.refused or not self.begins_produce(body, now_ms, &head):
            return 0
        self.may_draw = self.has_decompressed = False
        topics = head.topics
        while topics > 0 and not body.is_bad:
            row = self.stage_topic(body, &head, row + 1, now_ms)
            topics -= 1
            if self.in_flight.batch_count - staged_before > MAX_PARTITIONS:
                body.is_bad = True
        no_tags(body, head.is_flexible)
        if not is_whole(body) or not self.are_named_once(staged_before):
            self.in_flight.unstage(staged_before)
            if self.may_draw:
                self.refused = number
            if self.has_decompressed:
                self.budget.refuse()
            return 0
        self.in_flight.add(
            Entry(
                kind=PRODUCE,
                api_version=head.version,
                acks=head.acks,
                correlation_id=head.correlation_id,
                batches=<int32_t>(self.in_flight.batch_count - staged_before),
                now_ms=now_ms,
                owner=<PyObject*>self.table,
            )
        )
        self.table.in_flight += 1
        return 1

    cdef bint are_named_once(self, Py_ssize_t first) except -1:
        """True if the batches that are staged from `first` on are all of different partitions."""
        cdef Py_ssize_t count = self.in_flight.batch_count - first, at, other
        cdef Batch* one
        cdef uint64_t* named
        cdef bint is_once = True
        if count > MAX_COMPARED:
            named = <uint64_t*>PyMem_Malloc(count * sizeof(uint64_t))
            if named == NULL:
                raise MemoryError
            for at in range(count):
                one = self.in_flight.batch(first + at)
                named[at] = <uint64_t>one.row << 32 | <uint32_t>one.partition
            qsort(named, count, sizeof(uint64_t), compared)
            for at in range(1, count):
                is_once = is_once and named[at] != named[at - 1]
            PyMem_Free(named)
            return is_once
        for at in range(first + 1, first + count):
            one = self.in_flight.batch(at)
            for other in range(first, at):
                if self.in_flight.batch(other).partition == one.partition:
                    is_once = is_once and self.in_flight.batch(other).row != one.row
        return is_once

    cdef Py_ssize_t stage_topic(
        self, Cursor* body, ProduceHead* head, Py_ssize_t guess, int64_t now_ms
    ) except? -2:
        """Stage the batches of the next topic, and return the topic's row. `body` becomes bad if one of them
        may not be forwarded."""
        cdef bint is_flexible = head.is_flexible
        cdef int64_t key_size = read_key_size(body, head.version)
        cdef const uint8_t* key = take(body, key_size)
        cdef int64_t partitions = read_size(body, is_flexible)
        cdef Py_ssize_t row = -1
        if not body.is_bad and 0 < partitions <= MAX_PARTITIONS:
            row = self.table.row_of(key, key_size, guess)
        if row < 0:
            body.is_bad = True
            return row
        while partitions > 0 and not body.is_bad:
            self.stage_partition(body, head, row, now_ms)
            partitions -= 1
        no_tags(body, is_flexible)
        return row

    cdef int stage_partition(
        self, Cursor* body, ProduceHead* head, Py_ssize_t row, int64_t now_ms
    ) except -1:
        cdef int32_t partition = read_int32(body)
        cdef int64_t size = read_size(body, head.is_flexible)
        cdef const uint8_t* records = take(body, size)
        cdef Batch* batch
        no_tags(body, head.is_flexible)
        if body.is_bad:
            return 0
        batch = self.in_flight.stage()
        batch.row, batch.partition = <int32_t>row, partition
        if not self.is_acceptable(records, size, head.version, batch, now_ms):
            body.is_bad = True
        return 0

    cdef bint is_acceptable(
        self, const uint8_t* at, int64_t size, int16_t version, Batch* batch, int64_t now_ms
    ) except -1:
        """True for one v2 batch with a usual header and times within bounds."""
        cdef Walked walked
        cdef int32_t count
        if not is_usual(at, size, self.table.transactional_id_bytes is not None, self.table.records_per_batch):
            return False
        count = records_of(at)
        batch.producer_id, batch.producer_epoch = peek_int64(at + 43), peek_int16(at + 51)
        batch.codec = peek_int16(at + 21) & CODEC
        batch.is_unread = False
        if batch.codec and version >= RECORD_ERRORS_FROM:
            batch.is_unread = self.is_header_enough(at, batch, now_ms)
        if batch.is_unread:
            walked.lowest, walked.highest = peek_int64(at + 27), peek_int64(at + 35)
        elif batch.codec:
            if not self.read_compressed(at, size, count, batch, &walked):
                return False
        else:
            walk_records(at + BATCH_HEADER, at + size, peek_int64(at + 27), count, True, &walked)
            if walked.fault != FINE:
                return False
        if peek_int64(at + 35) != max(walked.highest, -1):  # a broker's maximum begins at -1
            return False
        batch.size_in_bytes, batch.records = <int32_t>size, count
        batch.lowest_ms, batch.highest_ms = walked.lowest, walked.highest
        return is_within(&self.table.rows[batch.row], walked.lowest, walked.highest, now_ms)

    cdef bint is_header_enough(self, const uint8_t* at, Batch* batch, int64_t now_ms) except -1:
        """True if the batch may be judged by the times in its header. The base is the first record's time."""
        cdef int64_t base = peek_int64(at + 27)
        cdef Row* row = &self.table.rows[batch.row]
        self.may_draw = self.may_draw or row.trust != NULL
        if not self.table.may_stay_unread(row, now_ms):
            return False
        return batch.codec <= ZSTD and 0 <= base <= peek_int64(at + 35)

    cdef bint read_compressed(
        self, const uint8_t* at, int64_t size, int32_t count, Batch* batch, Walked* walked
    ) except -1:
        """True if the records were read (in Python) and have no fault. `walked` then spans their times."""
        cdef Table table = self.table
        if batch.codec > ZSTD or table.read_compressed is None:
            return False
        if self.budget is None:
            self.budget = self.new_budget()
        self.has_decompressed = True
        # Not copied here: large ones are not read.
        body = PyMemoryView_FromMemory(<char*>at + BATCH_HEADER, size - BATCH_HEADER, PyBUF_READ)
        limits = table.limits[batch.row]
        try:
            facts = table.read_compressed(batch.codec, body, peek_int64(at + 27), count, limits, self.budget)
        finally:
            body.release()  # whoever still has it gets an error, and not the memory of other bytes
        if facts is None or facts.fault is not None:
            return False
        walked.lowest = INT64_MAX if facts.lowest_ms is None else facts.lowest_ms
        walked.highest = INT64_MIN if facts.highest_ms is None else facts.highest_ms
        return True
