"""The walk over a batch's plain records, in Python."""

from tsproxy.model.kafka import LONG_MAX, LONG_MIN, NO_TIMESTAMP, wrap64
from tsproxy.model.records import Fault, RecordFacts
from tsproxy.wire.records import UNSIGNED, read_varint, read_varlong, skip_headers


def walk(data: bytes | memoryview, base_timestamp: int, count: int, lengths_must_fit: bool) -> RecordFacts:
    """The facts of `count` records, up to the first fault.

    Varints of one byte are read in place: a call costs more than everything else that is done here.
    """
    data = bytes(data)
    deltas: list[int] = []
    pos, end, largest = 0, len(data), 0
    fault = None
    for _ in range(count):
        try:
            byte = data[pos]
            if byte < 0x80:
                length, pos = (byte >> 1) ^ -(byte & 1), pos + 1
            else:
                length, pos = read_varint(data, pos)
        except IndexError:
            fault = Fault.PREMATURE_END
            break
        except ValueError:
            fault = Fault.VARINT_TOO_LONG
            break
        start = pos
        if not 0 <= length <= largest:
            largest = max(largest, length & UNSIGNED)
        try:
            byte = data[pos + 1]
            if byte < 0x80:
                delta, pos = (byte >> 1) ^ -(byte & 1), pos + 2
            else:
                delta, pos = read_varlong(data, pos + 1)
            pos = _skip_rest(data, pos)
        except (IndexError, ValueError):
            fault = Fault.MALFORMED_RECORD
            break
        if lengths_must_fit and pos - start != length:
            fault = Fault.MALFORMED_RECORD
            break
        deltas.append(delta)
    if fault is None and pos < end:
        fault = Fault.RECORDS_REMAINING
    return _facts(deltas, base_timestamp, fault, largest)


def _skip_rest(data: bytes, pos: int) -> int:
    """The end of a record whose offset delta begins at `pos`; IndexError or ValueError if malformed."""
    if data[pos] < 0x80:
        pos += 1
    else:
        _, pos = read_varint(data, pos)
    for _ in ("key", "value"):
        byte = data[pos]
        if byte < 0x80:
            size, pos = (byte >> 1) ^ -(byte & 1), pos + 1
        else:
            size, pos = read_varint(data, pos)
        if size > 0:
            pos += size
    if data[pos] == 0:
        return pos + 1
    count, pos = read_varint(data, pos)
    return skip_headers(data, pos, count)


def _facts(deltas: list[int], base_timestamp: int, fault: Fault | None, largest: int) -> RecordFacts:
    if not deltas:
        return RecordFacts(0, None, None, 0, fault, largest)
    lowest, highest = base_timestamp + min(deltas), base_timestamp + max(deltas)
    if lowest >= LONG_MIN and highest <= LONG_MAX and not lowest <= NO_TIMESTAMP <= highest:
        return RecordFacts(len(deltas), lowest, highest, 0, fault, largest)
    timestamps = [wrap64(base_timestamp + delta) for delta in deltas]
    times = [timestamp for timestamp in timestamps if timestamp != NO_TIMESTAMP]
    missing = len(timestamps) - len(times)
    span = min(times, default=None), max(times, default=None)
    return RecordFacts(len(deltas), *span, missing, fault, largest)
