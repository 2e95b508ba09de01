# cython: language_level=3, boundscheck=False, wraparound=False
"""Culprits as columns, and their errors as bytes: what a rejection is mostly made of.

That a batch is to be refused, and in which words, is decided before; here it is only carried out.
"""

from cpython cimport array
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

import array

from tsproxy.model.records import Outside
from tsproxy.wire.kernel._native.walk cimport any_varint, headers, sized, zigzag

cdef array.array INTS = array.array("i")
cdef array.array LONGS = array.array("q")

cdef enum:
    MOST_DIGITS = 20  # of a 64-bit number, its sign included
    MOST_BESIDE = 4 + 5 + 1  # an index, a size, no tags


def find_outside(
    data, int64_t base_timestamp, int32_t count, int64_t lowest_ms, int64_t highest_ms, Py_ssize_t most
):
    cdef Py_buffer view
    cdef Py_ssize_t room, found
    cdef array.array indices, times, offset_deltas
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    room = max(0, min(most, count, view.len))  # no more than there can be, whatever the count says
    indices = array.clone(INTS, room, zero=False)
    times = array.clone(LONGS, room, zero=False)
    offset_deltas = array.clone(LONGS, room, zero=False)
    found = _search(
        <const uint8_t*>view.buf,
        <const uint8_t*>view.buf + view.len,
        base_timestamp,
        count,
        lowest_ms,
        highest_ms,
        room,
        indices.data.as_ints,
        times.data.as_longlongs,
        offset_deltas.data.as_longlongs,
    )
    PyBuffer_Release(&view)
    room = min(room, found)
    array.resize(indices, room)
    array.resize(times, room)
    array.resize(offset_deltas, room)
    return Outside(found, indices, times, offset_deltas)


cdef Py_ssize_t _search(
    const uint8_t* at,
    const uint8_t* end,
    int64_t base_timestamp,
    int32_t count,
    int64_t lowest_ms,
    int64_t highest_ms,
    Py_ssize_t room,
    int* indices,
    long long* times,
    long long* offset_deltas,
) noexcept nogil:
    """How many there are; the first `room` of them are written down."""
    cdef int32_t index
    cdef Py_ssize_t found = 0
    cdef uint64_t raw, delta, offset_delta
    cdef int64_t timestamp
    cdef bint runs_on
    for index in range(count):
        at = any_varint(at, end, 5, &raw, &runs_on)
        if at == NULL or at >= end:
            break
        at = any_varint(at + 1, end, 10, &delta, &runs_on)
        if at != NULL:
            at = any_varint(at, end, 5, &offset_delta, &runs_on)
        if at != NULL:
            at = sized(at, end, True)
        if at != NULL:
            at = sized(at, end, True)
        if at != NULL:
            at = headers(at, end)
        if at == NULL:
            break
        timestamp = <int64_t>(<uint64_t>base_timestamp + <uint64_t>zigzag(delta))
        if timestamp == -1 or lowest_ms <= timestamp <= highest_ms:
            continue
        if found < room:
            indices[found] = index
            times[found] = timestamp
            offset_deltas[found] = zigzag(offset_delta)
        found += 1
    return found


def record_errors(
    array.array indices not None,
    array.array times not None,
    array.array offset_deltas not None,
    int64_t base_offset,
    tuple pieces not None,
    bint is_flexible,
):
    cdef bytes before, between, after
    before, between, after = pieces
    cdef Py_ssize_t count = len(indices), index, size
    cdef Py_ssize_t words = PyBytes_GET_SIZE(before) + PyBytes_GET_SIZE(between) + PyBytes_GET_SIZE(after)
    if len(times) != count or len(offset_deltas) != count:
        raise ValueError("columns of different lengths")
    if indices.typecode != "i" or times.typecode != "q" or offset_deltas.typecode != "q":
        raise TypeError("columns are arrays of i, q and q")
    if words + 2 * MOST_DIGITS > 32767:
        raise ValueError(f"texts of {words} bytes")
    cdef bytes whole = PyBytes_FromStringAndSize(NULL, count * (MOST_BESIDE + words + 2 * MOST_DIGITS))
    cdef uint8_t* start = <uint8_t*>PyBytes_AS_STRING(whole)
    cdef uint8_t* at = start
    cdef uint8_t* text
    cdef uint8_t room_for_size = 2
    for index in range(count):
        at = put_int32(at, indices.data.as_ints[index])
        if is_flexible:  # the size is known only afterwards, and takes one byte or two, rarely three
            size = words + digits(times.data.as_longlongs[index])
            size += digits(<int64_t>(<uint64_t>base_offset + <uint64_t>offset_deltas.data.as_longlongs[index]))
            at = put_uvarint(at, <uint32_t>(size + 1))
            text = at
        else:
            text = at + room_for_size
        at = put_bytes(text, before)
        at = put_decimal(at, times.data.as_longlongs[index])
        at = put_bytes(at, between)
        at = put_decimal(at, <int64_t>(<uint64_t>base_offset + <uint64_t>offset_deltas.data.as_longlongs[index]))
        at = put_bytes(at, after)
        if is_flexible:
            at[0] = 0
            at += 1
        else:
            size = at - text
            text[-2] = <uint8_t>(size >> 8)
            text[-1] = <uint8_t>size
    return whole[: at - start]


cdef inline uint8_t* put_int32(uint8_t* at, int32_t value) noexcept:
    cdef uint32_t raw = <uint32_t>value
    at[0] = <uint8_t>(raw >> 24)
    at[1] = <uint8_t>(raw >> 16)
    at[2] = <uint8_t>(raw >> 8)
    at[3] = <uint8_t>raw
    return at + 4


cdef inline uint8_t* put_uvarint(uint8_t* at, uint32_t value) noexcept:
    while value >= 0x80:
        at[0] = <uint8_t>(value | 0x80)
        value >>= 7
        at += 1
    at[0] = <uint8_t>value
    return at + 1


cdef inline uint8_t* put_bytes(uint8_t* at, bytes piece) noexcept:
    memcpy(at, PyBytes_AS_STRING(piece), PyBytes_GET_SIZE(piece))
    return at + PyBytes_GET_SIZE(piece)


cdef inline int digits(int64_t value) noexcept:
    """How many characters `value` has in decimal."""
    cdef uint64_t raw = 0 - <uint64_t>value if value < 0 else <uint64_t>value
    cdef int count = 2 if value < 0 else 1
    while raw >= 10:
        raw //= 10
        count += 1
    return count


cdef inline uint8_t* put_decimal(uint8_t* at, int64_t value) noexcept:
    cdef uint64_t raw = 0 - <uint64_t>value if value < 0 else <uint64_t>value
    cdef uint8_t* end = at + digits(value)
    cdef uint8_t* digit = end
    if value < 0:
        at[0] = b"-"
    while True:
        digit -= 1
        digit[0] = <uint8_t>(48 + raw % 10)
        raw //= 10
        if raw == 0:
            return end
