"""Draws ProduceRequests from the whole space: formats x codecs x versions x attribute bits x times x damage.

`draw` is a pure function of a random source, the topics and the clock, so a number replays a request. Times
keep `CLEAR_MS` away from every bound: the broker's clock is not ours to set. Most draws of a random source
are nearly right, because only such batches come past the first checks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from rigs.differential import dialects
from rigs.differential.batches import Batch, Record, write_batch
from rigs.differential.message_sets import Message, wrapper, write_messages
from rigs.differential.topics import PARTITIONS, SMALL_BATCH_BYTES, Topic
from tsproxy.model.kafka import LONG_MAX, LONG_MIN, Codec, wrap64
from tsproxy.model.verdict import TopicLimits

CLEAR_MS: Final = 30_000
LONG_BITS: Final = 64


@dataclass(frozen=True, slots=True)
class Part:
    """The data of one partition in the request."""

    topic: Topic
    partition: int
    records: bytes


@dataclass(frozen=True, slots=True)
class Probe:
    """One request: sent to the direct topics, and to their twins through the proxy."""

    number: int
    version: int
    acks: int
    transactional_id: str | None
    parts: tuple[Part, ...]


def draw(seed: str, number: int, topics: Sequence[Topic], versions: range, now_ms: int) -> Probe:
    """The request with this number, the same for the same seed, topics and time."""
    rng = Random(f"{seed}:{number}")
    version = rng.choice(versions)
    parts: dict[tuple[str, int], Part] = {}
    for _ in range(rng.choice((1, 1, 2, 4, 6))):
        topic, partition = rng.choice(topics), rng.randrange(PARTITIONS)
        records = draw_records(rng, topic.limits, version, now_ms)
        parts[topic.config, partition] = Part(topic, partition, records)
    return Probe(
        number=number,
        version=version,
        acks=rng.choice((1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, 2)),
        transactional_id="t" if version >= 3 and one_in(rng, 60) else None,
        parts=tuple(parts.values()),
    )


def draw_records(rng: Random, limits: TopicLimits, version: int, now_ms: int) -> bytes:
    """The records field of one partition."""
    if one_in(rng, 3 if version < 3 else 60):
        data = write_messages(_messages(rng, limits, now_ms))
        if version < 3 and one_in(rng, 40):
            data += write_batch(_batch(rng, limits, now_ms))
    else:
        data = write_batch(_batch(rng, limits, now_ms))
    return rng.choice(_RAW_DAMAGE)(rng, data) if one_in(rng, 12) else data


def one_in(rng: Random, n: int) -> bool:
    return rng.randrange(n) == 0


# -- Times ------------------------------------------------------------------------------------------


def draw_time(rng: Random, limits: TopicLimits, now_ms: int) -> int:
    """A timestamp that is interesting for `limits`, never within CLEAR_MS of a bound."""
    ts = wrap64(rng.choice(_TIMES)(rng, limits, now_ms))
    for edge in _edges(limits, now_ms):
        if ts != edge and abs(wrap64(ts - edge)) < CLEAR_MS:
            ts = wrap64(edge + (CLEAR_MS if wrap64(ts - edge) > 0 else -CLEAR_MS))
        elif ts == edge:
            ts = wrap64(edge + rng.choice((-CLEAR_MS, CLEAR_MS)))
    return ts


def _edges(limits: TopicLimits, now_ms: int) -> list[int]:
    before = LONG_MAX if limits.before_max_ms is None else limits.before_max_ms
    after = LONG_MAX if limits.after_max_ms is None else limits.after_max_ms
    return [now_ms + LONG_MIN, wrap64(now_ms - before), wrap64(now_ms + after)]


def _near(centre: Callable[[TopicLimits, int], int]) -> Callable[[Random, TopicLimits, int], int]:
    def time(rng: Random, limits: TopicLimits, now_ms: int) -> int:
        return centre(limits, now_ms) + rng.choice((-1, 1)) * rng.randint(CLEAR_MS, 3 * CLEAR_MS)

    return time


_TIMES: Final = (
    lambda rng, limits, now_ms: now_ms - rng.randrange(3600_000),
    lambda rng, limits, now_ms: now_ms - rng.randrange(3600_000),
    lambda rng, limits, now_ms: now_ms - rng.randrange(3600_000),
    lambda rng, limits, now_ms: now_ms + rng.randrange(3600_000),
    _near(lambda limits, now_ms: now_ms),
    _near(lambda limits, now_ms: now_ms - (limits.before_max_ms or 0)),
    _near(lambda limits, now_ms: now_ms + (limits.after_max_ms or 0)),
    _near(lambda limits, now_ms: now_ms + LONG_MIN),
    lambda rng, limits, now_ms: rng.choice((-1, -1, -1, 0, 1, -2, -1000, LONG_MIN, LONG_MIN + 1, LONG_MAX)),
    lambda rng, limits, now_ms: rng.choice((now_ms // 1000, now_ms * 1000, now_ms * 1_000_000)),
    lambda rng, limits, now_ms: wrap64(rng.getrandbits(LONG_BITS)),
)


# -- Batches of magic 2 -----------------------------------------------------------------------------


def _batch(rng: Random, limits: TopicLimits, now_ms: int) -> Batch:
    count = rng.choice((1, 1, 2, 3, 3, 5, 12))
    good = draw_time(rng, limits, now_ms)
    records = tuple(
        Record(
            timestamp_ms=draw_time(rng, limits, now_ms) if one_in(rng, 3) else good,
            key=None if one_in(rng, 4) else rng.randbytes(rng.randrange(6)),
            value=None if one_in(rng, 10) else rng.randbytes(rng.choice((0, 1, 20, 20, 60))),
            headers=((b"h", None), (b"", b"x")) if one_in(rng, 8) else (),
        )
        for _ in range(count)
    )
    codec = rng.choice((0, 0, 0, 0, 1, 2, 3, 4))
    batch = Batch(records, codec=codec, dialect=rng.choice(dialects.GOOD[codec]))
    for _ in range(rng.choice((0, 0, 0, 0, 1, 1, 2))):
        batch = rng.choice(_BATCH_DAMAGE)(rng, batch)
    return batch


def _of_record(
    change: Callable[[Random, Record], Record],
) -> Callable[[Random, Batch], Batch]:
    def damage(rng: Random, batch: Batch) -> Batch:
        at = rng.randrange(len(batch.records))
        records = list(batch.records)
        records[at] = change(rng, records[at])
        return replace(batch, records=tuple(records))

    return damage


def _bad_dialect(rng: Random, batch: Batch) -> Batch:
    bad = dialects.BAD.get(batch.codec)
    return batch if bad is None else replace(batch, dialect=rng.choice(bad))


def _more_payload(rng: Random, batch: Batch) -> Batch:
    dialect = batch.dialect or dialects.GOOD[batch.codec][0]
    junk = rng.randbytes(rng.randint(1, 9))
    return replace(batch, dialect=lambda data: dialect(data + junk))


def _less_payload(rng: Random, batch: Batch) -> Batch:
    dialect = batch.dialect or dialects.GOOD[batch.codec][0]
    less = rng.randint(1, 9)
    return replace(batch, dialect=lambda data: dialect(data[:-less]))


def _scrambled_payload(rng: Random, batch: Batch) -> Batch:
    """One byte of the records is another, under a right checksum."""
    dialect = batch.dialect or dialects.GOOD[batch.codec][0]
    where, what = rng.random(), rng.randrange(256)

    def compress(data: bytes) -> bytes:
        at = int(where * len(data))
        return dialect(data[:at] + bytes([what]) + data[at + 1 :])

    return replace(batch, dialect=compress)


def _sequenced(rng: Random, batch: Batch) -> Batch:
    return replace(
        batch,
        producer_id=rng.getrandbits(40),
        producer_epoch=rng.choice((0, 0, 0, 5, -1, 32767)),
        base_sequence=rng.choice((0, 0, 0, 0, 7, 2**31 - 1, -1, -2)),
    )


_BATCH_DAMAGE: Final[tuple[Callable[[Random, Batch], Batch], ...]] = (
    _sequenced,
    _sequenced,
    _sequenced,
    lambda rng, b: replace(b, attributes=b.attributes | 0x08),
    lambda rng, b: replace(b, attributes=b.attributes | 0x08, max_timestamp=-1),
    lambda rng, b: replace(b, attributes=b.attributes | 0x10) if one_in(rng, 4) else b,
    lambda rng, b: replace(_sequenced(rng, b), attributes=b.attributes | 0x10) if one_in(rng, 4) else b,
    lambda rng, b: replace(b, attributes=b.attributes | 0x20),
    lambda rng, b: replace(b, attributes=b.attributes | 0x40),
    lambda rng, b: replace(b, attributes=b.attributes | 1 << rng.randrange(7, 15)),
    lambda rng, b: replace(b, attributes=b.attributes | 1 << rng.randrange(7, 15)),
    lambda rng, b: replace(b, codec=rng.choice((5, 6, 7)), dialect=lambda data: data),
    lambda rng, b: replace(b, codec=rng.randint(1, 4), dialect=lambda data: data),
    lambda rng, b: replace(b, base_offset=rng.choice((1, 42, -1, LONG_MAX))),
    lambda rng, b: replace(b, base_timestamp=rng.choice((0, -1, LONG_MAX, LONG_MIN, 10**12))),
    lambda rng, b: replace(b, max_timestamp=rng.choice((0, -1, LONG_MAX, LONG_MIN, 10**12))),
    lambda rng, b: replace(b, last_offset_delta=rng.choice((-2, -1, 0, 1, 99, 2**31 - 1))),
    lambda rng, b: replace(b, records_count=rng.choice((-1, 0, 1, 2, 99, 2**31 - 1))),
    lambda rng, b: replace(b, records_count=len(b.records) + 1, last_offset_delta=len(b.records)),
    lambda rng, b: replace(b, magic=rng.choice((0, 1))),
    lambda rng, b: replace(b, magic=rng.choice((3, 127, -1))) if one_in(rng, 4) else b,
    lambda rng, b: replace(b, length_off=rng.choice((-49, -10, -1, 1, 5, 1000))),
    lambda rng, b: replace(b, crc_off=1),
    lambda rng, b: replace(b, crc_off=1),
    lambda rng, b: replace(b, tail=rng.randbytes(rng.choice((1, 11, 12, 20, 30)))),
    lambda rng, b: replace(b, tail=b"\x00" * rng.choice((1, 11, 12, 17, 30))),
    lambda rng, b: replace(b, tail=write_batch(replace(b, tail=b""))[: rng.choice((5, 20, 61, 10**6))]),
    lambda rng, b: replace(b, records=(*b.records, replace(b.records[0], value=b"x" * SMALL_BATCH_BYTES))),
    lambda rng, b: replace(b, payload=b"", records_count=0, last_offset_delta=rng.choice((-1, 0, 5))),
    _bad_dialect,
    _bad_dialect,
    _more_payload,
    _less_payload,
    _scrambled_payload,
    _scrambled_payload,
    _of_record(lambda rng, r: replace(r, offset_delta=rng.choice((0, 1, 9, -1, 2**31 - 1)))),
    _of_record(lambda rng, r: replace(r, length_off=rng.choice((-3, -1, 1, 2, 100)))),
    _of_record(lambda rng, r: replace(r, length_off=rng.choice((-1000, -(2**31), 2**31 - 50, 2**20)))),
    _of_record(lambda rng, r: replace(r, headers_off=rng.choice((-1, 1, 2, 10**6)))),
    _of_record(lambda rng, r: replace(r, key=None, null_size=rng.choice((-2, -5, -(2**31))))),
)


# -- Messages of magic 0 and 1 ----------------------------------------------------------------------


def _messages(rng: Random, limits: TopicLimits, now_ms: int) -> list[Message]:
    magic = rng.choice((0, 1, 1, 1))
    count = rng.choice((1, 1, 2, 3, 5))
    if one_in(rng, 2):
        return [_message(rng, magic, at, limits, now_ms) for at in range(count)]
    return [_wrapper(rng, magic, count, limits, now_ms) for _ in range(1 if rng.randrange(8) else 2)]


def _message(rng: Random, magic: int, offset: int, limits: TopicLimits, now_ms: int) -> Message:
    message = Message(
        magic=magic,
        timestamp_ms=draw_time(rng, limits, now_ms),
        key=None if one_in(rng, 4) else rng.randbytes(rng.randrange(6)),
        value=None if one_in(rng, 10) else rng.randbytes(rng.choice((0, 1, 20, 60))),
        offset=offset,
    )
    return rng.choice(_MESSAGE_DAMAGE)(rng, message) if one_in(rng, 12) else message


_MESSAGE_DAMAGE: Final[tuple[Callable[[Random, Message], Message], ...]] = (
    lambda rng, m: replace(m, crc_off=1),
    lambda rng, m: replace(m, size_off=rng.choice((-3, -1, 1, 3))),
    lambda rng, m: replace(m, magic=rng.choice((0, 1, 2, 3))),
    lambda rng, m: replace(m, attributes=rng.choice((1, 4, 5, 0x10, 0x20, 0x40))),
    lambda rng, m: replace(m, attributes=m.attributes | 0x08),
    lambda rng, m: replace(m, offset=rng.choice((0, 7, -1))),
)


def _wrapper(rng: Random, magic: int, count: int, limits: TopicLimits, now_ms: int) -> Message:
    codec = rng.choice((Codec.GZIP, Codec.SNAPPY, Codec.LZ4))
    inner = tuple(_message(rng, magic, at, limits, now_ms) for at in range(count))
    fields: dict[str, object] = {}
    if one_in(rng, 5):
        fields = dict([rng.choice(_WRAPPER_LIES)(rng)])
    if one_in(rng, 8):
        fields["dialect"] = rng.choice((*dialects.GOOD[codec], *dialects.BAD[codec]))
    if one_in(rng, 12):
        nested = wrapper(inner, codec, magic=magic)
        inner = (*inner, replace(nested, offset=count))
    return wrapper(inner, codec, magic=magic, **fields)  # type: ignore[arg-type] # a test's own


_WRAPPER_LIES: Final[tuple[Callable[[Random], tuple[str, object]], ...]] = (
    lambda rng: ("attributes", 0x08),
    lambda rng: ("offset", rng.choice((0, 99, -1))),
    lambda rng: ("timestamp_ms", rng.choice((-1, 0, LONG_MAX, LONG_MIN, 10**12))),
    lambda rng: ("value", None),
    lambda rng: ("key", b"key"),
    lambda rng: ("crc_off", 1),
    lambda rng: ("attributes", 0x04),
)


# -- Damage to what is already written --------------------------------------------------------------

_RAW_DAMAGE: Final[tuple[Callable[[Random, bytes], bytes], ...]] = (
    lambda rng, data: data[: rng.randrange(len(data) + 1)],
    lambda rng, data: data + rng.randbytes(rng.randrange(1, 40)),
    lambda rng, data: _with_byte(data, rng.randrange(len(data)), rng.randrange(256)) if data else data,
    lambda rng, data: (
        _with_byte(data, rng.randrange(min(61, len(data))), rng.randrange(256)) if data else data
    ),
    lambda rng, data: b"",
)


def _with_byte(data: bytes, at: int, value: int) -> bytes:
    return data[:at] + bytes([value]) + data[at + 1 :]
