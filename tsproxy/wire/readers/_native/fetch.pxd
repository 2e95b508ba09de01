# The walk over a Fetch answer from version 16 on, up to the tagged fields of the answer itself: its tail.
#
# Everything of variable size has an unsigned varint before it. So the walk alternates: it steps over a known
# number of bytes (records, too), and then reads a number. It keeps nothing of a piece.

from libc.stdint cimport int64_t, uint8_t, uint64_t

cdef enum Step:          # the number after the next `skip` bytes; from END on, no number follows
    HEADER_TAGS
    TOPICS
    PARTITIONS
    TRANSACTIONS
    TRANSACTION_TAGS
    RECORDS
    PARTITION_TAGS
    TOPIC_TAGS
    TAG
    TAG_SIZE
    END
    TAIL
    BAD
    OVER

cdef enum:
    HEAD = 4 + 4                     # size, correlation_id
    BODY = 4 + 2 + 4                 # throttle_time_ms, error_code, session_id
    TOPIC = 16                       # topic_id
    PARTITION = 4 + 2 + 8 + 8 + 8    # partition_index, error_code, high_watermark, two more offsets
    TRANSACTION = 8 + 8              # producer_id, first_offset
    REPLICA = 4                      # preferred_read_replica
    SMALLEST_TAIL = 3                # the fewest bytes of a section that has a tagged field

cdef struct FetchPlace:
    int64_t left            # bytes of the answer that are still to come
    int64_t skip
    uint64_t number         # the varint that is being read; `shift` is how many bits of it were read
    int shift
    Step step
    Step section            # whose tagged fields are read, if the step is TAG or TAG_SIZE
    int64_t tags            # how many are still to come, with the current one, as in the next three
    int64_t topics
    int64_t partitions
    int64_t transactions


cdef class FetchWalk:
    cdef FetchPlace place

    cdef bint passes(self, const uint8_t* at, int64_t size) noexcept


cdef inline void end_fetch(FetchPlace* place) noexcept nogil:
    place.left = place.skip = 0
    place.number = 0
    place.shift = 0
    place.step = place.section = OVER
    place.tags = place.topics = place.partitions = place.transactions = 0


cdef inline void begin_fetch(FetchPlace* place, int64_t size) noexcept nogil:
    end_fetch(place)
    place.left = size
    place.step = HEADER_TAGS
    place.skip = HEAD


cdef inline void next_transaction(FetchPlace* place) noexcept nogil:
    if place.transactions:
        place.step = TRANSACTION_TAGS
        place.skip += TRANSACTION
    else:
        place.step = RECORDS
        place.skip += REPLICA


cdef inline void next_partition(FetchPlace* place) noexcept nogil:
    if place.partitions:
        place.step = TRANSACTIONS
        place.skip += PARTITION
    else:
        place.step = TOPIC_TAGS


cdef inline void next_topic(FetchPlace* place) noexcept nogil:
    if place.topics:
        place.step = PARTITIONS
        place.skip += TOPIC
    else:
        place.step = END


cdef inline void next_tag(FetchPlace* place) noexcept nogil:
    if place.tags:
        place.step = TAG
    elif place.section == HEADER_TAGS:
        place.step = TOPICS
        place.skip += BODY
    elif place.section == TRANSACTION_TAGS:
        place.transactions -= 1
        next_transaction(place)
    elif place.section == PARTITION_TAGS:
        place.partitions -= 1
        next_partition(place)
    else:
        place.topics -= 1
        next_topic(place)


cdef inline void take_number(FetchPlace* place, int64_t number) noexcept nogil:
    """Apply the number of the current step, and go to the next step."""
    if place.step == TAG:
        place.step = TAG_SIZE
    elif place.step == TAG_SIZE:
        place.skip = number
        place.tags -= 1
        next_tag(place)
    elif place.step == RECORDS:
        place.step = PARTITION_TAGS
        place.skip = number - 1 if number else 0
    elif place.step == TRANSACTIONS:
        place.transactions = number - 1 if number else 0
        next_transaction(place)
    elif place.step == TOPICS or place.step == PARTITIONS:
        if number == 0:
            place.step = BAD
        elif place.step == TOPICS:
            place.topics = number - 1
            next_topic(place)
        else:
            place.partitions = number - 1
            next_partition(place)
    else:
        place.section = place.step
        place.tags = number
        next_tag(place)


cdef inline void take_byte(FetchPlace* place, uint8_t byte) noexcept nogil:
    """Read one more byte of the current number, or the last byte of the answer."""
    cdef uint64_t number
    cdef bint is_padded
    place.left -= 1
    if place.step == END:
        place.step = BAD if byte or place.left else OVER
        return
    place.number |= <uint64_t>(byte & 0x7F) << place.shift
    if byte < 0x80:
        number = place.number
        is_padded = byte == 0 and place.shift > 0
        place.number = 0
        place.shift = 0
        if is_padded or number >> 32:
            place.step = BAD
        else:
            take_number(place, <int64_t>number)
    elif place.shift == 28:
        place.step = BAD
    else:
        place.shift += 7


cdef inline const uint8_t* walk_fetch(FetchPlace* place, const uint8_t* at, const uint8_t* end) noexcept nogil:
    """The end of the bytes that are walked over: the walk stops at the tail or at a fault."""
    cdef int64_t size
    while place.step < TAIL:
        if place.skip > place.left:
            place.step = BAD
            break
        size = place.skip if place.skip < end - at else end - at
        at += size
        place.skip -= size
        place.left -= size
        if place.skip:
            break
        if place.step == END and place.left >= SMALLEST_TAIL:
            place.step = TAIL
            break
        if place.left == 0:
            place.step = BAD
            break
        if at == end:
            break
        take_byte(place, at[0])
        at += 1
    return at
