# cython: language_level=3, boundscheck=False, wraparound=False
"""The suspect records of a batch, found as its pieces come. Nothing of a piece is kept.

A record that is whole in one piece is read at once. A record that the end of a piece cuts is read field by
field (`stream.pxd`).
"""

from cpython cimport array
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT64_MIN, int32_t, int64_t, uint8_t, uint64_t

import array

from tsproxy.model.records import Culprits, Records
from tsproxy.wire.readers._native.record cimport Fields, any_record, zigzag
from tsproxy.wire.readers._native.stream cimport LENGTH, RECORD_END, Stream, begin_stream, take_byte
from tsproxy.wire.readers._native.walk cimport FINE

cdef array.array INTS = array.array("i")
cdef array.array LONGS = array.array("q")

cdef struct Wanted:          # see `model.records.Suspects`
    int64_t lowest_ms
    int64_t highest_ms
    bint has_clock
    int64_t now_ms
    int64_t before_max_ms
    int64_t after_max_ms
    bint is_edge
    bint needs_key
    bint is_each
    bint is_missing
    bint is_zero
    bint is_negative

cdef bint has_time(Wanted* wanted, int64_t time_ms) noexcept nogil:
    """True if the timestamp is suspect, as in `Suspects.has_time`."""
    cdef int64_t difference
    if wanted.is_each:
        return True
    if time_ms == -1:
        return wanted.is_missing
    if (time_ms == 0 and wanted.is_zero) or (time_ms < 0 and wanted.is_negative):
        return True
    if not wanted.has_clock or time_ms > <int64_t>(<uint64_t>INT64_MIN + <uint64_t>wanted.now_ms):
        return time_ms < wanted.lowest_ms or time_ms > wanted.highest_ms
    difference = <int64_t>(<uint64_t>wanted.now_ms - <uint64_t>time_ms)
    if difference == INT64_MIN:
        return wanted.is_edge
    return difference > wanted.before_max_ms or -difference > wanted.after_max_ms


cdef class Finder:
    """Finds the suspect records of a batch. `__init__.pyi` describes it."""

    cdef Stream stream
    cdef Wanted wanted
    cdef int32_t index           # of the record that comes next
    cdef int32_t count
    cdef Py_ssize_t culprits
    cdef Py_ssize_t listed
    cdef Py_ssize_t room
    cdef Py_ssize_t timely       # the place of `Culprits.timely` in the columns; below 0 while there is none
    cdef array.array positions, times, offset_deltas, key_sizes, value_sizes

    def __cinit__(self, int64_t base_timestamp, int32_t count, suspects, Py_ssize_t most):
        begin_stream(&self.stream, base_timestamp, count, False)
        clock = suspects.clock
        now_ms, before_max_ms, after_max_ms, is_edge = clock or (0, 0, 0, False)
        self.wanted = Wanted(
            suspects.lowest_ms, suspects.highest_ms, clock is not None, now_ms, before_max_ms, after_max_ms,
            is_edge, suspects.needs_key, suspects.is_each, suspects.is_missing, suspects.is_zero,
            suspects.is_negative,
        )
        self.count, self.room, self.timely = count, max(0, min(most, count)), -1
        self.positions = array.clone(INTS, self.room + 1, zero=True)
        self.times = array.clone(LONGS, self.room + 1, zero=True)
        self.offset_deltas = array.clone(LONGS, self.room + 1, zero=True)
        self.key_sizes = array.clone(INTS, self.room + 1, zero=True)
        self.value_sizes = array.clone(INTS, self.room + 1, zero=True)

    def feed(self, data):
        cdef Py_buffer view
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        with nogil:
            self.read_on(<const uint8_t*>view.buf, <const uint8_t*>view.buf + view.len)
        PyBuffer_Release(&view)

    def finish(self):
        cdef Py_ssize_t size = self.listed + (self.timely == self.listed)
        array.resize(self.positions, size)
        array.resize(self.times, size)
        array.resize(self.offset_deltas, size)
        array.resize(self.key_sizes, size)
        array.resize(self.value_sizes, size)
        return Culprits(
            self.culprits,
            self.positions,
            Records(self.times, self.offset_deltas, self.key_sizes, self.value_sizes),
            None if self.timely < 0 else self.timely,
        )

    cdef void read_on(self, const uint8_t* at, const uint8_t* end) noexcept nogil:
        cdef Stream* stream = &self.stream
        cdef int64_t step
        cdef Fields one
        while stream.facts.fault == FINE and self.index < self.count:
            if stream.skip > 0:
                step = stream.skip if stream.skip < end - at else end - at
                at += step
                stream.skip -= step
                if stream.skip > 0:
                    return
            if stream.field == RECORD_END:
                stream.field = LENGTH
                one.delta, one.offset_delta = stream.delta, stream.offset_delta
                one.key_size, one.value_size = stream.key_size, stream.value_size
                self.take(&one)
                continue
            if stream.field == LENGTH and stream.shift == 0:
                at = self.whole_records(at, end)
            if at == end or self.index >= self.count:
                return
            take_byte(stream, at[0])
            at += 1

    cdef const uint8_t* whole_records(self, const uint8_t* at, const uint8_t* end) noexcept nogil:
        """The beginning of the first record that is not whole here, or not right."""
        cdef Fields one
        cdef const uint8_t* record_end
        while self.index < self.count:
            record_end = any_record(at, end, False, &one)
            if record_end == NULL:
                break
            self.take(&one)
            at = record_end
        return at

    cdef void take(self, Fields* one) noexcept nogil:
        cdef int64_t time_ms = <int64_t>(<uint64_t>self.stream.base_timestamp + <uint64_t>zigzag(one.delta))
        cdef bint lacks_key = self.wanted.needs_key and one.key_size & 1
        cdef int32_t index = self.index
        self.index += 1
        if not lacks_key and not has_time(&self.wanted, time_ms):
            return
        self.culprits += 1
        if self.listed < self.room:
            self.put(self.listed, index, time_ms, one)
            if not lacks_key and self.timely < 0:
                self.timely = self.listed
            self.listed += 1
        elif not lacks_key and self.timely < 0:
            self.put(self.listed, index, time_ms, one)
            self.timely = self.listed

    cdef void put(self, Py_ssize_t at, int32_t index, int64_t time_ms, Fields* one) noexcept nogil:
        self.positions.data.as_ints[at] = index
        self.times.data.as_longlongs[at] = time_ms
        self.offset_deltas.data.as_longlongs[at] = zigzag(one.offset_delta)
        self.key_sizes.data.as_ints[at] = <int>zigzag(one.key_size)
        self.value_sizes.data.as_ints[at] = <int>zigzag(one.value_size)
