# cython: language_level=3, boundscheck=False, wraparound=False
"""Which requests and answers pass: whole frames, and nothing about them that needs thought.

Every read of a frame goes through a `Cursor` or the walk, which both stay inside it.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.ref cimport PyObject
from libc.stdint cimport INT64_MAX, INT64_MIN, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp

from tsproxy.wire.kernel._native.cursor cimport (
    Cursor, is_whole, no_tags, peek_int16, peek_int32, peek_int64,
    read_int16, read_int32, read_size, read_string_size, take,
)
from tsproxy.wire.kernel._native.in_flight cimport PRODUCE, RELAY, SLOT, Entry, InFlight
from tsproxy.wire.kernel._native.table cimport Batch, Row, Table
from tsproxy.wire.kernel._native.usual cimport BATCH_HEADER, CODEC, is_usual, records_of
from tsproxy.wire.kernel._native.walk cimport FINE, Walked, walk_records

cdef enum:
    SIZE_BYTES = 4
    SMALLEST = 10                # a request: key, version, correlation id, null client id
    OLDEST_PRODUCE = 3           # the first with batches of magic 2
    NEWEST_PRODUCE = 12
    PRODUCE_FLEXIBLE_FROM = 9
    ZSTD = 4                     # the last codec there is
    MOST_UNORDERED = 64          # one bit each
    MOST_PARTITIONS = 20000      # as k00_produce
    MOST_COMPARED = 32           # each with each; of more, sorted neighbours


cdef bint is_text(const uint8_t* at, int64_t size, bytes text) noexcept:
    """True where `size` bytes at `at` are `text`; a size below 0 is null, and so is None."""
    if text is None or size < 0:
        return text is None and size == -1
    return size == PyBytes_GET_SIZE(text) and memcmp(at, PyBytes_AS_STRING(text), size) == 0


cdef int compared(const void* one, const void* other) noexcept nogil:
    cdef uint64_t a = (<const uint64_t*>one)[0], b = (<const uint64_t*>other)[0]
    return (a > b) - (a < b)


cdef bint is_within(Row* row, int64_t lowest_ms, int64_t highest_ms, int64_t now_ms) noexcept:
    """As `Row.allows` of the twin; `now_ms` is not negative."""
    cdef int64_t wrapping = INT64_MIN + now_ms + 1
    if lowest_ms > highest_ms or not row.is_bounded:
        return True
    if lowest_ms < wrapping or (row.before_max_ms >= 0 and lowest_ms < now_ms - row.before_max_ms):
        return False
    return row.after_max_ms < 0 or now_ms > INT64_MAX - row.after_max_ms or highest_ms <= now_ms + row.after_max_ms


cdef class RequestLexer:
    """See `_twin/lexers.py`."""

    def __cinit__(
        self, InFlight in_flight, bytes relayed, bytes flexible_from,
        produce_frame, other_frame, read_compressed=None,
    ):
        if len(relayed) != len(flexible_from):
            raise ValueError("both tables have one byte an API key")
        self.in_flight = in_flight
        self.relayed, self.flexible_from = relayed, flexible_from
        self.produce_frame, self.other_frame = produce_frame, other_frame
        self.read_compressed = read_compressed
        self.oldest_produce, self.newest_produce = OLDEST_PRODUCE, NEWEST_PRODUCE

    def passing(self, data, Py_ssize_t start, Py_ssize_t room, int64_t now_ms):
        cdef Py_buffer view
        cdef const uint8_t* begin
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            begin = <const uint8_t*>view.buf
            return self.fine(begin + start, begin + view.len, room, now_ms) - begin
        finally:
            PyBuffer_Release(&view)

    def pass_on(self, data, int64_t now_ms):
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

    cdef Py_ssize_t run(self, const uint8_t* data, Py_ssize_t size, int64_t now_ms) except -1:
        if not self.is_open:
            return 0
        self.goes += 1
        return self.fine(data, data + size, self.most_in_flight - self.in_flight.count - 1, now_ms) - data

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

    cdef const uint8_t* fine(
        self, const uint8_t* at, const uint8_t* end, Py_ssize_t room, int64_t now_ms
    ) except NULL:
        """Where the run of fine requests ends that begins at `at`, `room` of them at most."""
        cdef int64_t size
        while room > 0 and end - at >= SIZE_BYTES + SMALLEST:
            size = peek_int32(at)
            if size < SMALLEST or size > end - at - SIZE_BYTES:
                break
            if not self.passes(at + SIZE_BYTES, size, now_ms):
                break
            at += SIZE_BYTES + size
            room -= 1
        return at

    cdef int passes(self, const uint8_t* payload, int64_t size, int64_t now_ms) except -1:
        """1 for a request that may go on, and is in flight now; else 0."""
        cdef Cursor cursor = Cursor(payload, payload + size, False)
        if peek_int16(payload) == 0:
            return self.produce_passes(&cursor, now_ms)
        return size <= self.other_frame and self.relay_passes(&cursor, now_ms)

    cdef int relay_passes(self, Cursor* cursor, int64_t now_ms) except -1:
        cdef int16_t api_key = read_int16(cursor)
        cdef int16_t version = read_int16(cursor)
        cdef int32_t correlation_id = read_int32(cursor)
        cdef int64_t client_id_size = read_int16(cursor)
        if cursor.is_bad or api_key < 0 or api_key >= PyBytes_GET_SIZE(self.relayed) or client_id_size < -1:
            return 0
        if client_id_size > 0:
            take(cursor, client_id_size)
        no_tags(cursor, version >= <uint8_t>PyBytes_AS_STRING(self.flexible_from)[api_key])
        if cursor.is_bad or version < 0:
            return 0
        if version >= <uint8_t>PyBytes_AS_STRING(self.relayed)[api_key]:
            return 0
        self.in_flight.add(Entry(RELAY, version, 0, correlation_id, 0, now_ms, NULL))
        return 1

    cdef bint is_offered(self, int16_t version) noexcept:
        """True for a version whose layout is known here, and that the broker takes."""
        if version < OLDEST_PRODUCE or version > NEWEST_PRODUCE:
            return False
        return self.oldest_produce <= version <= self.newest_produce

    cdef bint begins_produce(self, Cursor* cursor, int64_t now_ms, ProduceHead* head) noexcept:
        """True for a Produce request that this table was made for; `cursor` then stands before its topics."""
        cdef int64_t size = cursor.end - cursor.at
        cdef int64_t client_id_size, id_size
        cdef const uint8_t* client_id
        cdef const uint8_t* transactional_id
        if self.table is None or size > self.produce_frame or now_ms < 0 or read_int16(cursor) != 0:
            return False
        head.version, head.correlation_id = read_int16(cursor), read_int32(cursor)
        head.is_flexible = head.version >= PRODUCE_FLEXIBLE_FROM
        client_id_size = read_int16(cursor)
        client_id = take(cursor, client_id_size) if client_id_size > 0 else cursor.at
        no_tags(cursor, head.is_flexible)
        if cursor.is_bad or not self.is_offered(head.version):
            return False
        if not is_text(client_id, client_id_size, self.table.client_id_bytes):
            return False
        id_size = read_string_size(cursor, head.is_flexible)
        transactional_id = take(cursor, id_size) if id_size > 0 else cursor.at
        head.acks = read_int16(cursor)
        read_int32(cursor)  # timeout_ms
        head.topics = read_size(cursor, head.is_flexible)
        if cursor.is_bad or head.topics < 1 or (head.acks != -1 and head.acks != 1):
            return False
        return is_text(transactional_id, id_size, self.table.transactional_id_bytes)

    cdef int produce_passes(self, Cursor* body, int64_t now_ms) except -1:
        cdef ProduceHead head
        cdef Py_ssize_t staged_before = self.in_flight.batch_count
        cdef int64_t topics
        cdef Py_ssize_t row = -1
        if not self.begins_produce(body, now_ms, &head):
            return 0
        topics = head.topics
        while topics > 0 and not body.is_bad:
            row = self.stage_topic(body, head.is_flexible, row + 1, now_ms)
            topics -= 1
        no_tags(body, head.is_flexible)
        if not is_whole(body) or self.in_flight.batch_count - staged_before > MOST_PARTITIONS:
            self.in_flight.batch_count = staged_before
            return 0
        if not self.are_named_once(staged_before):
            self.in_flight.batch_count = staged_before
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
        """True where no two of the batches that are staged from `first` on are of one partition."""
        cdef Py_ssize_t count = self.in_flight.batch_count - first, at, other
        cdef Batch* one
        cdef uint64_t* named
        cdef bint is_once = True
        if count > MOST_COMPARED:
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
        self, Cursor* body, bint is_flexible, Py_ssize_t guess, int64_t now_ms
    ) except? -2:
        """Stage the batches of the topic that comes next, and return its row; `body` is bad if it may not."""
        cdef int64_t name_size = read_string_size(body, is_flexible)
        cdef const uint8_t* name = take(body, name_size)
        cdef int64_t partitions = read_size(body, is_flexible)
        cdef Py_ssize_t row = -1
        if not body.is_bad and partitions > 0:
            row = self.table.row_of(name, name_size, guess)
        if row < 0:
            body.is_bad = True
            return row
        while partitions > 0 and not body.is_bad:
            self.stage_partition(body, is_flexible, row, now_ms)
            partitions -= 1
        no_tags(body, is_flexible)
        return row

    cdef int stage_partition(self, Cursor* body, bint is_flexible, Py_ssize_t row, int64_t now_ms) except -1:
        cdef int32_t partition = read_int32(body)
        cdef int64_t size = read_size(body, is_flexible)
        cdef const uint8_t* records = take(body, size)
        cdef Batch* batch
        no_tags(body, is_flexible)
        if body.is_bad:
            return 0
        batch = self.in_flight.stage()
        batch.row, batch.partition = <int32_t>row, partition
        if not self.batch_is_fine(records, size, batch, now_ms):
            body.is_bad = True
        return 0

    cdef bint batch_is_fine(
        self, const uint8_t* at, int64_t size, Batch* batch, int64_t now_ms
    ) except -1:
        """True for one v2 batch whose header nobody minds and whose times are within bounds."""
        cdef Walked found
        cdef int32_t count
        if not is_usual(at, size, self.table.transactional_id_bytes is not None, self.table.records_per_batch):
            return False
        count = records_of(at)
        batch.producer_id, batch.producer_epoch = peek_int64(at + 43), peek_int16(at + 51)
        batch.codec = peek_int16(at + 21) & CODEC
        if batch.codec:
            if not self.walks_compressed(at, size, count, batch, &found):
                return False
        else:
            walk_records(at + BATCH_HEADER, at + size, peek_int64(at + 27), count, True, &found)
            if found.fault != FINE:
                return False
        if peek_int64(at + 35) != max(found.highest, -1):  # where a broker's maximum begins
            return False
        batch.size_in_bytes, batch.records = <int32_t>size, count
        batch.lowest_ms, batch.highest_ms = found.lowest, found.highest
        return is_within(&self.table.rows[batch.row], found.lowest, found.highest, now_ms)

    cdef bint walks_compressed(
        self, const uint8_t* at, int64_t size, int32_t count, Batch* batch, Walked* found
    ) except -1:
        """True where the records are read, in Python, and have no fault; `found` then spans their times."""
        if batch.codec > ZSTD or self.read_compressed is None:
            return False
        body = PyBytes_FromStringAndSize(<const char*>at + BATCH_HEADER, size - BATCH_HEADER)
        limits = self.table.limits[batch.row]
        facts = self.read_compressed(batch.codec, body, peek_int64(at + 27), count, limits)
        if facts is None or facts.fault is not None:
            return False
        found.lowest = INT64_MAX if facts.lowest_ms is None else facts.lowest_ms
        found.highest = INT64_MIN if facts.highest_ms is None else facts.highest_ms
        return True


cdef class AnswerLexer:
    """See `_twin/lexers.py`."""

    def __cinit__(self, InFlight in_flight):
        self.in_flight = in_flight

    def passing(self, data, Py_ssize_t start):
        cdef Py_buffer view
        cdef const uint8_t* at
        cdef const uint8_t* end
        cdef int64_t size
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            at = <const uint8_t*>view.buf + start
            end = <const uint8_t*>view.buf + view.len
            while end - at >= 2 * SIZE_BYTES:
                size = peek_int32(at)
                if size < SIZE_BYTES or size > end - at - SIZE_BYTES:
                    break
                if not self.may_pass(at + SIZE_BYTES, size):
                    break
                self.book_head()
                at += SIZE_BYTES + size
            return at - <const uint8_t*>view.buf
        finally:
            PyBuffer_Release(&view)

    def pass_on(self, data):
        cdef Py_buffer view
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            return self.run(<const uint8_t*>view.buf, view.len)
        finally:
            PyBuffer_Release(&view)

    cdef Py_ssize_t run(self, const uint8_t* data, Py_ssize_t size) except -1:
        cdef const uint8_t* at = data
        cdef const uint8_t* end = data + size
        cdef InFlight asked = self.in_flight
        cdef int64_t left
        if not self.is_open:
            return 0
        while at < end:
            if asked.streaming == 0 and not self.begin(at, end):
                break
            left = min(asked.streaming, end - at)
            if left == asked.streaming:
                if self.is_slot_next():
                    break
                self.book_head()
            asked.streaming -= left
            at += left
        return at - data

    cdef bint is_slot_next(self) noexcept:
        """True where a slot of the session's comes to the head behind the answer that is told now."""
        cdef Entry* behind = self.in_flight.entry(1)
        return behind != NULL and behind.kind == SLOT

    cdef bint begin(self, const uint8_t* at, const uint8_t* end) noexcept:
        """True where the answer at `at` may go on, as far as it has come: it streams now."""
        cdef Entry* asked = self.in_flight.entry(0)
        cdef int64_t size
        if end - at < 2 * SIZE_BYTES:
            return False
        size = peek_int32(at)
        if size <= end - at - SIZE_BYTES:
            if self.is_slot_next() or not self.may_pass(at + SIZE_BYTES, size):
                return False
        elif asked == NULL or asked.kind != RELAY or peek_int32(at + SIZE_BYTES) != asked.correlation_id:
            return False
        self.in_flight.streaming = SIZE_BYTES + size
        return True

    cdef bint may_pass(self, const uint8_t* payload, int64_t size) noexcept:
        """True for the answer to the request at the head that may go on."""
        cdef Entry* asked = self.in_flight.entry(0)
        cdef Cursor answer = Cursor(payload + SIZE_BYTES, payload + size, False)
        if size < SIZE_BYTES or asked == NULL or asked.kind == SLOT:
            return False
        if peek_int32(payload) != asked.correlation_id:
            return False
        return asked.kind == RELAY or self.all_accepted(&answer, asked)

    cdef int book_head(self) except -1:
        """The head is answered, and where it has batches they are accepted."""
        cdef Entry* head = self.in_flight.entry(0)
        cdef Py_ssize_t at
        if head.kind == PRODUCE:
            for at in range(head.batches):
                (<Table>head.owner).book(self.in_flight.batch(at), head.correlation_id, head.now_ms)
        self.in_flight.drop()
        return 0

    cdef bint all_accepted(self, Cursor* answer, Entry* asked) noexcept:
        """True where the answer names each partition once, all with code 0, and tells nothing else."""
        cdef bint is_flexible = asked.api_version >= PRODUCE_FLEXIBLE_FROM
        cdef int64_t topics, partitions, name_size
        cdef const uint8_t* name
        cdef Py_ssize_t told = 0, found
        cdef uint64_t seen = 0
        no_tags(answer, is_flexible)
        topics = read_size(answer, is_flexible)
        while topics > 0 and not answer.is_bad:
            name_size = read_string_size(answer, is_flexible)
            name = take(answer, name_size)
            partitions = read_size(answer, is_flexible)
            if partitions < 1:
                return False
            while partitions > 0 and not answer.is_bad:
                found = -1
                if told < asked.batches:
                    found = self.find(asked, name, name_size, read_int32(answer), told, seen)
                if found < 0:
                    return False
                seen |= <uint64_t>1 << (found & (MOST_UNORDERED - 1))
                self.read_yes(answer, asked.api_version, is_flexible)
                told += 1
                partitions -= 1
            no_tags(answer, is_flexible)
            topics -= 1
        read_int32(answer)  # throttle_time_ms
        no_tags(answer, is_flexible)
        return told == asked.batches and is_whole(answer)

    cdef Py_ssize_t find(
        self,
        Entry* asked,
        const uint8_t* topic,
        int64_t topic_size,
        int32_t partition,
        Py_ssize_t expected,
        uint64_t seen,
    ) noexcept:
        """Which batch is spoken of, -1 for none: mostly the expected one, else one not seen yet."""
        cdef Py_ssize_t at
        if topic == NULL:
            return -1
        if asked.batches > MOST_UNORDERED:
            return expected if self.is_of(asked, expected, topic, topic_size, partition) else -1
        if not seen >> expected & 1 and self.is_of(asked, expected, topic, topic_size, partition):
            return expected
        for at in range(asked.batches):
            if not seen >> at & 1 and self.is_of(asked, at, topic, topic_size, partition):
                return at
        return -1

    cdef bint is_of(
        self, Entry* asked, Py_ssize_t index, const uint8_t* topic, int64_t topic_size, int32_t partition
    ) noexcept:
        cdef Batch* batch = self.in_flight.batch(index)
        cdef Row* row = &(<Table>asked.owner).rows[batch.row]
        if batch.partition != partition or row.topic_size != topic_size:
            return False
        return memcmp(row.topic, topic, topic_size) == 0

    cdef void read_yes(self, Cursor* answer, int16_t version, bint is_flexible) noexcept:
        """Past what one partition is told; bad unless that is code 0 and nothing more."""
        if read_int16(answer) != 0:
            answer.is_bad = True
        take(answer, 8 + 8)  # base_offset, log_append_time_ms
        if version >= 5:
            take(answer, 8)  # log_start_offset
        if version >= 8:
            if read_size(answer, is_flexible) != 0 or read_string_size(answer, is_flexible) != -1:
                answer.is_bad = True
        no_tags(answer, is_flexible)
