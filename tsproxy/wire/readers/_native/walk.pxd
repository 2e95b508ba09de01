# The walk over a batch's plain records. It returns facts about bytes, and uses no Python object.
#
# A record begins with its length. So the walk jumps from length to length (the only chain of dependent
# loads), and no jump waits for the check of a record's other fields.

from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from tsproxy.wire.readers._native.record cimport Fields, any_record, any_varint, usual_record, zigzag

cdef enum WalkFault:
    FINE
    PREMATURE_END
    VARINT_TOO_LONG
    MALFORMED_RECORD
    RECORDS_REMAINING

cdef struct Walked:
    Py_ssize_t records  # how many were read before the fault
    Py_ssize_t missing  # how many of them carry -1, NO_TIMESTAMP
    int64_t lowest      # of the others; above `highest` if there are none
    int64_t highest
    uint32_t largest    # size that a record declares; a negative one is above all others
    WalkFault fault

cdef object facts_of(Walked* walked)


cdef inline void begin_walk(Walked* facts) noexcept nogil:
    facts.records = 0
    facts.missing = 0
    facts.lowest = INT64_MAX
    facts.highest = INT64_MIN
    facts.largest = 0
    facts.fault = FINE


cdef inline void note_size(Walked* facts, uint64_t length) noexcept nogil:
    """Add the size that a record declares to the facts."""
    cdef uint32_t size = <uint32_t>zigzag(length)
    if size > facts.largest:
        facts.largest = size


cdef inline void book(Walked* facts, int64_t base_timestamp, uint64_t delta) noexcept nogil:
    """Add one record to the facts."""
    cdef int64_t timestamp = <int64_t>(<uint64_t>base_timestamp + <uint64_t>zigzag(delta))
    facts.records += 1
    if timestamp == -1:
        facts.missing += 1
        return
    if timestamp < facts.lowest:
        facts.lowest = timestamp
    if timestamp > facts.highest:
        facts.highest = timestamp


cdef inline const uint8_t* whole_records(
    const uint8_t* at,
    const uint8_t* end,
    int64_t base_timestamp,
    int32_t count,
    bint lengths_must_fit,
    Walked* facts,
) noexcept nogil:
    """Add records to the facts until there are `count`, and return the end of the last one. Stop before a
    record that is not whole or not right."""
    cdef Walked walked = facts[0]
    cdef const uint8_t* record_end
    cdef Fields fields
    cdef uint64_t length, delta  # not in `fields`, so that they stay in registers
    while walked.records < count:
        record_end = usual_record(at, end, &length, &delta)
        if record_end == NULL:
            record_end = any_record(at, end, lengths_must_fit, &fields)
            if record_end == NULL:
                break
            length, delta = fields.length, fields.delta
        note_size(&walked, length)
        book(&walked, base_timestamp, delta)
        at = record_end
    facts[0] = walked
    return at


cdef inline WalkFault fault_at(const uint8_t* at, const uint8_t* end, Walked* facts) noexcept nogil:
    """The fault of the record at `at`, which has one. Its size is added to the facts."""
    cdef uint64_t length
    cdef bint runs_on = False
    if any_varint(at, end, 5, &length, &runs_on) == NULL:
        return VARINT_TOO_LONG if runs_on else PREMATURE_END
    note_size(facts, length)
    return MALFORMED_RECORD


cdef inline void walk_records(
    const uint8_t* at,
    const uint8_t* end,
    int64_t base_timestamp,
    int32_t count,
    bint lengths_must_fit,
    Walked* facts,
) noexcept nogil:
    begin_walk(facts)
    at = whole_records(at, end, base_timestamp, count, lengths_must_fit, facts)
    if facts.records < count:
        facts.fault = fault_at(at, end, facts)
    elif at < end:
        facts.fault = RECORDS_REMAINING
