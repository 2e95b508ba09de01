"""The walk in steps: `stream.pxd` in Python.

It reads a record field by field if the end of a piece cuts the record.
"""

from enum import IntEnum

from tsproxy.model.kafka import NO_TIMESTAMP, wrap64
from tsproxy.model.records import Fault, RecordFacts
from tsproxy.wire.records import UNSIGNED, read_varint, read_varlong, skip_headers


class _Field(IntEnum):
    """The field that is read after `_skip` bytes are stepped over."""

    LENGTH = 0
    DELTA = 1
    OFFSET_DELTA = 2
    KEY = 3
    VALUE = 4
    HEADERS = 5
    HEADER_NAME = 6
    HEADER_VALUE = 7
    RECORD_END = 8


class StreamWalker:
    """The walk over records that come in pieces. The stub of `wire/readers` describes it."""

    __slots__ = (
        "_base_timestamp",
        "_count",
        "_delta",
        "_fault",
        "_field",
        "_headers",
        "_highest",
        "_largest",
        "_length",
        "_lengths_must_fit",
        "_lowest",
        "_missing",
        "_raw",
        "_read",
        "_records",
        "_shift",
        "_skip",
    )

    def __init__(self, base_timestamp: int, count: int, lengths_must_fit: bool) -> None:
        self._base_timestamp = base_timestamp
        self._count = count
        self._lengths_must_fit = lengths_must_fit
        self._records = self._missing = 0
        self._lowest: int | None = None
        self._highest: int | None = None
        self._fault: Fault | None = None
        self._field = _Field.LENGTH
        self._skip = self._raw = self._shift = 0
        self._length = self._read = self._delta = self._headers = self._largest = 0

    def feed(self, data: bytes | memoryview) -> None:
        data = bytes(data)
        pos, end = 0, len(data)
        while self._fault is None:
            if self._skip:
                step = min(self._skip, end - pos)
                pos += step
                self._skip -= step
                self._read += step
                if self._skip:
                    return
            if self._field is _Field.RECORD_END:
                self._end_record()
                continue
            if self._field is _Field.LENGTH and not self._shift:
                pos = self._whole_records(data, pos)
                if self._records >= self._count:
                    self._fault = Fault.RECORDS_REMAINING if pos < end else None
                    return
            if pos == end:
                return
            self._read += 1
            self._take_byte(data[pos])
            pos += 1

    def finish(self) -> RecordFacts:
        if self._fault is None and self._records < self._count:
            is_between = self._field is _Field.LENGTH
            self._fault = Fault.PREMATURE_END if is_between else Fault.MALFORMED_RECORD
        span = self._lowest, self._highest
        return RecordFacts(self._records, *span, self._missing, self._fault, self._largest)

    def _whole_records(self, data: bytes, pos: int) -> int:
        """The beginning of the first record from `pos` on that is not whole in `data`, or has a fault."""
        while self._records < self._count:
            try:
                length, start = read_varint(data, pos)
                delta, at = read_varlong(data, start + 1)
                _, at = read_varint(data, at)
                key_size, at = read_varint(data, at)
                value_size, at = read_varint(data, at + max(key_size, 0))
                headers, at = read_varint(data, at + max(value_size, 0))
                at = skip_headers(data, at, headers)
            except (IndexError, ValueError):
                break
            if self._lengths_must_fit and at - start != length:
                break
            pos = at
            self._note_size(length)
            self._book(delta)
        return pos

    def _end_record(self) -> None:
        if self._lengths_must_fit and self._read != self._length:
            self._fault = Fault.MALFORMED_RECORD
        else:
            self._book(self._delta)
            self._field = _Field.LENGTH

    def _note_size(self, length: int) -> None:
        self._largest = max(self._largest, length & UNSIGNED)

    def _book(self, delta: int) -> None:
        self._records += 1
        timestamp = wrap64(self._base_timestamp + delta)
        if timestamp == NO_TIMESTAMP:
            self._missing += 1
            return
        if self._lowest is None or timestamp < self._lowest:
            self._lowest = timestamp
        if self._highest is None or timestamp > self._highest:
            self._highest = timestamp

    def _take_byte(self, byte: int) -> None:
        """Read one more byte of the current number."""
        most_bits = 70 if self._field is _Field.DELTA else 35
        self._raw |= (byte & 0x7F) << self._shift
        self._shift += 7
        if byte < 0x80:
            raw = self._raw & (0xFFFF_FFFF_FFFF_FFFF if most_bits > 35 else 0xFFFF_FFFF)
            self._raw = self._shift = 0
            self._take_varint((raw >> 1) ^ -(raw & 1))
        elif self._shift == most_bits:
            is_length = self._field is _Field.LENGTH
            self._fault = Fault.VARINT_TOO_LONG if is_length else Fault.MALFORMED_RECORD

    def _take_varint(self, value: int) -> None:
        """Apply the number of the current field, and go to the next field."""
        field = self._field
        if field is _Field.LENGTH:
            self._length, self._read, self._skip = value, 0, 1  # the attributes are stepped over
            self._note_size(value)
        elif field is _Field.DELTA:
            self._delta = value
        elif field is _Field.HEADERS:
            self._headers = value
            if value < 0:
                self._fault = Fault.MALFORMED_RECORD
        elif field is not _Field.OFFSET_DELTA:
            self._skip = max(value, 0)
            if field is _Field.HEADER_NAME and value < 0:
                self._fault = Fault.MALFORMED_RECORD
        if field is _Field.HEADER_VALUE:
            self._headers -= 1
        if field in (_Field.HEADERS, _Field.HEADER_VALUE):
            self._field = _Field.HEADER_NAME if self._headers > 0 else _Field.RECORD_END
        else:
            self._field = _Field(field + 1)
