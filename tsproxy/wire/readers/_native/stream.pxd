# The walk of `walk.pxd` in steps, for records that come piece by piece out of a decompressor.
#
# `walk.pxd` reads a record that is whole in one piece. A record that the end of a piece cuts is read field by
# field, and bytes whose content does not matter are only counted. Nothing of a piece is kept.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from tsproxy.wire.readers._native.record cimport zigzag
from tsproxy.wire.readers._native.walk cimport (
    FINE, MALFORMED_RECORD, PREMATURE_END, RECORDS_REMAINING, VARINT_TOO_LONG,
    Walked, begin_walk, book, note_size, whole_records,
)

cdef enum Field:
    LENGTH
    DELTA
    OFFSET_DELTA
    KEY
    VALUE
    HEADERS
    HEADER_NAME
    HEADER_VALUE
    RECORD_END

cdef struct Stream:
    int64_t base_timestamp
    int32_t count
    bint lengths_must_fit
    Walked facts
    Field field        # that is read after `skip` bytes are stepped over
    int64_t skip
    uint64_t raw       # the varint that is being read; `shift` is how many bits of it were read
    int shift
    int64_t length     # of the current record, as declared; `read` is how many bytes of it were read
    int64_t read
    uint64_t delta
    uint64_t offset_delta
    uint64_t key_size
    uint64_t value_size
    int64_t headers    # how many are still to come


cdef inline void begin_stream(
    Stream* stream, int64_t base_timestamp, int32_t count, bint lengths_must_fit
) noexcept nogil:
    stream.base_timestamp = base_timestamp
    stream.count = count
    stream.lengths_must_fit = lengths_must_fit
    begin_walk(&stream.facts)
    stream.field = LENGTH
    stream.skip = 0
    stream.raw = 0
    stream.shift = 0
    stream.read = 0


cdef inline void take_varint(Stream* stream, uint64_t raw) noexcept nogil:
    """Apply the number of the current field, and go to the next field."""
    cdef Field field = stream.field
    stream.field = <Field>(<int>field + 1)
    if field == LENGTH:
        stream.length = zigzag(raw)
        note_size(&stream.facts, raw)
        stream.read = 0
        stream.skip = 1  # the attributes
        stream.field = DELTA
    elif field == DELTA:
        stream.delta = raw
    elif field == HEADERS:
        stream.headers = zigzag(raw)
        if stream.headers < 0:
            stream.facts.fault = MALFORMED_RECORD
        if stream.headers == 0:
            stream.field = RECORD_END
    elif field == OFFSET_DELTA:
        stream.offset_delta = raw
    else:
        if field == KEY:
            stream.key_size = raw
        elif field == VALUE:
            stream.value_size = raw
        if not raw & 1:
            stream.skip = <int64_t>(raw >> 1)
        elif field == HEADER_NAME:
            stream.facts.fault = MALFORMED_RECORD
        if field == HEADER_VALUE:
            stream.headers -= 1
            stream.field = RECORD_END if stream.headers == 0 else HEADER_NAME


cdef inline void take_byte(Stream* stream, uint8_t byte) noexcept nogil:
    """Read one more byte of the current number."""
    cdef uint64_t raw
    cdef int most_bytes = 10 if stream.field == DELTA else 5
    stream.raw |= <uint64_t>(byte & 0x7F) << stream.shift
    stream.shift += 7
    if byte < 0x80:
        raw = stream.raw if most_bytes > 5 else <uint32_t>stream.raw
        stream.raw = 0
        stream.shift = 0
        take_varint(stream, raw)
    elif stream.shift == 7 * most_bytes:
        stream.facts.fault = VARINT_TOO_LONG if stream.field == LENGTH else MALFORMED_RECORD


cdef inline void walk_on(Stream* stream, const uint8_t* at, const uint8_t* end) noexcept nogil:
    cdef int64_t step
    while stream.facts.fault == FINE:
        if stream.skip > 0:
            step = stream.skip if stream.skip < end - at else end - at
            at += step
            stream.skip -= step
            stream.read += step
            if stream.skip > 0:
                return
        if stream.field == RECORD_END:
            if stream.lengths_must_fit and stream.read != stream.length:
                stream.facts.fault = MALFORMED_RECORD
                return
            book(&stream.facts, stream.base_timestamp, stream.delta)
            stream.field = LENGTH
        if stream.field == LENGTH and stream.shift == 0:
            at = whole_records(
                at, end, stream.base_timestamp, stream.count, stream.lengths_must_fit, &stream.facts
            )
            if stream.facts.records >= stream.count:
                if at < end:
                    stream.facts.fault = RECORDS_REMAINING
                return
        if at == end:
            return
        stream.read += 1
        take_byte(stream, at[0])
        at += 1


cdef inline void end_stream(Stream* stream) noexcept nogil:
    if stream.facts.fault == FINE and stream.facts.records < stream.count:
        stream.facts.fault = PREMATURE_END if stream.field == LENGTH else MALFORMED_RECORD
