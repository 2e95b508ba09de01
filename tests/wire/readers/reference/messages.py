"""Runs of bare messages of magic 0 and 1, in Python."""

import zlib

from tsproxy.model.kafka import NO_TIMESTAMP
from tsproxy.model.records import RecordFacts
from tsproxy.wire import record_set
from tsproxy.wire.readers.message_run import ANY, Bounds, MessageRun

_KEY_AT = {0: 18, 1: 26}
_LARGEST_INT = 2**31 - 1


def messages(data: bytes | memoryview, start: int, magic: int, bounds: Bounds = ANY) -> MessageRun:
    """The run that begins at `start`: whole messages of that magic, within `bounds`. They are not compressed,
    no known attribute bit is set, and their checksums, keys and values are right."""
    view, pos = memoryview(data), start
    records, missing = 0, 0
    lowest_ms: int | None = None
    highest_ms: int | None = None
    while (end := _end_of(view, pos)) is not None:
        message = view[pos:end]
        found_ms = _time_of(message, magic, bounds)
        if found_ms is None or records == _LARGEST_INT:
            break
        records, pos = records + 1, end
        if found_ms == NO_TIMESTAMP:
            missing += 1
            continue
        lowest_ms = found_ms if lowest_ms is None else min(lowest_ms, found_ms)
        highest_ms = found_ms if highest_ms is None else max(highest_ms, found_ms)
    return MessageRun(pos, RecordFacts(records, lowest_ms, highest_ms, missing))


def _end_of(view: memoryview, pos: int) -> int | None:
    if pos < 0 or len(view) - pos < record_set.LOG_OVERHEAD:
        return None
    size = int.from_bytes(view[pos + 8 : pos + 12], "big", signed=True)
    end = pos + record_set.LOG_OVERHEAD + size
    return end if size >= record_set.SMALLEST_RECORD and end <= len(view) else None


def _time_of(message: memoryview, magic: int, bounds: Bounds) -> int | None:
    """The time of a message (in ms) if the run may include the message, else None."""
    if magic not in _KEY_AT or message[record_set.MAGIC_OFFSET] != magic or len(message) > bounds.largest:
        return None
    found = record_set.as_batch(message)
    key = _sized(message, _KEY_AT[magic])
    if found.attributes or key is None or (bounds.needs_key and key[0] < 0):
        return None
    if _sized(message, key[1]) is None or zlib.crc32(message[record_set.MAGIC_OFFSET :]) != found.crc:
        return None
    time_ms = found.base_timestamp
    is_within = time_ms == NO_TIMESTAMP or bounds.lowest_ms <= time_ms <= bounds.highest_ms
    return time_ms if is_within else None


def _sized(message: memoryview, pos: int) -> tuple[int, int] | None:
    """(the size at `pos`, below 0 for null; the end of so many bytes after it); None if there are too few."""
    if pos + 4 > len(message):
        return None
    size = int.from_bytes(message[pos : pos + 4], "big", signed=True)
    end = pos + 4 + max(size, 0)
    return (size, end) if end <= len(message) else None
