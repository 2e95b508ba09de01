# The walk over a Fetch or ShareFetch answer, up to its tail: `streamed.py` has the steps of each layout.
#
# A step skips a known number of bytes (records, too), and then reads a number. The walk keeps nothing of a piece.

from libc.stdint cimport int64_t, uint8_t, uint64_t

cdef enum Phase:         # the item after the bytes that are skipped; from END on, no number follows
    NUMBER
    TAG
    TAG_SIZE
    END
    TAIL
    BAD
    OVER

cdef enum:               # `Number` in streamed.py: `copy_layouts` compares the two
    BYTES = 0
    ARRAY = 1
    NULLABLE = 2
    TAGS = 3

cdef enum:
    MAX_STEPS = 16
    MAX_DEPTH = 3       # arrays inside each other
    MAX_TAIL = 2        # bytes of a tail that names nothing

cdef struct Step:
    int skip
    int number
    int partner

cdef struct Answer:
    Step[MAX_STEPS] steps
    int count            # of the steps
    uint8_t[MAX_TAIL] tail    # a tail that names nothing
    int tail_size

cdef struct FetchPlace:
    const Answer* answer
    int64_t left            # bytes of the answer that are still to come
    int64_t skip
    uint64_t number         # the varint that is being read; `shift` is how many bits of it were read
    int shift
    Phase phase
    int at                  # the step
    int depth               # how many arrays the walk is in
    int64_t tags            # how many are still to come, with the current one, as in the next line
    int64_t[MAX_DEPTH] items


cdef const Answer* answer_of(int layout) noexcept nogil


cdef class FetchWalk:
    cdef FetchPlace place

    cdef bint passes(self, const uint8_t* at, int64_t size) noexcept


cdef inline void end_fetch(FetchPlace* place) noexcept nogil:
    place.left = place.skip = place.tags = 0
    place.number = 0
    place.shift = place.at = place.depth = 0
    place.phase = OVER


cdef inline void go(FetchPlace* place, int at) noexcept nogil:
    place.at = at
    if at == place.answer.count:
        place.phase = END
    else:
        place.phase = NUMBER
        place.skip += place.answer.steps[at].skip


cdef inline void begin_fetch(FetchPlace* place, int64_t size, int layout) noexcept nogil:
    end_fetch(place)
    place.left = size
    place.answer = answer_of(layout)
    go(place, 0)


cdef inline void next_tag(FetchPlace* place, const Step* step) noexcept nogil:
    """Go to the next tagged field. Behind the last one of an item, go to the next item."""
    if place.tags:
        place.phase = TAG
        return
    if step.partner:
        place.items[place.depth - 1] -= 1
        if place.items[place.depth - 1]:
            go(place, step.partner + 1)
            return
        place.depth -= 1
    go(place, place.at + 1)


cdef inline void take_number(FetchPlace* place, int64_t number) noexcept nogil:
    """Apply the number of the current step, and go to the next step."""
    cdef const Step* step = &place.answer.steps[place.at]
    if place.phase == TAG:
        place.phase = TAG_SIZE
    elif place.phase == TAG_SIZE:
        place.skip = number
        place.tags -= 1
        next_tag(place, step)
    elif step.number == TAGS:
        place.tags = number
        next_tag(place, step)
    elif step.number == BYTES:
        go(place, place.at + 1)
        place.skip += number - 1 if number else 0
    elif number > 1:
        place.items[place.depth] = number - 1
        place.depth += 1
        go(place, place.at + 1)
    elif number == 0 and step.number == ARRAY:
        place.phase = BAD
    else:
        go(place, step.partner + 1)


cdef inline void take_byte(FetchPlace* place, uint8_t byte) noexcept nogil:
    """Read one more byte of the current number, or of a tail that names nothing."""
    cdef uint64_t number
    cdef bint is_padded
    place.left -= 1
    if place.phase == END:
        if byte != place.answer.tail[place.answer.tail_size - 1 - place.left]:
            place.phase = BAD
        elif place.left == 0:
            place.phase = OVER
        return
    place.number |= <uint64_t>(byte & 0x7F) << place.shift
    if byte < 0x80:
        number = place.number
        is_padded = byte == 0 and place.shift > 0
        place.number = 0
        place.shift = 0
        if is_padded or number >> 32:
            place.phase = BAD
        else:
            take_number(place, <int64_t>number)
    elif place.shift == 28:
        place.phase = BAD
    else:
        place.shift += 7


cdef inline const uint8_t* walk_fetch(FetchPlace* place, const uint8_t* at, const uint8_t* end) noexcept nogil:
    """The end of the bytes that are walked over: the walk stops at the tail or at a fault."""
    cdef int64_t size
    while place.phase < TAIL:
        if place.skip > place.left:
            place.phase = BAD
            break
        size = place.skip if place.skip < end - at else end - at
        at += size
        place.skip -= size
        place.left -= size
        if place.skip:
            break
        if place.phase == END and place.left > place.answer.tail_size:
            place.phase = TAIL
            break
        if place.left == 0:
            place.phase = BAD
            break
        if at == end:
            break
        take_byte(place, at[0])
        at += 1
    return at
