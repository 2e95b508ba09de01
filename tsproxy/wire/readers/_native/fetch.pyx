# cython: language_level=3, boundscheck=False, wraparound=False
"""The walk over a Fetch or ShareFetch answer, for Python and for the fast path. `fetch.pxd` describes it."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t

from tsproxy.wire.readers.streamed import NO_TAIL, STEPS, Layout, Number

cdef tuple LAYOUTS = tuple(Layout)
cdef Answer[3] ANSWERS


cdef void copy_layouts():
    """The layouts of `streamed.py` in C. Bounds are checked here, and nowhere later."""
    assert (BYTES, ARRAY, NULLABLE, TAGS) == tuple(Number)
    assert len(Layout) == <Py_ssize_t>(sizeof(ANSWERS) // sizeof(Answer))
    for layout in Layout:
        steps, tail = STEPS[layout], NO_TAIL[layout]
        assert len(steps) <= MAX_STEPS and len(tail) <= MAX_TAIL
        for at, step in enumerate(steps):
            ANSWERS[<int>layout].steps[<int>at] = Step(step.skip, step.number, step.partner)
        for at, byte in enumerate(tail):
            ANSWERS[<int>layout].tail[<int>at] = byte
        ANSWERS[<int>layout].count, ANSWERS[<int>layout].tail_size = len(steps), len(tail)


copy_layouts()


cdef const Answer* answer_of(int layout) noexcept nogil:
    return &ANSWERS[layout]


cdef class FetchWalk:
    def __cinit__(self):
        self.place.answer = answer_of(Layout.FETCH)
        end_fetch(&self.place)

    def begin(self, int64_t size, layout=Layout.FETCH):
        begin_fetch(&self.place, size, layout)

    def end(self):
        end_fetch(&self.place)

    @property
    def layout(self):
        return LAYOUTS[self.place.answer - ANSWERS]

    @property
    def left(self):
        return self.place.left

    @property
    def is_over(self):
        return self.place.phase == OVER

    @property
    def is_at_tail(self):
        return self.place.phase == TAIL

    @property
    def is_bad(self):
        return self.place.phase == BAD

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
        if self.place.phase == OVER:
            return True
        if walk_fetch(&self.place, at, at + size) == at + size and self.place.phase not in (TAIL, BAD):
            return True
        self.place = before
        return False
