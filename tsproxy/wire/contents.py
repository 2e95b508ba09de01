"""`read_contents`: reads a few records with key, value and headers, to copy them.

Source: `DefaultRecord.java`. The declared lengths are not compared with the contents. Brokers do not compare
them either if a batch is compressed (`records`), and the batch was judged before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tsproxy.model.kafka import wrap64
from tsproxy.model.view import SessionLimits
from tsproxy.wire import readers, record_set
from tsproxy.wire.records import read_varint, read_varlong
from tsproxy.wire.rewriting import plain_records

MAX_HEADERS: Final = 1_000
"""The most headers of a record that are copied. A header takes two bytes, and some 100 as an object."""
_SLICE: Final = 4096


@dataclass(frozen=True, slots=True)
class Content:
    """One record. A null key, a null value and the null value of a header are None. `headers` is None if
    there are more than MAX_HEADERS."""

    position: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...] | None


def read_contents(data: bytes, positions: Sequence[int], limits: SessionLimits) -> Iterator[Content]:
    """The records at `positions` (ascending) of the batch in `data`, which must be one batch of magic 2.

    The result ends early if the rest of the batch cannot be read. It is empty for another magic or for more
    than one batch. The batch is decompressed when the first record is requested.
    """
    batches = record_set.scan(memoryview(data), 2).batches
    if len(batches) != 1 or batches[0].magic != 2:
        return
    plain = plain_records(batches[0], limits)
    if plain is None:
        return
    first, pos, spans = 0, 0, readers.spans(plain, 0, 0, False)
    for position in positions:
        while 4 * (position - first) >= len(spans):
            first += len(spans) // 4
            most = min(_SLICE, batches[0].records_count - first)
            spans = readers.spans(plain, pos, most, lengths_must_fit=False)
            if not spans:
                return
            pos = spans[-1]
        start, _, headers_at, _ = spans[4 * (position - first) : 4 * (position - first + 1)]
        yield _content(plain, position, batches[0].base_timestamp, start, headers_at)


def _content(plain: bytes, position: int, base_ms: int, start: int, headers_at: int) -> Content:
    delta, pos = read_varlong(plain, start + 1)
    _, pos = read_varint(plain, pos)
    key, pos = _sized(plain, pos)
    value, _ = _sized(plain, pos)
    count, pos = read_varint(plain, headers_at)
    headers = None if count > MAX_HEADERS else tuple(_headers(plain, pos, count))
    return Content(position, wrap64(base_ms + delta), key, value, headers)


def _headers(plain: bytes, pos: int, count: int) -> Iterator[tuple[bytes, bytes | None]]:
    for _ in range(count):
        name, pos = _sized(plain, pos)
        value, pos = _sized(plain, pos)
        yield name or b"", value


def _sized(plain: bytes, pos: int) -> tuple[bytes | None, int]:
    """The bytes that follow their size, None for null, and their end."""
    size, pos = read_varint(plain, pos)
    return (None, pos) if size < 0 else (plain[pos : pos + size], pos + size)
