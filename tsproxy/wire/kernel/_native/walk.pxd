# The walk over a batch's plain records: bytes in, facts out, no Python object touched.
#
# How a record is laid out and which fault is which stands in `wire/records.py`; this is the same
# reading, kept to what innocence needs. Uncompressed records tell their length, so the walk jumps
# from length to length (the only chain of dependent loads) and checks the inside of each beside it.

from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef enum WalkFault:
    FINE
    PREMATURE_END
    VARINT_TOO_LONG
    MALFORMED_RECORD
    RECORDS_REMAINING

cdef struct Walked:
    Py_ssize_t records  # how many were read before the fault
    Py_ssize_t missing  # how many of them carry -1, NO_TIMESTAMP
    int64_t lowest      # of the others; above `highest` where there are none
    int64_t highest
    WalkFault fault

cdef object facts_of(Walked* found)


cdef inline int64_t zigzag(uint64_t raw) noexcept nogil:
    return <int64_t>((raw >> 1) ^ (0 - (raw & 1)))


cdef inline const uint8_t* short_varint(const uint8_t* at, uint64_t* raw) noexcept nogil:
    """Where a varint of one to three bytes ends, NULL for a longer one; all three must be there."""
    if at[0] < 0x80:
        raw[0] = at[0]
        return at + 1
    if at[1] < 0x80:
        raw[0] = (at[0] & 0x7F) | <uint64_t>at[1] << 7
        return at + 2
    if at[2] < 0x80:
        raw[0] = (at[0] & 0x7F) | <uint64_t>(at[1] & 0x7F) << 7 | <uint64_t>at[2] << 14
        return at + 3
    return NULL


cdef inline const uint8_t* any_varint(
    const uint8_t* at, const uint8_t* end, int most_bytes, uint64_t* raw, bint* runs_on
) noexcept nogil:
    """Where a varint ends; NULL where it is cut short, or `runs_on` past `most_bytes`."""
    cdef uint64_t value = 0
    cdef int shift = 0
    while at < end:
        value |= <uint64_t>(at[0] & 0x7F) << shift
        at += 1
        if at[-1] < 0x80:
            raw[0] = value if most_bytes > 5 else <uint32_t>value
            return at
        shift += 7
        if shift == 7 * most_bytes:
            runs_on[0] = True
            return NULL
    return NULL


cdef inline const uint8_t* sized(
    const uint8_t* at, const uint8_t* end, bint may_be_null
) noexcept nogil:
    """Where a varint size and that many bytes end. Below 0 is null; NULL where it does not fit."""
    cdef uint64_t raw
    cdef bint runs_on
    at = any_varint(at, end, 5, &raw, &runs_on)
    if at == NULL:
        return NULL
    if raw & 1:
        return at if may_be_null else NULL
    return at + (raw >> 1) if <int64_t>(raw >> 1) <= end - at else NULL


cdef inline const uint8_t* headers(const uint8_t* at, const uint8_t* end) noexcept nogil:
    cdef uint64_t raw
    cdef int64_t count
    cdef bint runs_on
    at = any_varint(at, end, 5, &raw, &runs_on)
    if at == NULL:
        return NULL
    count = zigzag(raw)
    if count < 0 or count > end - at:
        return NULL
    while count > 0 and at != NULL:
        at = sized(at, end, False)
        if at != NULL:
            at = sized(at, end, True)
        count -= 1
    return at


cdef inline const uint8_t* any_record(
    const uint8_t* at, const uint8_t* end, uint64_t* delta
) noexcept nogil:
    """Where a record that begins with its attributes ends, NULL where it is malformed."""
    cdef uint64_t offset_delta
    cdef bint runs_on
    if at >= end:
        return NULL
    at = any_varint(at + 1, end, 10, delta, &runs_on)
    if at != NULL:
        at = any_varint(at, end, 5, &offset_delta, &runs_on)
    if at != NULL:
        at = sized(at, end, True)
    if at != NULL:
        at = sized(at, end, True)
    if at != NULL:
        at = headers(at, end)
    return at


cdef inline const uint8_t* usual_record(
    const uint8_t* at, const uint8_t* end, uint64_t* delta
) noexcept nogil:
    """`any_record` for one with short varints and no headers, well before the end; else NULL."""
    cdef uint64_t raw
    if end - at < 16:  # attributes, and four varints of which the last bytes need not be looked for
        return NULL
    at = short_varint(at + 1, delta)
    if at == NULL:
        return NULL
    at = short_varint(at, &raw)
    if at == NULL:
        return NULL
    at = short_varint(at, &raw)
    if at == NULL:
        return NULL
    if not raw & 1:
        at += raw >> 1
        if end - at < 4:
            return NULL
    at = short_varint(at, &raw)
    if at == NULL:
        return NULL
    if not raw & 1:
        if <int64_t>(raw >> 1) >= end - at:
            return NULL
        at += raw >> 1
    elif at == end:
        return NULL
    return at + 1 if at[0] == 0 else NULL


cdef inline void walk_records(
    const uint8_t* at,
    const uint8_t* end,
    int64_t base_timestamp,
    int32_t count,
    bint lengths_must_fit,
    Walked* facts,
) noexcept nogil:
    cdef const uint8_t* start
    cdef const uint8_t* record_end
    cdef uint64_t raw, delta
    cdef int64_t timestamp
    cdef bint runs_on = False
    cdef Py_ssize_t records = 0, missing = 0
    cdef int64_t lowest = INT64_MAX, highest = INT64_MIN
    cdef WalkFault fault = FINE
    while records < count:
        start = short_varint(at, &raw) if end - at >= 3 else NULL
        if start == NULL:
            start = any_varint(at, end, 5, &raw, &runs_on)
            if start == NULL:
                fault = VARINT_TOO_LONG if runs_on else PREMATURE_END
                break
        record_end = usual_record(start, end, &delta)
        if record_end == NULL:
            record_end = any_record(start, end, &delta)
            if record_end == NULL:
                fault = MALFORMED_RECORD
                break
        at = record_end
        if lengths_must_fit:
            if record_end - start != zigzag(raw):
                fault = MALFORMED_RECORD
                break
            at = start + (raw >> 1)  # the same, but known long before
        records += 1
        timestamp = <int64_t>(<uint64_t>base_timestamp + <uint64_t>zigzag(delta))
        if timestamp == -1:
            missing += 1
            continue
        if timestamp < lowest:
            lowest = timestamp
        if timestamp > highest:
            highest = timestamp
    if fault == FINE and at < end:
        fault = RECORDS_REMAINING
    facts.records = records
    facts.missing = missing
    facts.lowest = lowest
    facts.highest = highest
    facts.fault = fault
