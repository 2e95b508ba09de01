"""The batches of `log_validator`: functions of now that write the bytes of a `records` field."""

from collections.abc import Callable
from dataclasses import replace

from rigs.differential.batches import Batch, Record, write_batch
from rigs.differential.message_sets import wrapper, write_messages
from tests.verdicts.rows import (
    TICK,
    keyless,
    legacy_messages,
    v2,
    v2_at,
)
from tsproxy.model.kafka import NO_TIMESTAMP, Codec


def twice(write: Callable[[int], bytes], other: Callable[[int], bytes]) -> Callable[[int], bytes]:
    return lambda now_ms: write(now_ms) + other(now_ms)


def zero_offsets(now_ms: int) -> bytes:
    records = tuple(Record(now_ms, None, b"x", offset_delta=0) for _ in range(20))
    return write_batch(Batch(records, codec=Codec.GZIP, last_offset_delta=0))


def legacy_zero_offsets(magic: int) -> Callable[[int], bytes]:
    def write(now_ms: int) -> bytes:
        messages = tuple(replace(m, offset=0) for m in legacy_messages(magic, *[now_ms] * 20))
        return write_messages([wrapper(messages, Codec.GZIP, magic=magic, offset=0)])

    return write


def foreign(outer: int, inner: int) -> Callable[[int], bytes]:
    """A wrapper whose 20 messages are of another magic."""

    def write(now_ms: int) -> bytes:
        messages = legacy_messages(inner, *[now_ms] * 20)
        return write_messages([wrapper(messages, Codec.GZIP, magic=outer, timestamp_ms=now_ms)])

    return write


def foreign_and_too_old(now_ms: int) -> bytes:
    old = legacy_messages(1, now_ms + 1200 * TICK)
    foreign = legacy_messages(0, *[now_ms] * 5)
    messages = tuple(replace(m, offset=30 * at) for at, m in enumerate((*old, *foreign)))
    return write_messages([wrapper(messages, Codec.GZIP, offset=150)])


def inner_crc(magic: int, codec: int) -> Callable[[int], bytes]:
    def write(now_ms: int) -> bytes:
        first, *rest = legacy_messages(magic, now_ms, now_ms, now_ms)
        return write_messages([wrapper((replace(first, crc_off=1), *rest), codec, magic=magic)])

    return write


def sequence(codec: int) -> Callable[[int], bytes]:
    return v2(0, 0, 0, codec=codec, producer_id=1234, producer_epoch=0, base_sequence=-2)


def marker(now_ms: int) -> bytes:
    """An end-transaction marker as a coordinator would write it, without the transactional bit."""
    record = Record(now_ms, b"\x00\x00\x00\x01", b"\x00\x00\x00\x00\x00\x00")
    return write_batch(Batch((record,), attributes=0x20))


def gzip_level(now_ms: int) -> bytes:
    return write_batch(Batch(keyless(NO_TIMESTAMP, NO_TIMESTAMP, NO_TIMESTAMP), codec=Codec.GZIP))


def three_keyless(magic: int, codec: int) -> Callable[[int], bytes]:
    if magic == 2:
        return v2_at(NO_TIMESTAMP, NO_TIMESTAMP, NO_TIMESTAMP, codec=codec)
    return lambda _: write_messages([wrapper(legacy_messages(magic, -1, -1, -1), codec, magic=magic)])


def counted(last_offset_delta: int, records_count: int, records: int = 3) -> Callable[[int], bytes]:
    return v2_at(
        *[1234] * records,
        last_offset_delta=last_offset_delta,
        records_count=records_count,
    )
