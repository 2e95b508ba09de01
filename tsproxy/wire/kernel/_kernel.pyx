# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The native kernel. What each name does is said in the package; `_twin.py` is the same in Python."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t

from tsproxy.wire.kernel._stream cimport Stream, begin_stream, end_stream, walk_on
from tsproxy.wire.kernel._walk cimport Walked, walk_records

from tsproxy.model.records import Fault, RecordFacts

NAME = "native"

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


cdef class StreamWalker:
    cdef Stream stream

    def __cinit__(self, int64_t base_timestamp, int32_t count, bint lengths_must_fit):
        begin_stream(&self.stream, base_timestamp, count, lengths_must_fit)

    def feed(self, data):
        cdef Py_buffer view
        cdef const uint8_t* start
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        start = <const uint8_t*>view.buf
        with nogil:
            walk_on(&self.stream, start, start + view.len)
        PyBuffer_Release(&view)

    def finish(self):
        end_stream(&self.stream)
        return facts_of(&self.stream.facts)


cdef facts_of(Walked* found):
    has_times = found.lowest <= found.highest
    return RecordFacts(
        found.records,
        found.lowest if has_times else None,
        found.highest if has_times else None,
        found.missing,
        FAULTS[found.fault],
    )
