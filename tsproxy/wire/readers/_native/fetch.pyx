# cython: language_level=3, boundscheck=False, wraparound=False
"""The walk over a Fetch answer, for Python and for the fast path. `fetch.pxd` describes it."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t


cdef class FetchWalk:
    def __cinit__(self):
        end_fetch(&self.place)

    def begin(self, int64_t size):
        begin_fetch(&self.place, size)

    def end(self):
        end_fetch(&self.place)

    @property
    def left(self):
        return self.place.left

    @property
    def is_over(self):
        return self.place.step == OVER

    @property
    def is_at_tail(self):
        return self.place.step == TAIL

    @property
    def is_bad(self):
        return self.place.step == BAD

    def advance(self, data):
        cdef Py_buffer view
        cdef const uint8_t* start
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        start = <const uint8_t*>view.buf
        size = walk_fetch(&self.place, start, start + view.len) - start
        PyBuffer_Release(&view)
        return size

    cdef bint passes(self, const uint8_t* at, int64_t size) noexcept:
        """True if all `size` bytes come before the tail, and the tail does not follow. They are then walked
        over; else the walk stays where it was."""
        cdef FetchPlace before = self.place
        if self.place.step == OVER:
            return True
        if walk_fetch(&self.place, at, at + size) == at + size and self.place.step not in (TAIL, BAD):
            return True
        self.place = before
        return False
