# cython: language_level=3, boundscheck=False, wraparound=False
"""The walk over a batch's plain records, for Python; what it does stands in `walk.pxd`."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t

from tsproxy.model.records import Fault, RecordFacts

cdef tuple FAULTS = (
    None,
    Fault.PREMATURE_END,
    Fault.VARINT_TOO_LONG,
    Fault.MALFORMED_RECORD,
    Fault.RECORDS_REMAINING,
)
"""By `WalkFault`."""


def walk(data, int64_t base_timestamp, int32_t count, bint lengths_must_fit):
    cdef Py_buffer view
    cdef const uint8_t* start
    cdef Walked found
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    start = <const uint8_t*>view.buf
    with nogil:
        walk_records(start, start + view.len, base_timestamp, count, lengths_must_fit, &found)
    PyBuffer_Release(&view)
    return facts_of(&found)


def find_outside(
    data, int64_t base_timestamp, int32_t count, int64_t lowest_ms, int64_t highest_ms, Py_ssize_t most
):
    cdef Py_buffer view
    cdef const uint8_t* at
    cdef const uint8_t* end
    cdef uint64_t raw, delta
    cdef int64_t timestamp
    cdef bint runs_on
    cdef int32_t index = 0
    cdef Py_ssize_t outside = 0
    found = []
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        at = <const uint8_t*>view.buf
        end = at + view.len
        while index < count:
            at = any_varint(at, end, 5, &raw, &runs_on)
            if at == NULL:
                break
            at = any_record(at, end, &delta)
            if at == NULL:
                break
            timestamp = <int64_t>(<uint64_t>base_timestamp + <uint64_t>zigzag(delta))
            if timestamp != -1 and (timestamp < lowest_ms or timestamp > highest_ms):
                if outside < most:
                    found.append((index, timestamp))
                outside += 1
            index += 1
    finally:
        PyBuffer_Release(&view)
    return outside, tuple(found)


cdef object facts_of(Walked* found):
    """What was found, as a value."""
    has_times = found.lowest <= found.highest
    return RecordFacts(
        found.records,
        found.lowest if has_times else None,
        found.highest if has_times else None,
        found.missing,
        FAULTS[found.fault],
    )
