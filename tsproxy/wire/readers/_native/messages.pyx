# cython: language_level=3, boundscheck=False, wraparound=False
"""Runs of bare messages of magic 0 and 1.

`wire/record_set.py` and `wire/message_set.py` describe the layout of a message.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT32_MAX, INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t, uint32_t

from tsproxy.model.records import RecordFacts
from tsproxy.wire.readers._native.cursor cimport peek_int32, peek_int64, peek_uint32
from tsproxy.wire.readers.message_run import ANY, MessageRun

cdef enum:
    LOG_OVERHEAD = 12
    SMALLEST_RECORD = 14
    CRC_AT = 12
    MAGIC_AT = 16            # the checksum covers the bytes from here on
    ATTRIBUTES_AT = 17
    TIME_AT = 18             # from magic 1 on

cdef struct Wanted:
    uint8_t magic
    int64_t lowest_ms
    int64_t highest_ms
    int64_t largest
    bint needs_key

cdef struct Run:
    Py_ssize_t records
    Py_ssize_t missing
    int64_t lowest_ms
    int64_t highest_ms

cdef uint32_t[4][256] CRC


cdef void make_tables() noexcept:
    """Fill the tables for CRC-32 as in zlib, computed over four bytes at a time."""
    cdef uint32_t value
    cdef int index, bit, table
    for index in range(256):
        value = <uint32_t>index
        for bit in range(8):
            value = value >> 1 ^ (<uint32_t>0xEDB88320 if value & 1 else <uint32_t>0)
        CRC[0][index] = value
    for index in range(256):
        for table in range(1, 4):
            CRC[table][index] = CRC[table - 1][index] >> 8 ^ CRC[0][CRC[table - 1][index] & 0xFF]


make_tables()


cdef uint32_t crc_of(const uint8_t* at, const uint8_t* end) noexcept nogil:
    cdef uint32_t crc = <uint32_t>0xFFFFFFFF
    while end - at >= 4:
        crc ^= <uint32_t>at[0] | <uint32_t>at[1] << 8 | <uint32_t>at[2] << 16 | <uint32_t>at[3] << 24
        crc = CRC[3][crc & 0xFF] ^ CRC[2][crc >> 8 & 0xFF] ^ CRC[1][crc >> 16 & 0xFF] ^ CRC[0][crc >> 24]
        at += 4
    while at < end:
        crc = crc >> 8 ^ CRC[0][(crc ^ at[0]) & 0xFF]
        at += 1
    return ~crc


cdef const uint8_t* sized(const uint8_t* at, const uint8_t* end, int32_t* size) noexcept nogil:
    """The end of a size and that many bytes; NULL if they do not fit. A size below 0 is null."""
    if end - at < 4:
        return NULL
    size[0] = peek_int32(at)
    at += 4
    if size[0] <= 0:
        return at
    return at + size[0] if size[0] <= end - at else NULL


cdef bint is_plain(const uint8_t* at, const uint8_t* end, Wanted* wanted, int64_t* time_ms) noexcept nogil:
    """True if the run may include the message; `time_ms` is then its time.

    `end - at` must be at least LOG_OVERHEAD + SMALLEST_RECORD.
    """
    cdef int32_t size
    cdef const uint8_t* key
    cdef const uint8_t* value
    if at[MAGIC_AT] != wanted.magic or end - at > wanted.largest or end - at < TIME_AT:
        return False
    if at[ATTRIBUTES_AT] & (0x0F if wanted.magic else 0x07):
        return False
    key = at + TIME_AT
    time_ms[0] = -1
    if wanted.magic:
        if end - key < 8:
            return False
        time_ms[0] = peek_int64(key)
        key += 8
    if time_ms[0] != -1 and not wanted.lowest_ms <= time_ms[0] <= wanted.highest_ms:
        return False
    value = sized(key, end, &size)
    if value == NULL or (wanted.needs_key and size < 0) or sized(value, end, &size) == NULL:
        return False
    return crc_of(at + MAGIC_AT, end) == peek_uint32(at + CRC_AT)


cdef const uint8_t* run_of(
    const uint8_t* at, const uint8_t* end, Wanted* wanted, Run* run
) noexcept nogil:
    """The end of the run that begins at `at`."""
    cdef int64_t size, time_ms
    while end - at >= LOG_OVERHEAD and run.records < INT32_MAX:
        size = peek_int32(at + 8)
        if size < SMALLEST_RECORD or size > end - at - LOG_OVERHEAD:
            break
        if not is_plain(at, at + LOG_OVERHEAD + size, wanted, &time_ms):
            break
        at += LOG_OVERHEAD + size
        run.records += 1
        if time_ms == -1:
            run.missing += 1
        else:
            run.lowest_ms = min(run.lowest_ms, time_ms)
            run.highest_ms = max(run.highest_ms, time_ms)
    return at


def messages(data, Py_ssize_t start, int magic, bounds=ANY):
    cdef Py_buffer view
    cdef const uint8_t* begin
    cdef const uint8_t* at
    cdef Run run = Run(0, 0, INT64_MAX, INT64_MIN)
    cdef Wanted wanted = Wanted(
        <uint8_t>magic, bounds.lowest_ms, bounds.highest_ms, bounds.largest, bounds.needs_key
    )
    cdef Py_ssize_t end = start
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    if 0 <= start <= view.len and 0 <= magic <= 1:
        begin = <const uint8_t*>view.buf
        with nogil:
            at = run_of(begin + start, begin + view.len, &wanted, &run)
        end = at - begin
    PyBuffer_Release(&view)
    has_times = run.lowest_ms <= run.highest_ms
    facts = RecordFacts(
        run.records,
        run.lowest_ms if has_times else None,
        run.highest_ms if has_times else None,
        run.missing,
    )
    return MessageRun(end, facts)
