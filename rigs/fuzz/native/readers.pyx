# cython: language_level=3, boundscheck=False, wraparound=False
"""Targets for `tsproxy.wire.readers`: numbers, records, messages, answers, compressed blocks."""

from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.buffer cimport PyBUF_READ
from cpython.mem cimport PyMem_Free
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.string cimport memcmp, memcpy

from rigs.fuzz.native.target cimport Script, Target, capsule, exact, left, number, require
from tsproxy.wire.readers._native.culprits cimport Columns, search
from tsproxy.wire.readers._native.cursor cimport (
    Cursor, peek_int16, peek_int32, peek_int64, read_int16, read_int32, read_uvarint, take,
)
from tsproxy.wire.readers._native.fetch cimport BAD, OVER, TAIL, FetchPlace, begin_fetch, walk_fetch
from tsproxy.wire.readers._native.put cimport put_decimal, put_int64, put_uvarint
from tsproxy.wire.readers._native.record cimport any_varint, short_varint, sized, zigzag
from tsproxy.wire.readers._native.stream cimport Stream, begin_stream, end_stream, walk_on
from tsproxy.wire.readers._native.walk cimport FINE, Walked, walk_records

import zlib

import lz4.block
import zstandard

from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.records import Suspects
from tsproxy.wire.readers import (
    Finder, holds_zeros, lz4_size, messages, skim_errors, zstd_size, zstd_work,
)
from tsproxy.wire.readers.message_run import Bounds

cdef int64_t NOW_MS = 1_767_225_600_000


# -- Numbers ----------------------------------------------------------------------------------------


cdef int check_varints(const uint8_t* data, size_t size) except -1:
    """All readers of a number stay inside its bytes and agree, and what they read is written again as it was."""
    cdef const uint8_t* end = data + size
    cdef const uint8_t* ends[3]
    cdef uint64_t short = 0, usual = 0, long = 0
    cdef bint runs_on[2]
    cdef Cursor cursor = Cursor(data, end, False)
    cdef uint8_t[10] written
    cdef int64_t value
    runs_on[0] = runs_on[1] = False
    ends[0] = short_varint(data, &short) if size >= 4 else NULL
    ends[1] = any_varint(data, end, 5, &usual, &runs_on[0])
    ends[2] = any_varint(data, end, 10, &long, &runs_on[1])
    if ends[0] != NULL:
        require(ends[0] == ends[1] == ends[2] and short == usual == long, "a short number is another one")
    if ends[1] != NULL:
        require(ends[1] == ends[2] and <uint32_t>long == usual, "a number of five bytes is another one")
    require(ends[1] == NULL or ends[1] <= end, "a number ends outside")
    require(ends[2] == NULL or ends[2] <= end, "a long number ends outside")
    require(not runs_on[0] or size >= 5, "a number runs on that is cut short")
    value = read_uvarint(&cursor)
    if not cursor.is_bad:
        require(ends[1] == cursor.at and usual == <uint64_t>value, "the cursor reads another number")
        require(put_uvarint(written, <uint32_t>value) - written == cursor.at - data, "a number has other bytes")
        require(memcmp(written, data, cursor.at - data) == 0, "other bytes are written")
    else:
        require(ends[1] == NULL or ends[2] - data == 5 or (ends[1] - 1)[0] == 0, "a sound number is bad")
    return check_fixed(data, size, end)


cdef int check_fixed(const uint8_t* data, size_t size, const uint8_t* end) except -1:
    cdef Cursor cursor = Cursor(data, end, False)
    cdef uint8_t[32] written, expected
    cdef const uint8_t* last
    cdef int64_t value
    last = sized(data, end, size & 1)
    require(last == NULL or last <= end, "a payload ends outside")
    read_int16(&cursor)
    read_int32(&cursor)
    take(&cursor, peek_int16(data) if size >= 2 else -1)
    require(cursor.at <= end, "the cursor left its frame")
    if size >= 8:
        value = peek_int64(data)
        put_int64(written, value)
        require(memcmp(written, data, 8) == 0, "eight bytes are written otherwise")
        require(zigzag((<uint64_t>value << 1) ^ <uint64_t>(value >> 63)) == value, "zigzag is not undone")
        last = put_decimal(written, value)
        require(
            snprintf(<char*>expected, 32, "%lld", <long long>value) == last - written, "other digits, and more"
        )
        require(memcmp(written, expected, last - written) == 0, "other digits")
    return 0


# -- Records ----------------------------------------------------------------------------------------


cdef bint alike(Walked* one, Walked* other) noexcept:
    return (
        one.records == other.records and one.missing == other.missing and one.fault == other.fault
        and one.lowest == other.lowest and one.highest == other.highest and one.largest == other.largest
    )


cdef int check_records(const uint8_t* data, size_t size) except -1:
    """Records are read alike whole and in pieces, the culprits are those outside the bounds, and no byte behind
    a piece is read."""
    cdef Script script = Script(data, data + size)
    cdef int64_t base = NOW_MS + <int64_t>number(&script, 1) if number(&script, 1) else <int64_t>number(&script, 8)
    cdef int32_t count = <int32_t>number(&script, 2) - 1
    cdef int64_t room = <int64_t>number(&script, 1), step = 1 + <int64_t>number(&script, 1)
    cdef int64_t low = <int64_t>(<uint64_t>base - number(&script, 4))
    cdef int64_t high = <int64_t>(<uint64_t>base + number(&script, 4))
    cdef int must_fit
    cdef Walked whole
    cdef Stream stream
    cdef Columns found
    cdef Py_ssize_t outside
    cdef int positions[256]
    cdef long long times[256]
    cdef long long deltas[256]
    if number(&script, 1) & 1:
        step *= 64
    for must_fit in range(2):
        walk_records(script.at, script.end, base, count, must_fit, &whole)
        stream.read = INT64_MAX  # where it begins, nothing may be left of what was there
        begin_stream(&stream, base, count, must_fit)
        feed(&stream, script.at, script.end, step)
        end_stream(&stream)
        require(alike(&whole, &stream.facts), "records are others in pieces")
        require(0 <= whole.records and whole.records <= max(count, 0), "more records than there may be")
        require(whole.missing <= whole.records, "more records without a time than records")
    found = Columns(&positions[0], &times[0], &deltas[0])
    outside = search(script.at, script.end, base, count, low, high, room, found)
    require(0 <= outside and outside <= max(count, 0), "more culprits than records")
    for at in range(min(outside, room)):
        require(times[at] < low or times[at] > high, "a culprit lies within the bounds")
        require(at == 0 or positions[at] > positions[at - 1], "culprits are not in order")
    if whole.fault == FINE:
        is_outside = whole.lowest <= whole.highest and (whole.lowest < low or whole.highest > high)
        require(is_outside == (outside > 0), "the range of all times and the culprits differ")
        require(outside <= whole.records - whole.missing, "culprits without a time")
    return 0


cdef int feed(Stream* stream, const uint8_t* at, const uint8_t* end, int64_t step) except -1:
    cdef int64_t size
    cdef uint8_t* copy
    while at < end:
        size = min(step, end - at)
        copy = exact(at, size)
        walk_on(stream, copy, copy + size)
        PyMem_Free(copy)
        at += size
    return 0


cdef tuple SUSPECTS = (
    Suspects(NOW_MS - 1000, NOW_MS + 1000),
    Suspects(LONG_MIN, LONG_MAX, needs_key=True),
    Suspects(NOW_MS, LONG_MAX, is_missing=True, is_zero=True),
    Suspects(LONG_MIN, NOW_MS, is_negative=True, needs_key=True),
    Suspects(LONG_MIN, LONG_MAX, clock=(NOW_MS, 86_400_000, 3_600_000, True)),
    Suspects(LONG_MIN, LONG_MAX, clock=(NOW_MS, 86_400_000, 3_600_000, False)),
    Suspects(LONG_MIN, LONG_MAX, is_each=True),
)


cdef int check_culprits(const uint8_t* data, size_t size) except -1:
    """The suspects among records are the same in whatever pieces these come."""
    cdef Script script = Script(data, data + size)
    cdef int64_t base = NOW_MS - 128 + <int64_t>number(&script, 1)
    cdef int32_t count = <int32_t>number(&script, 2) - 1
    cdef int64_t step = 1 + <int64_t>number(&script, 1), taken
    cdef const uint8_t* at
    cdef uint8_t* copy
    suspects, most = SUSPECTS[number(&script, 1) % 7], <int64_t>number(&script, 1)
    whole, pieces = Finder(base, count, suspects, most), Finder(base, count, suspects, most)
    whole.feed(PyMemoryView_FromMemory(<char*>script.at, left(&script), PyBUF_READ))
    at = script.at
    while at < script.end:
        taken = min(step, script.end - at)
        copy = exact(at, taken)
        pieces.feed(PyMemoryView_FromMemory(<char*>copy, taken, PyBUF_READ))
        PyMem_Free(copy)
        at += taken
    found = whole.finish()
    require(found == pieces.finish(), "the suspects are others in pieces")
    require(len(found.positions) <= min(most, max(count, 0)) + 1, "more suspects than there is room for")
    return 0


# -- Messages of magic 0 and 1 ----------------------------------------------------------------------


cdef tuple MESSAGE_BOUNDS = (
    Bounds(),
    Bounds(NOW_MS - 1000, NOW_MS + 1000),
    Bounds(largest=60),
    Bounds(needs_key=True),
)


cdef int check_messages(const uint8_t* data, size_t size) except -1:
    """A run of messages ends where a message does, a second look finds the same, and none follows it."""
    cdef Script script = Script(data, data + size)
    cdef int magic = <int>number(&script, 1) & 1
    cdef bint is_mended = number(&script, 1) & 3 != 0
    cdef Py_ssize_t total
    cdef uint8_t* copy
    cdef int64_t at = 0, records = 0
    bounds = MESSAGE_BOUNDS[number(&script, 1) & 3]
    total = left(&script)
    copy = exact(script.at, total)
    if is_mended:
        mend(copy, copy + total)
    view = PyMemoryView_FromMemory(<char*>copy, total, PyBUF_READ)
    run = messages(view, 0, magic, bounds)
    require(0 <= run.end and run.end <= total, "a run ends outside")
    while at < <int64_t>run.end:
        at += 12 + peek_int32(copy + at + 8)
        records += 1
    require(at == run.end and records == run.facts.records, "a run ends inside a message")
    require(messages(view[: run.end], 0, magic, bounds) == run, "a run by itself is another one")
    require(messages(view, run.end, magic, bounds).facts.records == 0, "a run goes on behind its end")
    PyMem_Free(copy)
    return 0


cdef int mend(uint8_t* at, uint8_t* end) except -1:
    """Write the right checksum into each message: no fuzzer finds one."""
    cdef int64_t size
    cdef uint32_t crc
    while end - at >= 17:
        size = peek_int32(at + 8)
        if size < 5 or size > end - at - 12:
            return 0
        crc = zlib.crc32(PyMemoryView_FromMemory(<char*>at + 16, size - 4, PyBUF_READ))
        at[12], at[13], at[14], at[15] = crc >> 24, crc >> 16 & 0xFF, crc >> 8 & 0xFF, crc & 0xFF
        at += 12 + size
    return 0


# -- Fetch answers ----------------------------------------------------------------------------------


cdef int check_fetched(const uint8_t* data, size_t size) except -1:
    """The walk over an answer of Fetch or ShareFetch stops at the same byte, for the same reason, in whatever
    pieces it comes."""
    cdef Script script = Script(data, data + size)
    cdef int64_t step = 1 + <int64_t>number(&script, 1)
    cdef int layout = <int>number(&script, 1) % 3
    cdef int64_t announced = <int64_t>number(&script, 1), taken, walked = 0
    cdef FetchPlace whole, pieces
    cdef const uint8_t* at = script.at
    cdef const uint8_t* end
    cdef uint8_t* copy
    if announced < 0xF0:
        announced = left(&script)
    begin_fetch(&whole, announced, layout)
    begin_fetch(&pieces, announced, layout)
    end = walk_fetch(&whole, script.at, script.end)
    require(script.at <= end and end <= script.end, "the walk left the answer")
    while True:  # once for nothing, too
        taken = min(step, script.end - at)
        copy = exact(at, taken)
        walked = walk_fetch(&pieces, copy, copy + taken) - copy
        PyMem_Free(copy)
        at += walked
        if walked < taken or at == script.end:
            break
    require(at == end, "the walk stops at another byte in pieces")
    require(pieces.phase == whole.phase and pieces.left == whole.left, "the walk stops for another reason")
    require(whole.phase != TAIL or whole.left >= 2, "a tail without room for one field")
    require(whole.phase != OVER or announced == end - script.at, "the answer is over before its end")
    return 0


# -- Errors of records ------------------------------------------------------------------------------


cdef int check_errors(const uint8_t* data, size_t size) except -1:
    """Errors of an answer are stepped over up to the first odd one, and are the same without what follows."""
    cdef Script script = Script(data, data + size)
    cdef bint is_flexible = number(&script, 1) & 1
    cdef int64_t count = <int64_t>number(&script, 1)
    view = PyMemoryView_FromMemory(<char*>script.at, left(&script), PyBUF_READ)
    found = skim_errors(view, 0, count, is_flexible)
    skimmed, end, lowest, highest = found
    require(0 <= skimmed and skimmed <= count, "more errors than were asked for")
    require(0 <= end and end <= left(&script), "the errors end outside")
    require(skim_errors(view[:end], 0, skimmed, is_flexible) == found, "the errors by themselves are others")
    require(skimmed == count or skim_errors(view, end, 1, is_flexible)[0] == 0, "an error follows the last one")
    require((lowest is None) == (highest is None), "a span with one end")
    require(lowest is None or lowest <= highest, "a span ends before it begins")
    return 0


# -- Compressed blocks ------------------------------------------------------------------------------


cdef object ZSTD = zstandard.ZstdDecompressor(max_window_size=1 << 17)
ZSTD.decompress(zstandard.compress(b"so that what it keeps is there before the first input"))
cdef int64_t MAX_DECOMPRESSED = 1 << 17


cdef int check_lz4(const uint8_t* data, size_t size) except -1:
    """The size that is told of an lz4 block is the one that lz4 comes to, 255 times the block's at most."""
    view = PyMemoryView_FromMemory(<char*>data, size, PyBUF_READ)
    cdef int64_t told = lz4_size(view)
    require(-1 <= told and told <= <int64_t>(255 * size), "a block grows too much")
    if 0 <= told <= MAX_DECOMPRESSED:
        try:
            made = lz4.block.decompress(view, uncompressed_size=told + 64)
        except lz4.block.LZ4BlockError:
            return 0  # it asks for more about a block's end
        require(len(made) == told, "lz4 makes another number of bytes")
    return 0


cdef int check_zstd(const uint8_t* data, size_t size) except -1:
    """The size that is told of a zstd frame is the one that zstd comes to, 2 MiB a block at most. Its work is
    at least that of a block."""
    cdef const uint8_t* at = data
    cdef Py_ssize_t head = 6
    if size < 6:
        return 0
    view = PyMemoryView_FromMemory(<char*>data, size, PyBUF_READ)
    if data[4] & 0x20:
        head = 5 + (1, 2, 4, 8)[data[4] >> 6]
    elif data[4] >> 6:
        head = 6 + (0, 2, 4, 8)[data[4] >> 6]
    if head > <Py_ssize_t>size:
        return 0
    cdef int64_t told = zstd_size(view, head, 1 << 31)
    cdef int64_t work = zstd_work(view, head, 0)
    require(-1 <= told and told <= <int64_t>(((1 << 21) * size) // 3), "a frame grows too much")
    require(work == -1 or 6_000 <= work, "a frame without a block")
    require(work <= <int64_t>(size // 3) * (6_000 + 20 * 0x17EFF), "more sequences than there may be")
    if 0 <= told <= MAX_DECOMPRESSED and not data[4] & 3:
        try:
            said = zstandard.get_frame_parameters(view).content_size
            if said != zstandard.CONTENTSIZE_UNKNOWN and said > MAX_DECOMPRESSED:
                return 0  # the library would allocate it
            made = ZSTD.decompress(view, max_output_size=told + 64)
        except zstandard.ZstdError:
            return 0
        # The library decompresses nothing if the frame's header says that there is nothing.
        require(len(made) == told or not made, "zstd makes another number of bytes")
    return 0


cdef int check_zeros(const uint8_t* data, size_t size) except -1:
    """Four zeros in a row are found wherever they stand, and nothing else is."""
    cdef Script script = Script(data, data + size)
    cdef Py_ssize_t shift = <Py_ssize_t>number(&script, 1) & 31, total = left(&script), at
    cdef uint8_t* copy = exact(data, shift + total) if shift + total <= <Py_ssize_t>size else NULL
    cdef int run = 0
    cdef bint found = False
    if copy == NULL:
        return 0
    memcpy(copy + shift, script.at, total)
    for at in range(total):
        run = 0 if script.at[at] else run + 1
        found = found or run == 4
    require(
        holds_zeros(PyMemoryView_FromMemory(<char*>copy + shift, total, PyBUF_READ)) == found, "zeros are missed"
    )
    PyMem_Free(copy)
    return 0


cdef Target varints = Target(check_varints, 1_000, 0, 1_000, 0, 0)
cdef Target records = Target(check_records, 5_000, 100, 1_000, 40, 0)
cdef Target culprits = Target(check_culprits, 20_000, 200, 200_000, 1_000, 4_096)
cdef Target old_messages = Target(check_messages, 10_000, 100, 20_000, 20, 4_096)
cdef Target fetched = Target(check_fetched, 2_000, 100, 1_000, 40, 0)
cdef Target errors = Target(check_errors, 5_000, 200, 20_000, 20, 4_096)
cdef Target lz4_blocks = Target(check_lz4, 2_000, 50, 200_000, 300, 4_096)
cdef Target zstd_frames = Target(check_zstd, 20_000, 4_000, 4_000_000, 400, 2_000_000)  # buffers of the library
cdef Target zeros = Target(check_zeros, 2_000, 50, 2_000, 4, 4_096)

TARGETS = {
    "varints": capsule(&varints),
    "records": capsule(&records),
    "culprits": capsule(&culprits),
    "messages": capsule(&old_messages),
    "fetched": capsule(&fetched),
    "errors": capsule(&errors),
    "lz4": capsule(&lz4_blocks),
    "zstd": capsule(&zstd_frames),
    "zeros": capsule(&zeros),
}
