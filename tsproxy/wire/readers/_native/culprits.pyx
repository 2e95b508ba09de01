# cython: language_level=3, boundscheck=False, wraparound=False
"""Culprits as columns, and their record errors as bytes. They are the largest part of a rejection.

Nothing here decides whether a batch is rejected, or in which words.
"""

from cpython cimport array
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memmove

import array

from tsproxy.model.records import Outside
from tsproxy.wire.readers._native.cursor cimport Cursor, no_tags, read_int32, read_string_size, take
from tsproxy.wire.readers._native.put cimport (
    put_decimal, put_int16, put_int32, put_no_tags, put_raw, put_uvarint,
)
from tsproxy.wire.readers._native.record cimport Fields, any_record, zigzag

cdef array.array INTS = array.array("i")
cdef array.array LONGS = array.array("q")

cdef enum:
    MAX_DIGITS = 20  # of a 64-bit number, with its sign
    MAX_BESIDE = 4 + 5 + 1  # an index, a size, no tags
    MAX_STRING = 32767
    TIME_DIGITS = 19  # of the largest int64

cdef bytes TIMESTAMP = b"Timestamp "
cdef bytes OF_MESSAGE = b" of message "
"""The text before and after a time in a broker's message (`LogValidator.java`)."""

cdef struct Skimmed:
    Py_ssize_t count
    int64_t lowest
    int64_t highest


def find_outside(
    data, int64_t base_timestamp, int32_t count, int64_t lowest_ms, int64_t highest_ms, Py_ssize_t most
):
    cdef Py_buffer view
    cdef Py_ssize_t room, outside
    cdef array.array indices, times, offset_deltas
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    room = max(0, min(most, count, view.len))  # no more than the bytes can contain, even if `count` is larger
    indices = array.clone(INTS, room, zero=False)
    times = array.clone(LONGS, room, zero=False)
    offset_deltas = array.clone(LONGS, room, zero=False)
    outside = search(
        <const uint8_t*>view.buf,
        <const uint8_t*>view.buf + view.len,
        base_timestamp,
        count,
        lowest_ms,
        highest_ms,
        room,
        Columns(indices.data.as_ints, times.data.as_longlongs, offset_deltas.data.as_longlongs),
    )
    PyBuffer_Release(&view)
    room = min(room, outside)
    array.resize(indices, room)
    array.resize(times, room)
    array.resize(offset_deltas, room)
    return Outside(outside, indices, times, offset_deltas)


cdef Py_ssize_t search(
    const uint8_t* at,
    const uint8_t* end,
    int64_t base_timestamp,
    int32_t count,
    int64_t lowest_ms,
    int64_t highest_ms,
    Py_ssize_t room,
    Columns columns,
) noexcept nogil:
    """The number of records whose times are outside the span. `columns` gets the first `room` of them."""
    cdef int32_t index
    cdef Py_ssize_t outside = 0
    cdef Fields fields
    cdef int64_t timestamp
    for index in range(count):
        at = any_record(at, end, False, &fields)
        if at == NULL:
            break
        timestamp = <int64_t>(<uint64_t>base_timestamp + <uint64_t>zigzag(fields.delta))
        if timestamp == -1 or lowest_ms <= timestamp <= highest_ms:
            continue
        if outside < room:
            columns.positions[outside] = index
            columns.times[outside] = timestamp
            columns.offset_deltas[outside] = zigzag(fields.offset_delta)
        outside += 1
    return outside


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
    cdef Pieces texts = pieces_of(before, between, after)
    cdef Py_ssize_t count = len(indices)
    if len(times) != count or len(offset_deltas) != count:
        raise ValueError("columns of different lengths")
    if indices.typecode != "i" or times.typecode != "q" or offset_deltas.typecode != "q":
        raise TypeError("columns are arrays of i, q and q")
    if most_bytes(&texts) > 32767:
        raise ValueError(f"texts of {len(before) + len(between) + len(after)} bytes")
    cdef bytes whole = PyBytes_FromStringAndSize(NULL, count * most_bytes(&texts))
    cdef uint8_t* start = <uint8_t*>PyBytes_AS_STRING(whole)
    cdef Columns culprits = Columns(
        indices.data.as_ints, times.data.as_longlongs, offset_deltas.data.as_longlongs
    )
    return whole[: put_errors(start, culprits, count, base_offset, &texts, is_flexible) - start]


cdef Pieces pieces_of(bytes before, bytes between, bytes after) noexcept:
    """Pointers to the three texts. The caller keeps the texts alive."""
    return Pieces(
        <const uint8_t*>PyBytes_AS_STRING(before),
        PyBytes_GET_SIZE(before),
        <const uint8_t*>PyBytes_AS_STRING(between),
        PyBytes_GET_SIZE(between),
        <const uint8_t*>PyBytes_AS_STRING(after),
        PyBytes_GET_SIZE(after),
    )


cdef Py_ssize_t most_bytes(Pieces* pieces) noexcept:
    """The largest size of one error, in bytes."""
    return pieces.before_size + pieces.between_size + pieces.after_size + 2 * MAX_DIGITS + MAX_BESIDE


cdef uint8_t* put_errors(
    uint8_t* at, Columns culprits, Py_ssize_t count, int64_t base_offset, Pieces* pieces, bint is_flexible
) noexcept nogil:
    """Write the errors at `at`, and return their end. They take at most `count` times `most_bytes` bytes."""
    cdef Py_ssize_t index, size
    cdef uint8_t* text
    for index in range(count):
        at = put_int32(at, culprits.positions[index])
        text = at + 2  # most sizes take two bytes
        at = put_raw(text, pieces.before, pieces.before_size)
        at = put_decimal(at, culprits.times[index])
        at = put_raw(at, pieces.between, pieces.between_size)
        at = put_decimal(at, <int64_t>(<uint64_t>base_offset + <uint64_t>culprits.offset_deltas[index]))
        at = put_raw(at, pieces.after, pieces.after_size)
        size = at - text
        if is_flexible:
            at = put_no_tags(sized_text(text, size), True)
        else:
            put_int16(text - 2, <int>size)
    return at


cdef inline uint8_t* sized_text(uint8_t* text, Py_ssize_t size) noexcept nogil:
    """Write the size of a compact string, and return the string's end. Two bytes before `text` are free for
    the size. If it takes more bytes or fewer, the text is moved."""
    cdef uint8_t[5] raw
    cdef Py_ssize_t size_bytes = put_uvarint(raw, <uint32_t>(size + 1)) - raw
    if size_bytes != 2:
        memmove(text - 2 + size_bytes, text, size)
    put_raw(text - 2, raw, size_bytes)
    return text - 2 + size_bytes + size


def span(array.array times not None):
    cdef Py_ssize_t index, count = len(times)
    cdef int64_t time, lowest = INT64_MAX, highest = INT64_MIN
    if times.typecode != "q" or not count:
        raise TypeError("the column is an array of q that is not empty")
    for index in range(count):
        time = times.data.as_longlongs[index]
        lowest = min(lowest, time)
        highest = max(highest, time)
    return lowest, highest


def skim_errors(data, Py_ssize_t start, Py_ssize_t count, bint is_flexible):
    cdef Py_buffer view
    cdef const uint8_t* begin
    cdef const uint8_t* at
    cdef const uint8_t* before = <const uint8_t*>PyBytes_AS_STRING(TIMESTAMP)
    cdef const uint8_t* behind = <const uint8_t*>PyBytes_AS_STRING(OF_MESSAGE)
    cdef Skimmed times = Skimmed(0, INT64_MAX, INT64_MIN)
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    begin = <const uint8_t*>view.buf
    with nogil:
        at = skim(begin + start, begin + view.len, count, is_flexible, before, behind, &times)
    PyBuffer_Release(&view)
    has_times = times.lowest <= times.highest
    return (
        times.count, at - begin, times.lowest if has_times else None, times.highest if has_times else None
    )


cdef const uint8_t* skim(
    const uint8_t* at, const uint8_t* end, Py_ssize_t count, bint is_flexible,
    const uint8_t* before, const uint8_t* behind, Skimmed* times,
) noexcept nogil:
    """The beginning of the first error that is odd, or the end of `count` errors if none is odd."""
    cdef Cursor cursor = Cursor(at, end, False)
    cdef const uint8_t* text
    cdef int64_t size, time
    while times.count < count:
        read_int32(&cursor)
        size = read_string_size(&cursor, is_flexible)
        if cursor.is_bad or size < -1 or size > MAX_STRING:
            break
        text = take(&cursor, size if size > 0 else 0)
        no_tags(&cursor, is_flexible)
        if cursor.is_bad:
            break
        if size > 0 and time_of(text, text + size, before, behind, &time) and time != -1:
            times.lowest = min(times.lowest, time)
            times.highest = max(times.highest, time)
        at = cursor.at
        times.count += 1
    return at


cdef bint time_of(
    const uint8_t* at, const uint8_t* end, const uint8_t* before, const uint8_t* behind, int64_t* time
) noexcept nogil:
    """True if a text contains the time of a message, as a number that fits an int64. `time` is then set."""
    cdef bint is_negative
    cdef int digits = 0
    cdef uint64_t value = 0
    if end - at < 10 or memcmp(at, before, 10) != 0:
        return False
    at += 10
    is_negative = at < end and at[0] == 0x2D
    at += is_negative
    while at < end and 0x30 <= at[0] <= 0x39:
        if digits == TIME_DIGITS:
            return False
        value = 10 * value + at[0] - 0x30
        digits += 1
        at += 1
    if value > <uint64_t>INT64_MAX + is_negative:
        return False
    time[0] = <int64_t>(0 - value) if is_negative else <int64_t>value
    return digits > 0 and end - at >= 12 and memcmp(at, behind, 12) == 0
