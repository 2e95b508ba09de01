# cython: language_level=3, boundscheck=False, wraparound=False
"""The walk over a batch's plain records, for Python. `walk.pxd` describes it."""

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
"""The fault for each `WalkFault`."""


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


cdef object facts_of(Walked* found):
    """The facts as `RecordFacts`."""
    has_times = found.lowest <= found.highest
    return RecordFacts(
        found.records,
        found.lowest if has_times else None,
        found.highest if has_times else None,
        found.missing,
        FAULTS[found.fault],
        found.largest,
    )
