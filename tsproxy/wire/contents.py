"""`read_contents`: reads a few records with key, value and headers, to copy them.

Source: `DefaultRecord.java`. The declared lengths are not compared with the contents. Brokers do not compare
them either if a batch is compressed (`records`), and the batch was judged before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tsproxy.model.kafka import wrap64
from tsproxy.model.view import SessionLimits
from tsproxy.wire import record_set
from tsproxy.wire.records import read_varint, read_varlong, skip_headers
from tsproxy.wire.rewriting import plain_records


@dataclass(frozen=True, slots=True)
class Content:
    """One record. A null key, a null value and the null value of a header are None."""

    position: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...]


def read_contents(data: bytes, positions: Sequence[int], limits: SessionLimits) -> Iterator[Content]:
    """The records at `positions` (ascending) of the batch in `data`, which must be one batch of magic 2.

    The result ends early if the rest of the batch cannot be read. It is empty for another magic or for more
    than one batch. The batch is decompressed when the first record is requested.
    """
    found = record_set.scan(memoryview(data), 2).batches
    if len(found) != 1 or found[0].magic != 2:
        return
    plain = plain_records(found[0], limits)
    if plain is None:
        return
    wanted = iter(positions)
    position, base_ms, pos = next(wanted, -1), found[0].base_timestamp, 0
    for index in range(found[0].records_count):
        if position < 0:
            return
        try:
            content, pos = _record(plain, pos, index, base_ms, index == position)
        except (IndexError, ValueError):
            return
        if content is not None:
            yield content
            position = next(wanted, -1)


def _record(plain: bytes, pos: int, index: int, base_ms: int, is_wanted: bool) -> tuple[Content | None, int]:
    """The record at `pos` (None if it is not wanted) and the position of the next one. Raises IndexError or
    ValueError if there is no record."""
    _, pos = read_varint(plain, pos)
    delta, pos = read_varlong(plain, pos + 1)
    _, pos = read_varint(plain, pos)
    key_at, key_end = _span(plain, pos)
    value_at, value_end = _span(plain, key_end)
    count, headers_at = read_varint(plain, value_end)
    end = skip_headers(plain, headers_at, count)
    if not is_wanted:
        return None, end
    return (
        Content(
            index,
            wrap64(base_ms + delta),
            _text(plain, key_at, key_end),
            _text(plain, value_at, value_end),
            tuple(_headers(plain, headers_at, count)),
        ),
        end,
    )


def _headers(plain: bytes, pos: int, count: int) -> Iterator[tuple[bytes, bytes | None]]:
    for _ in range(count):
        name_at, name_end = _span(plain, pos)
        value_at, pos = _span(plain, name_end)
        yield plain[name_at:name_end], _text(plain, value_at, pos)


def _span(plain: bytes, pos: int) -> tuple[int, int]:
    """The start and the end of the bytes that follow their size. The start is -1 for null."""
    size, at = read_varint(plain, pos)
    return (at, at + size) if size >= 0 else (-1, at)


def _text(plain: bytes, start: int, end: int) -> bytes | None:
    return None if start < 0 else plain[start:end]
