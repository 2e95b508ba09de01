"""The bytes that a client says, made from genes: `said_by`."""

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from rigs.cost.broker import Wish
from rigs.cost.cluster import TOKEN
from rigs.cost.genes import Genes, cluster_value, value
from rigs.cost.greetings import Greeting
from rigs.cost.names import name
from tests.attacks.test_work import SHELLS
from tests.session.conversation import DAY_MS, HOUR_MS, NOW_MS, id_of
from tests.session.messages import frame
from tests.wire.batches import CODECS, COMPRESS, batch, record, unsigned
from tests.wire.blobs import BOMBS, EQUAL
from tsproxy.model.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tsproxy.wire import k00_produce
from tsproxy.wire import primitives as put
from tsproxy.wire.apis import APIS

MOST_PARTITIONS: Final = 20_000
API_VERSIONS, PRODUCE, DESCRIBE_CONFIGS = 18, 0, 32


@dataclass(frozen=True, slots=True)
class Said:
    """One part of what a client says."""

    data: bytes
    a_read: int
    answers_at_once: bool
    after_ms: int
    view_changes: bool


@dataclass(frozen=True, slots=True)
class Session:
    """All that clients say, and the answers that they wish, by correlation id. Bytes ask for a page."""

    parts: list[Said | Greeting | bytes]
    wishes: Mapping[int, Wish]
    frames: int
    partitions: int


def said_by(genes: Genes) -> Session:
    most_bytes = cluster_value(genes.cluster, "most_bytes")
    parts: list[Said | Greeting | bytes] = []
    wishes: dict[int, Wish] = {}
    ids, greetings = iter(range(1, 1 << 30)), iter(range(1, 1 << 24))
    frames = partitions = 0
    for each in genes.parts:
        part = {**each, "most_bytes": most_bytes}
        if part["do"] == "connect":
            parts += (Greeting.of(each, genes.cluster, next(greetings)) for _ in range(value(each, "times")))
            continue
        if part["do"] == "page":
            asked = _page(part)
            parts += [asked] * max(1, min(value(part, "times"), most_bytes // len(asked)))
            continue
        made: list[bytes] = []
        size = 0
        for number in range(value(part, "times")):
            for one in _MAKERS[part["do"]](part, number, ids, wishes):
                made.append(one)
                size += len(one)
            if size > most_bytes:
                break
        frames += len(made)
        if part["do"] == "produce":
            partitions += len(made) * _bodies_partitions(part)
        data = bytearray(b"".join(made))
        for at in value(part, "damage"):
            place = 4 + at * 7
            if place < len(data):
                data[place] ^= 0xFF >> at
        parts.append(
            Said(
                bytes(data),
                value(part, "a_read"),
                value(part, "answers_at_once"),
                value(part, "after_ms"),
                value(part, "view_changes"),
            )
        )
    return Session(parts, wishes, frames, partitions)


def _wish(part: Mapping[str, Any]) -> Wish:
    names = ("answer_count", "answer_size", "answer_code", "answer_nodes")
    return Wish(*(value(part, each) for each in names))


def _framed(
    api: int, version: int, body: bytes, correlation_id: int, client: bytes, tags: bytes = b"\x00"
) -> bytes:
    is_flexible = api in APIS and APIS[api].is_flexible(version)
    head = struct.pack(">hhih", api, version, correlation_id, len(client)) + client
    return frame(head + (tags if is_flexible else b"") + body)


def _client(part: Mapping[str, Any], number: int) -> bytes:
    return name(
        value(part, "client"), value(part, "client_size"), number if value(part, "client_varies") else 0
    )


# -- Produce ------------------------------------------------------------------------------------------


def _produce(
    part: Mapping[str, Any], number: int, ids: Iterator[int], wishes: dict[int, Wish]
) -> Iterator[bytes]:
    correlation_id, version = next(ids), value(part, "version")
    wishes[correlation_id] = _wish(part)
    yield _framed(
        PRODUCE, version, _produce_body(_without_way(part), number)[0], correlation_id, _client(part, number)
    )


def _without_way(part: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """The genes that a body is made of, as a key."""
    return tuple(
        sorted((k, v) for k, v in part.items() if not k.startswith(("answer", "client", "a_read", "after")))
    )


_bodies: dict[Any, tuple[bytes, int]] = {}
"""Bodies, and how many partitions they have."""


def _bodies_partitions(part: Mapping[str, Any]) -> int:
    return _produce_body(_without_way(part), 0)[1]


def _produce_body(items: tuple[tuple[str, Any], ...], number: int) -> tuple[bytes, int]:
    """The same body for each number, unless its topics exist for this request alone."""
    part = dict(items)
    first = 0 if value(part, "is_known") else number * 30_000
    key = items, first
    if key not in _bodies:
        if len(_bodies) > 500:
            _bodies.clear()
        _bodies[key] = _made_body(part, first)
    return _bodies[key]


def _made_body(part: Mapping[str, Any], first: int) -> tuple[bytes, int]:
    version = value(part, "version")
    records = [_records(tuple(sorted(part.items())), is_good) for is_good in _kinds(value(part, "records"))]
    sizes = sum(len(each or b"") + 8 for each in records) // len(records)
    topics, partitions, left = [], value(part, "partitions"), MOST_PARTITIONS
    size = 0
    for n in range(value(part, "topics")):
        text = name(value(part, "topic"), value(part, "topic_size"), first + n).decode(
            "utf-8", "surrogateescape"
        )
        count = min(partitions, left, max(1, (part["most_bytes"] - size) // sizes))
        left -= count
        datas = tuple(
            PartitionProduceData(i, None if (one := records[i % len(records)]) is None else memoryview(one))
            for i in range(count)
        )
        topics.append(TopicProduceData(text, datas, topic_id=id_of(text) if version >= 13 else None))
        size += len(text) + count * sizes
        if size > part["most_bytes"] or left <= 0:
            break
    asked = ProduceRequest(
        "tx" if value(part, "is_transactional") and version >= 3 else None,
        value(part, "acks"),
        30_000,
        tuple(topics),
    )
    return k00_produce.write_request(version, asked), sum(len(topic.partitions) for topic in topics)


def _kinds(records: str) -> tuple[bool | None, ...]:
    """True for good records, False for bad ones, None for none."""
    return {"good": (True,), "bad": (False,), "null": (None,), "empty": (None,), "both": (True, False)}[
        records
    ]


_HEADERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "right": {},
    "log append": {"attributes": 0x08},
    "transactional": {"attributes": 0x10, "producer_id": 7, "producer_epoch": 1, "base_sequence": 0},
    "idempotent": {"producer_id": 7, "producer_epoch": 1, "base_sequence": 0},
    "count": {"records_count": 2**31 - 1},
    "maximum": {"max_timestamp": 5},
    "crc": {"crc": 0},
    "offset": {"base_offset": 9},
}


@cache
def _value_bytes(size: int) -> bytes:
    return bytes(size)


def _records(items: tuple[tuple[str, Any], ...], is_good: bool | None) -> bytes | None:
    part = dict(items)
    if is_good is None:
        return None if value(part, "records") == "null" else b""
    magic = value(part, "magic")
    one = _batch(part, is_good) if magic >= 2 else _old_message(part, is_good, magic)
    count = max(1, min(value(part, "batches"), part["most_bytes"] // max(1, len(one))))
    return one * count


def _times(part: Mapping[str, Any], is_good: bool, count: int) -> list[int]:
    start = NOW_MS if is_good else NOW_MS + 3 * HOUR_MS
    if not value(part, "times_vary"):
        return [start] * count
    return [start - (n % 1_000 if is_good else -(n % 3) * DAY_MS) for n in range(count)]


def _plain_count(part: Mapping[str, Any]) -> int:
    return max(1, min(value(part, "count"), 4 * part["most_bytes"] // (value(part, "value_size") + 8)))


def _body(part: Mapping[str, Any], codec: int) -> bytes | None:
    """The bytes in place of records, if there are any."""
    size = max(100, min(part["most_bytes"], value(part, "count") * 10))
    match value(part, "body"):
        case "bomb":
            of_codec = [body for each, body in BOMBS.values() if each == codec]
            return of_codec[value(part, "bomb") % len(of_codec)] if of_codec else bytes(size)
        case "shells":
            made = [make(size) for make, each in SHELLS.items() if each == codec]
            return made[value(part, "value_size") % len(made)] if made else bytes(size)
        case "zeros":
            return COMPRESS.get(codec, bytes)(bytes(size * 100 if codec else size))
        case "noise":
            return zlib.compress(bytes(range(256)) * (size // 256 + 1))[:size]
    return None


def _batch(part: Mapping[str, Any], is_good: bool) -> bytes:
    codec = CODECS.get(value(part, "codec"), 5)
    times = _times(part, is_good, _plain_count(part))
    header = dict(_HEADERS[value(part, "header")])
    if value(part, "magic") == 3:
        header["magic"] = 3
    key = None if value(part, "key") == "null" else b"k"
    filler = _value_bytes(value(part, "value_size"))
    base = times[0]
    made = b"".join(record(t - base, i, key, filler) for i, t in enumerate(times))
    count = EQUAL if value(part, "body") == "bomb" else len(times)
    header.setdefault("records_count", count)
    body = _body(part, codec)
    if body is None:
        body = COMPRESS.get(codec, bytes)(made)
    header.setdefault("max_timestamp", max(times))
    header.setdefault("last_offset_delta", count - 1)
    return batch((), codec, body=body, records=[], base_timestamp=base, **header)


def _old_message(part: Mapping[str, Any], is_good: bool, magic: int) -> bytes:
    """A message of magic 0 or 1, or a wrapper with `count` messages inside."""
    codec = CODECS.get(value(part, "codec"), 5)
    [time_ms] = _times(part, is_good, 1)
    key = None if value(part, "key") == "null" else b"k"
    filler = _value_bytes(value(part, "value_size"))
    if not codec:
        return _message(magic, 0, time_ms, key, filler)
    plain = b"".join(
        _message(magic, codec if value(part, "body") == "inner" else 0, t, key, filler, n)
        for n, t in enumerate(_times(part, is_good, _plain_count(part)))
    )
    inside = _body(part, codec)
    if inside is None:
        inside = COMPRESS.get(codec, bytes)(plain)
    return _message(magic, codec, time_ms, None, inside)


def _message(
    magic: int, codec: int, time_ms: int, key: bytes | None, filler: bytes, offset: int = 0
) -> bytes:
    body = bytes([magic, codec & 7]) + (struct.pack(">q", time_ms) if magic else b"")
    for field in (key, filler):
        body += struct.pack(">i", -1 if field is None else len(field)) + (field or b"")
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


# -- Other requests -----------------------------------------------------------------------------------


def _ask(
    part: Mapping[str, Any], number: int, ids: Iterator[int], wishes: dict[int, Wish]
) -> Iterator[bytes]:
    correlation_id, api = next(ids), value(part, "api")
    version = min(value(part, "version"), APIS[api].max_version) if api in APIS else 0
    if api == API_VERSIONS and value(part, "version") == 18:
        version = 18
    wishes[correlation_id] = _wish(part)
    tags, body = b"\x00", b""
    size, count = value(part, "size"), value(part, "resources")
    match value(part, "fill"):
        case "zeros":
            body = bytes(size)
        case "numbers":
            body = b"\x7f\xff\xff\xff" * (size // 4 + 1)
        case "names":
            body = struct.pack(">i", min(count, part["most_bytes"] // 10)) + b"\x00\x08orders-1" * min(
                count, part["most_bytes"] // 10
            )
        case "tags":
            fields = min(count, 100)
            tags = unsigned(fields) + (b"\x00" + unsigned(size) + bytes(size)) * fields
        case "resources":
            body = _resources(version, min(count, part["most_bytes"] // (size + 8)), size)
    yield _framed(api, version, body, correlation_id, _client(part, number), tags)


def _resources(version: int, count: int, size: int) -> bytes:
    flexible = version >= 4
    one = b"\x02" + put.string("x" * size, flexible) + (unsigned(0) if flexible else b"\xff" * 4)
    one += b"\x00" if flexible else b""
    return put.array(count, flexible) + one * count


def _software(
    part: Mapping[str, Any], number: int, ids: Iterator[int], wishes: dict[int, Wish]
) -> Iterator[bytes]:
    correlation_id = next(ids)
    wishes[correlation_id] = _wish(part)
    text = name(value(part, "name"), value(part, "size"), number)
    body = unsigned(len(text) + 1) + text + b"\x021\x00"
    yield _framed(API_VERSIONS, value(part, "version"), body, correlation_id, _client(part, number))


def _login(
    part: Mapping[str, Any], number: int, ids: Iterator[int], wishes: dict[int, Wish]
) -> Iterator[bytes]:
    mechanism, client = value(part, "mechanism"), _client(part, number)
    handshake = struct.pack(">h", len(mechanism)) + mechanism.encode()
    yield _framed(17, value(part, "version"), handshake, next(ids), client)
    token = _token(part, number)
    if value(part, "version") == 0:
        yield frame(token)
    else:
        yield _framed(36, 1, struct.pack(">i", len(token)) + token, next(ids), client)


def _token(part: Mapping[str, Any], number: int) -> bytes:
    size = value(part, "token_size")
    user = name(value(part, "user"), value(part, "user_size"), number)
    match value(part, "token"):
        case "pairs":
            return b"n,,\x01" + b"auth=Bearer a.b.c\x01" * (size // 18 + 1) + b"\x01"
        case "nested":
            return b"n,,\x01auth=Bearer e30." + b"W1tb" * (size // 4) + b".c\x01\x01"
        case "commas":
            return b"n,,n=" + user + b",r=a" + b",a=b" * (size // 4)
        case "noise":
            return bytes(range(256)) * (size // 256 + 1)
    if value(part, "mechanism").startswith("SCRAM"):
        return b"n,,n=" + user + b",r=abcdef"
    return b"\0" + user + b"\0password"


# -- The admin port -----------------------------------------------------------------------------------


def _page(part: Mapping[str, Any]) -> bytes:
    """A request for a page. The right token comes first, if it comes at all."""
    size = value(part, "size")
    content = {
        "letters": "x" * size,
        "bearer": f"Bearer {TOKEN}",
        "basic": "Basic " + "QUFB" * (size // 4) + "OmE=",
        "colons": ":" * size,
        "brackets": "[" + ":" * size + "]",
    }[value(part, "content")]
    field = value(part, "field")
    line = f"{content}\r\n" if field == "no colon" else f"{field}: {content}\r\n"
    count = min(value(part, "headers"), part["most_bytes"] // len(line))
    method = {"odd": "\x00" * size}.get(value(part, "method"), value(part, "method"))
    end = "\r\n" if value(part, "is_whole") else ""
    return f"{method} {value(part, 'path')} HTTP/1.1\r\n{line * count}{end}".encode()


_MAKERS: Final = {"produce": _produce, "ask": _ask, "login": _login, "software": _software}
