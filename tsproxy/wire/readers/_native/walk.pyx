# cython: language_level=3, boundscheck=False, wraparound=False
"""The walk over a batch's plain records, for Python. `walk.pxd` describes it."""

from cpython cimport array
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

import array

from tsproxy.model.records import Fault, RecordFacts, Records
from tsproxy.wire.readers._native.record cimport Fields, any_record, any_varint, payload, zigzag

cdef array.array INTS = array.array("i")
cdef array.array LONGS = array.array("q")

cdef enum:
    MIN_RECORD = 7      # bytes: five varints, the attributes and a header count
    SPAN_NUMBERS = 4

cdef tuple FAULTS = (
    None,
    Fault.PREMATURE_END,
    Fault.VARINT_TOO_LONG,
    Fault.MALFORMED_RECORD,
    Fault.RECORDS_REMAINING,
)
"""The fault for each `WalkFault`."""


def walk(data, int64_t base_timestamp, int32_t count, bint lengths_must_fit):
    cdef Py_buffer view
    cdef const uint8_t* start
    cdef Walked walked
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    start = <const uint8_t*>view.buf
    with nogil:
        walk_records(start, start + view.len, base_timestamp, count, lengths_must_fit, &walked)
    PyBuffer_Release(&view)
    return facts_of(&walked)


def columns(data, int64_t base_timestamp, int32_t count, bint lengths_must_fit):
    cdef Py_buffer view
    cdef const uint8_t *at, *end, *record_end
    cdef array.array times, offset_deltas, key_sizes, value_sizes
    cdef Py_ssize_t room, index = 0
    cdef Fields fields
    cdef Walked walked
    cdef object fault = None
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    room = max(0, min(count, view.len // MIN_RECORD))
    times = array.clone(LONGS, room, zero=False)
    offset_deltas = array.clone(INTS, room, zero=False)
    key_sizes = array.clone(INTS, room, zero=False)
    value_sizes = array.clone(INTS, room, zero=False)
    at = <const uint8_t*>view.buf
    end = at + view.len
    with nogil:
        while index < room:
            record_end = any_record(at, end, lengths_must_fit, &fields)
            if record_end == NULL:
                break
            fields.delta = <uint64_t>base_timestamp + <uint64_t>zigzag(fields.delta)
            times.data.as_longlongs[index] = <int64_t>fields.delta
            offset_deltas.data.as_ints[index] = zigzag(fields.offset_delta)
            key_sizes.data.as_ints[index] = zigzag(fields.key_size)
            value_sizes.data.as_ints[index] = zigzag(fields.value_size)
            at = record_end
            index += 1
    if index < count:
        begin_walk(&walked)
        fault = FAULTS[fault_at(at, end, &walked)]
    elif at < end:
        fault = Fault.RECORDS_REMAINING
    PyBuffer_Release(&view)
    for column in (times, offset_deltas, key_sizes, value_sizes):
        array.resize(column, index)
    return Records(times, offset_deltas, key_sizes, value_sizes, fault)


def spans(data, Py_ssize_t start, Py_ssize_t most, bint lengths_must_fit):
    cdef Py_buffer view
    cdef array.array positions
    cdef Py_ssize_t room
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    room = max(0, min(most, (view.len - start) // MIN_RECORD)) if 0 <= start <= view.len else 0
    positions = array.clone(LONGS, room * SPAN_NUMBERS, zero=False)
    with nogil:
        room = put_spans(
            <const uint8_t*>view.buf, view.len, start, room, lengths_must_fit, positions.data.as_longlongs
        )
    PyBuffer_Release(&view)
    array.resize(positions, room * SPAN_NUMBERS)
    return positions


cdef Py_ssize_t put_spans(
    const uint8_t* data,
    Py_ssize_t size,
    Py_ssize_t start,
    Py_ssize_t room,
    bint lengths_must_fit,
    long long* out,
) noexcept nogil:
    """The number of records whose positions are written to `out`, which has room for `room` of them."""
    cdef const uint8_t *end = data + size, *at = data + start, *record_end
    cdef Fields fields
    cdef uint64_t raw
    cdef bint runs_on
    cdef Py_ssize_t index
    for index in range(room):
        record_end = any_record(at, end, lengths_must_fit, &fields)
        if record_end == NULL:
            return index
        at = any_varint(at, end, 5, &raw, &runs_on)
        out[0] = at - data
        at = any_varint(at + 1, end, 10, &raw, &runs_on)
        out[1] = at - data
        at = any_varint(at, end, 5, &raw, &runs_on)
        at = payload(payload(at, end, &raw), end, &raw)
        out[2] = at - data
        out[3] = record_end - data
        out += SPAN_NUMBERS
        at = record_end
    return room


cdef object facts_of(Walked* walked):
    """The facts as `RecordFacts`."""
    has_times = walked.lowest <= walked.highest
    return RecordFacts(
        walked.records,
        walked.lowest if has_times else None,
        walked.highest if has_times else None,
        walked.missing,
        FAULTS[walked.fault],
        walked.largest,
    )
