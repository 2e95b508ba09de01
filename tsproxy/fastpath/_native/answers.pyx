# cython: language_level=3, boundscheck=False, wraparound=False
"""The answers that may be forwarded as they came: the proxy does not read them, or they accept every batch.

Every read of a frame goes through a `Cursor`, which stays inside it.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

from tsproxy.fastpath._native.in_flight cimport FETCH, PRODUCE, RELAY, SHARE_FETCH, SLOT, Entry, InFlight
from tsproxy.fastpath._native.table cimport Batch, Row, Table
from tsproxy.fastpath._native.topic_key cimport FLEXIBLE_FROM, read_key_size
from tsproxy.wire.readers._native.cursor cimport (
    Cursor, is_whole, no_tags, peek_int32, read_int16, read_int32, read_size, read_string_size, take,
)
from tsproxy.wire.readers._native.fetch cimport OVER, FetchPlace, begin_fetch, end_fetch, walk_fetch

cdef enum:
    SIZE_BYTES = 4
    MAX_UNORDERED = 64          # one bit each


cdef class AnswerFilter:

    def __cinit__(self, InFlight in_flight):
        self.in_flight = in_flight

    def forward_buffered(self, data, Py_ssize_t start):
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
                if not self.is_forwardable(at + SIZE_BYTES, size):
                    break
                self.count_head()
                at += SIZE_BYTES + size
            return at - <const uint8_t*>view.buf
        finally:
            PyBuffer_Release(&view)

    def forward_read(self, data):
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
            if left == asked.streaming and self.is_slot_next():
                break
            if not asked.fetch.passes(at, left):
                break
            if left == asked.streaming:
                self.count_head()
            asked.streaming -= left
            at += left
        return at - data

    cdef bint is_slot_next(self) noexcept:
        """True if the request after the head is a slot of the session."""
        cdef Entry* behind = self.in_flight.entry(1)
        return behind != NULL and behind.kind == SLOT

    cdef bint begin(self, const uint8_t* at, const uint8_t* end) noexcept:
        """True if the answer at `at` may be forwarded as far as it has come. It then streams. If an
        answer of Fetch or ShareFetch is not whole, `fetch` decides how far it may be forwarded."""
        cdef Entry* asked = self.in_flight.entry(0)
        cdef int64_t size
        end_fetch(&self.in_flight.fetch.place)
        if end - at < 2 * SIZE_BYTES:
            return False
        size = peek_int32(at)
        if size <= end - at - SIZE_BYTES:
            if self.is_slot_next() or not self.is_forwardable(at + SIZE_BYTES, size):
                return False
        elif asked == NULL or peek_int32(at + SIZE_BYTES) != asked.correlation_id:
            return False
        elif FETCH <= asked.kind <= SHARE_FETCH:
            begin_fetch(&self.in_flight.fetch.place, SIZE_BYTES + size, asked.kind - FETCH)
        elif asked.kind != RELAY:
            return False
        self.in_flight.streaming = SIZE_BYTES + size
        return True

    cdef bint is_forwardable(self, const uint8_t* payload, int64_t size) noexcept:
        """True if the answer belongs to the request at the head, and may be forwarded."""
        cdef Entry* asked = self.in_flight.entry(0)
        cdef Cursor answer = Cursor(payload + SIZE_BYTES, payload + size, False)
        if size < SIZE_BYTES or asked == NULL or asked.kind == SLOT:
            return False
        if peek_int32(payload) != asked.correlation_id:
            return False
        if FETCH <= asked.kind <= SHARE_FETCH:
            return self.names_no_nodes(payload - SIZE_BYTES, SIZE_BYTES + size, asked.kind - FETCH)
        return asked.kind == RELAY or self.all_accepted(&answer, asked)

    cdef bint names_no_nodes(self, const uint8_t* at, int64_t size, int layout) noexcept:
        """True for a whole Fetch or ShareFetch answer without a tail that may name brokers."""
        cdef FetchPlace place
        begin_fetch(&place, size, layout)
        return walk_fetch(&place, at, at + size) == at + size and place.phase == OVER

    cdef int count_head(self) except -1:
        """Count the head's batches (if it has any) as accepted, and remove the head."""
        cdef Entry* head = self.in_flight.entry(0)
        cdef Py_ssize_t at
        if head.kind == PRODUCE:
            for at in range(head.batches):
                (<Table>head.owner).count_accepted(self.in_flight.batch(at), self.in_flight.answered, head.now_ms)
        self.in_flight.drop()
        return 0

    cdef bint all_accepted(self, Cursor* answer, Entry* asked) noexcept:
        """True if the answer names each partition once, all with code 0, and contains nothing else."""
        cdef bint is_flexible = asked.api_version >= FLEXIBLE_FROM
        cdef int64_t topics, partitions, key_size
        cdef const uint8_t* key
        cdef Py_ssize_t named = 0, place
        cdef uint64_t seen = 0
        no_tags(answer, is_flexible)
        topics = read_size(answer, is_flexible)
        while topics > 0 and not answer.is_bad:
            key_size = read_key_size(answer, asked.api_version)
            key = take(answer, key_size)
            partitions = read_size(answer, is_flexible)
            if partitions < 1:
                return False
            while partitions > 0 and not answer.is_bad:
                place = -1
                if named < asked.batches:
                    place = self.find(asked, key, key_size, read_int32(answer), named, seen)
                if place < 0:
                    return False
                seen |= <uint64_t>1 << (place & (MAX_UNORDERED - 1))
                self.read_acceptance(answer, asked.api_version, is_flexible)
                named += 1
                partitions -= 1
            no_tags(answer, is_flexible)
            topics -= 1
        read_int32(answer)  # throttle_time_ms
        no_tags(answer, is_flexible)
        return named == asked.batches and is_whole(answer)

    cdef Py_ssize_t find(
        self,
        Entry* asked,
        const uint8_t* key,
        int64_t key_size,
        int32_t partition,
        Py_ssize_t expected,
        uint64_t seen,
    ) noexcept:
        """The place of the named batch, -1 for none. It is mostly `expected`, else a place not in `seen`."""
        cdef Py_ssize_t at
        if key == NULL:
            return -1
        if asked.batches > MAX_UNORDERED:
            return expected if self.is_of(asked, expected, key, key_size, partition) else -1
        if not seen >> expected & 1 and self.is_of(asked, expected, key, key_size, partition):
            return expected
        for at in range(asked.batches):
            if not seen >> at & 1 and self.is_of(asked, at, key, key_size, partition):
                return at
        return -1

    cdef bint is_of(
        self, Entry* asked, Py_ssize_t index, const uint8_t* key, int64_t key_size, int32_t partition
    ) noexcept:
        cdef Batch* batch = self.in_flight.batch(index)
        cdef Row* row = &(<Table>asked.owner).rows[batch.row]
        if batch.partition != partition or row.key_size != key_size:
            return False
        return memcmp(row.key, key, key_size) == 0

    cdef void read_acceptance(self, Cursor* answer, int16_t version, bint is_flexible) noexcept:
        """Read one partition's answer. `answer` becomes bad unless that is code 0 and nothing more."""
        if read_int16(answer) != 0:
            answer.is_bad = True
        take(answer, 8 + 8)  # base_offset, log_append_time_ms
        if version >= 5:
            take(answer, 8)  # log_start_offset
        if version >= 8:
            if read_size(answer, is_flexible) != 0 or read_string_size(answer, is_flexible) != -1:
                answer.is_bad = True
        no_tags(answer, is_flexible)
