# cython: language_level=3, boundscheck=False, wraparound=False
"""The walk in steps, for Python. `stream.pxd` describes it."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t

from tsproxy.wire.readers._native.walk cimport facts_of


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
