# cython: language_level=3, boundscheck=False, wraparound=False
"""Targets for `tsproxy.fastpath._native`: requests, rejections, answers; the session is asked about what is done."""

from cpython.buffer cimport PyBUF_READ
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport int64_t, uint8_t, uint32_t

from rigs.fuzz.native.target cimport Script, Target, capsule, exact, left, number, piece, require
from tsproxy.fastpath._native.answers cimport AnswerFilter
from tsproxy.fastpath._native.in_flight cimport FETCH, PRODUCE, RELAY, Entry, InFlight
from tsproxy.fastpath._native.rejecter cimport Rejecter
from tsproxy.fastpath._native.requests cimport RequestFilter
from tsproxy.fastpath._native.table cimport Batch, Table
from tsproxy.wire.readers._native.cursor cimport peek_int16, peek_int32

from google_crc32c import value as crc_of

from rigs.fuzz.native import scenes

cdef int64_t NOW_MS = scenes.NOW_MS


cdef class Place:
    """The fast path of a session that has learnt some topics and some rejections, and what to ask it about."""

    cdef RequestFilter requests
    cdef AnswerFilter answers
    cdef Rejecter rejecter
    cdef InFlight in_flight
    cdef Table table
    cdef object scene
    cdef bytes menu          # requests of every kind that the fast path forwards

    def __cinit__(self, scene, bint reads_compressed=True):
        path = scene.learnt().fast_path
        self.requests, self.answers, self.rejecter = path.requests, path.answers, path.rejecter
        self.in_flight, self.table, self.scene = path.slots, path.requests.table, scene
        if not reads_compressed:
            self.table.read_compressed = None
        self.menu = scene.asked

    cdef int ask(self) except -1:
        """Forward the whole menu."""
        cdef Py_ssize_t size = len(self.menu)
        self.requests.refused = -1  # the session has answered what was refused before
        return require(
            self.requests.run(<const uint8_t*><const char*>self.menu, size, NOW_MS) == size, "the menu stays here"
        )

    cdef int64_t counted(self) noexcept:
        """How many batches the table has counted since the last time."""
        cdef int64_t batches = 0
        cdef Py_ssize_t at
        for at in range(self.table.count):
            batches += self.table.rows[at].counts.batches
            self.table.rows[at].counts.batches = 0
        return batches

    cdef int clear(self) except -1:
        while self.in_flight.count:
            self.in_flight.drop()
        self.in_flight.streaming = 0
        require(self.in_flight.batch_count == 0, "batches are left of no request")
        require(self.table.in_flight == 0, "the table counts requests that are none")
        return 0


cdef list PLACES = [Place(scene) for scene in scenes.SCENES]
cdef list PLAIN = [Place(scene, False) for scene in scenes.SCENES]
cdef list TWINS = [Place(scene, False) for scene in scenes.SCENES]


cdef int64_t clock(Script* script) noexcept:
    """Mostly now; some seconds or days earlier or later else."""
    cdef int step = <int>number(script, 1) - 128
    if -100 < step and step < 100:
        return NOW_MS + step * step
    return NOW_MS + <int64_t>step * step * step * 1_000


# -- Requests ---------------------------------------------------------------------------------------


cdef int check_requests(const uint8_t* data, size_t size) except -1:
    """Whole frames are forwarded and queued one by one, and each of them would be if it came alone.

    Compressed batches are left to `check_verdicts`: Python reads them.
    """
    cdef Script script = Script(data, data + size)
    cdef int which = <int>number(&script, 1) % 3
    cdef int64_t now_ms = clock(&script)
    cdef Place place = PLAIN[which], twin = TWINS[which]
    cdef Py_ssize_t total = left(&script), end, at = 0, frames = 0
    cdef uint8_t* copy
    end = place.requests.run(script.at, total, now_ms)
    require(0 <= end and end <= total, "more is forwarded than came")
    while at < end:
        announced = 4 + peek_int32(script.at + at)
        copy = exact(script.at + at, announced)
        require(twin.requests.run(copy, announced, now_ms) == announced, "a frame alone is not forwarded")
        PyMem_Free(copy)
        at += announced
        frames += 1
    require(at == end, "half a frame is forwarded")
    require(frames == place.in_flight.count, "frames are not queued one by one")
    compare(place, twin)
    copy = exact(script.at + end, total - end)
    place.requests.is_beginning(copy, total - end)
    PyMem_Free(copy)
    place.clear()
    twin.clear()
    return 0


cdef int compare(Place place, Place twin) except -1:
    """Both queues hold the same."""
    cdef Py_ssize_t at, batches = 0
    cdef Entry* one
    cdef Entry* other
    cdef Batch* batch
    cdef Batch* again
    require(place.in_flight.count == twin.in_flight.count, "one queue is longer")
    for at in range(place.in_flight.count):
        one, other = place.in_flight.entry(at), twin.in_flight.entry(at)
        batches += one.batches
        require(
            one.kind == other.kind and one.correlation_id == other.correlation_id
            and one.batches == other.batches and one.acks == other.acks
            and one.api_version == other.api_version,
            "a request is queued as another",
        )
    require(batches == place.in_flight.batch_count == twin.in_flight.batch_count, "batches of no request")
    for at in range(batches):
        batch, again = place.in_flight.batch(at), twin.in_flight.batch(at)
        require(
            batch.row == again.row and batch.partition == again.partition
            and batch.records == again.records and batch.lowest_ms == again.lowest_ms
            and batch.highest_ms == again.highest_ms and batch.size_in_bytes == again.size_in_bytes,
            "a batch is queued as another",
        )
    return 0


# -- Requests and the session -----------------------------------------------------------------------


cdef int check_verdicts(const uint8_t* data, size_t size) except -1:
    """The session forwards what the fast path forwards, and rejects in the same words what it rejects."""
    cdef Script script = Script(data, data + size)
    cdef Place place = PLACES[number(&script, 1) % 3]
    cdef int64_t now_ms = NOW_MS + <int64_t>number(&script, 1)
    cdef bint is_mended = number(&script, 1) & 3 != 0
    cdef Py_ssize_t total = left(&script), rejected, end
    cdef uint8_t* copy = exact(script.at, total)
    if is_mended:
        mend(copy, copy + total)
    rejected = place.rejecter.run(copy, total, now_ms)
    require(0 <= rejected and rejected <= total, "more is rejected than came")
    if rejected:
        place.scene.agrees_to_reject(
            PyBytes_FromStringAndSize(<char*>copy, rejected),
            PyBytes_FromStringAndSize(<char*>place.rejecter.answers, place.rejecter.size),
            now_ms,
        )
    end = place.requests.run(copy + rejected, total - rejected, now_ms)
    if end:
        place.scene.agrees_to_forward(PyBytes_FromStringAndSize(<char*>copy + rejected, end), now_ms)
    PyMem_Free(copy)
    place.clear()
    return 0


cdef int mend(uint8_t* at, uint8_t* end) except -1:
    """Write the right checksum into each batch of magic 2 that seems to begin somewhere: no fuzzer finds one."""
    cdef int64_t size
    cdef uint32_t crc
    while end - at >= 61:
        size = <int64_t>peek_int32(at + 8) + 12
        if at[16] != 2 or size < 61 or size > end - at or peek_int16(at) != 0:
            at += 1
            continue
        crc = crc_of(PyBytes_FromStringAndSize(<char*>at + 21, size - 21))
        at[17], at[18], at[19], at[20] = crc >> 24, crc >> 16 & 0xFF, crc >> 8 & 0xFF, crc & 0xFF
        at += size
    return 0


cdef int check_rejections(const uint8_t* data, size_t size) except -1:
    """Each rejected request has one answer with its correlation id, and these fill the memory for them."""
    cdef Script script = Script(data, data + size)
    cdef Place place = PLACES[number(&script, 1) % 3]
    cdef int64_t now_ms = clock(&script)
    cdef bint is_mended = number(&script, 1) & 3 != 0
    cdef Py_ssize_t total = left(&script), rejected, at = 0, told = 0
    cdef uint8_t* copy = exact(script.at, total)
    if is_mended:
        mend(copy, copy + total)
    rejected = place.rejecter.run(copy, total, now_ms)
    require(0 <= rejected and rejected <= total, "more is rejected than came")
    require(rejected > 0 or place.rejecter.size == 0, "an answer to nothing")
    while at < rejected:
        require(told + 8 <= place.rejecter.size, "a request has no answer")
        require(
            peek_int32(copy + at + 8) == peek_int32(place.rejecter.answers + told + 4), "another request's answer"
        )
        told += 4 + peek_int32(place.rejecter.answers + told)
        at += 4 + peek_int32(copy + at)
    require(at == rejected and told == place.rejecter.size, "answers and requests do not match")
    require(place.in_flight.count == 0 and place.rejecter.count == 0, "a rejected request is in flight")
    PyMem_Free(copy)
    return 0


# -- Answers ----------------------------------------------------------------------------------------


cdef int check_answers(const uint8_t* data, size_t size) except -1:
    """A broker that may lie: what is forwarded are whole answers of the right requests, but for one that streams;
    batches are counted only where the answer names each of them, with code 0."""
    cdef Script script = Script(data, data + size)
    cdef Place place = PLAIN[number(&script, 1) % 3]
    cdef int64_t step = <int64_t>number(&script, 1), taken
    cdef Script asked = piece(&script)
    cdef Py_ssize_t forwarded = 0, size_now
    cdef int64_t before, batches
    cdef uint8_t* copy
    place.requests.run(asked.at, left(&asked), NOW_MS)
    if place.in_flight.count == 0:
        place.ask()
    batches = place.in_flight.batch_count
    before = place.in_flight.answered
    step = step * step + 1
    while script.at < script.end:
        taken = min(step, left(&script))
        copy = exact(script.at, taken)
        size_now = place.answers.run(copy, taken)
        PyMem_Free(copy)
        require(0 <= size_now and size_now <= taken, "more is forwarded than came")
        script.at += size_now
        forwarded += size_now
        if size_now < taken:
            break
    require(place.in_flight.streaming >= 0, "less than nothing streams")
    require(place.in_flight.answered == before or forwarded >= 8, "an answer of no bytes")
    require(place.in_flight.batch_count <= batches, "an answer adds batches")
    place.clear()
    return require(place.counted() <= batches, "more batches are counted than were sent")


cdef int check_acceptance(const uint8_t* data, size_t size) except -1:
    """The session, too, books every batch of an answer as accepted that the fast path has counted."""
    cdef Script script = Script(data, data + size)
    cdef Place place = PLACES[number(&script, 1) % 3]
    cdef Py_ssize_t end
    cdef int64_t counted
    place.ask()
    end = place.answers.run(script.at, left(&script))
    place.clear()
    counted = place.counted()
    if counted:
        place.scene.agrees_that_accepted(place.menu, PyBytes_FromStringAndSize(<char*>script.at, end), counted)
    return 0


cdef Target requests = Target(check_requests, 20_000, 60, 50_000, 40, 65_536)
cdef Target verdicts = Target(check_verdicts, 50_000, 300, 4_000_000, 20_000, 1_000_000)
cdef Target rejections = Target(check_rejections, 50_000, 300, 100_000, 2_000, 200_000)
cdef Target answers = Target(check_answers, 50_000, 300, 50_000, 60, 65_536)
cdef Target acceptance = Target(check_acceptance, 50_000, 300, 4_000_000, 20_000, 1_000_000)

TARGETS = {
    "requests": capsule(&requests),
    "verdicts": capsule(&verdicts),
    "rejections": capsule(&rejections),
    "answers": capsule(&answers),
    "acceptance": capsule(&acceptance),
}
