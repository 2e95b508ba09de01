"""A broker that answers what it is asked, in the sizes that genes wish: `Broker`."""

import struct
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.session.dialogues import frames_of
from tests.session.messages import answer, frame
from tests.wire.batches import unsigned
from tests.wire.fetched import fetched, node_endpoints, partition, tags_of
from tsproxy.model.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from tsproxy.model.verdict import RecordError
from tsproxy.wire import addresses, k00_produce
from tsproxy.wire import primitives as put
from tsproxy.wire.addresses import Field, Kind
from tsproxy.wire.apis import APIS
from tsproxy.wire.headers import read_request_header
from tsproxy.wire.primitives import DecodeError

PRODUCE, FETCH, VERSIONS, HANDSHAKE, CONFIGS, AUTHENTICATE, QUORUM = 0, 1, 18, 17, 32, 36, 55
MOST_BYTES = 1 << 18
"""Larger answers show nothing that these do not."""


@dataclass(frozen=True, slots=True)
class Wish:
    """How large an answer is, and what it says."""

    count: int = 1
    size: int = 0
    code: int = 0
    nodes: int = 1


class Broker:
    """`wishes` are by correlation id. Once the answers have `most_bytes`, wishes are not granted any more."""

    def __init__(self, wishes: Mapping[int, Wish], most_bytes: int) -> None:
        self.answered = 0
        self.owes: deque[bytes] = deque()
        self._come = b""
        self._raw_tokens = False
        self._left = most_bytes
        self._wishes = wishes

    def begin(self) -> None:
        """A new connection: answers that are due to the one before are not sent."""
        self._come, self._raw_tokens = b"", False
        self.owes.clear()

    def read(self, sent: list[bytes]) -> None:
        """Reads what the proxy has sent, and prepares the answers."""
        if not sent:
            return
        frames, self._come = frames_of(self._come + b"".join(sent))
        sent.clear()
        self.owes += [made for asked in frames if (made := self._answer(asked)) is not None]

    def answers(self) -> bytes:
        """All answers that are due."""
        made = b"".join(self.owes)
        self.answered += len(self.owes)
        self.owes.clear()
        return made

    def _answer(self, asked: bytes) -> bytes | None:
        if self._raw_tokens:
            self._raw_tokens = False
            return frame(b"")
        header = read_request_header(asked[4:])
        wish = self._wishes.get(header.correlation_id, Wish()) if self._left > 0 else Wish()
        key, version = header.api_key, header.api_version
        if key == HANDSHAKE:
            self._raw_tokens = version == 0
        body = _BODIES.get(key, _any)(version, asked[4 + header.body_start :], wish, key)
        if body is None:
            return None
        self._left -= len(body)
        return answer(key, version, body, header.correlation_id)


def _any(version: int, _asked: bytes, wish: Wish, key: int) -> bytes:
    layout = addresses.LAYOUTS.get(key)
    return bytes(wish.size) if layout is None else _laid_out(layout, version, key, wish)


def _laid_out(layout: tuple[Field, ...], version: int, key: int, wish: Wish) -> bytes:
    """A body of the layout: its arrays have as many entries as wished."""
    flexible = APIS[key].is_flexible(version)
    text = put.string("x" * wish.size, flexible)

    def fields(of: tuple[Field, ...], most: int) -> bytes:
        return b"".join(one(each, most) for each in of if each.since <= version <= each.until)

    def one(each: Field, most: int) -> bytes:
        match each.kind:
            case Kind.NODE_ID:
                return put.int32(1)
            case Kind.HOST:
                return put.string("broker", flexible)
            case Kind.PORT:
                return put.int32(9_092)
            case Kind.STRING:
                return text
            case Kind.INT32_ARRAY | Kind.REPLICAS | Kind.OFFLINE_REPLICAS:
                return put.array(0, flexible)
            case Kind.STRUCT:
                return fields(each.fields, 1) + (b"\x00" if flexible else b"")
            case Kind.ARRAY:
                entry = fields(each.fields, max(1, most // 30)) + (b"\x00" if flexible else b"")
                count = max(1, min(most, MOST_BYTES // len(entry)))
                return put.array(count, flexible) + entry * count
            case kind:
                return bytes(addresses.SIZES[kind])

    return fields(layout, wish.count) + (b"\x00" if flexible else b"")


def _produced(version: int, asked: bytes, wish: Wish, _key: int) -> bytes | None:
    try:
        read = k00_produce.read_request(version, memoryview(asked), names=_AnyName())
    except DecodeError:
        return b""
    if read.acks == 0:
        return None
    errors = tuple(RecordError(n, "x" * wish.size) for n in range(wish.count if wish.code else 0))
    left = [MOST_BYTES // (wish.size + 8)]

    def told(index: int) -> PartitionProduceResponse:
        given, left[0] = errors[: left[0]], max(0, left[0] - len(errors))
        return PartitionProduceResponse(
            index, wish.code, base_offset=7, log_start_offset=0, record_errors=given
        )

    topics = tuple(
        TopicProduceResponse(t.name, tuple(told(p.index) for p in t.partitions), topic_id=t.topic_id)
        for t in read.topics
    )
    return k00_produce.write_response(version, ProduceResponse(topics))


class _AnyName(dict):
    def get(self, key, default=None):
        return "t0"


def _fetched(version: int, _asked: bytes, wish: Wish, _key: int) -> bytes:
    if version < 16:
        return bytes(wish.size)
    each = partition(bytes(wish.size), transactions=wish.nodes)
    count = max(1, min(wish.count, MOST_BYTES // len(each)))
    tail = tags_of(node_endpoints(*((n, "broker", 9_092) for n in range(wish.nodes))))
    return fetched([each] * count, tail=tail)


def _versions(version: int, _asked: bytes, wish: Wish, _key: int) -> bytes:
    flexible = 3 <= version <= 5
    tags = b"\x00" if flexible else b""
    rows = [
        struct.pack(">hhh", key, 0, 99) + tags for key in (*range(93), *range(100, min(32_000, wish.count)))
    ]
    return put.int16(0) + put.array(len(rows), flexible) + b"".join(rows) + bytes(5)


def _configs(version: int, _asked: bytes, wish: Wish, _key: int) -> bytes:
    flexible = version >= 4
    tags = b"\x00" if flexible else b""
    text = put.string("x" * wish.size, flexible)
    synonyms = (
        put.array(1, flexible) + put.string("listeners", flexible) * 2 + b"\x00" + tags if version else b""
    )
    row = put.string("listeners", flexible) + text + bytes(3) + synonyms
    row += (b"\x00" + text if version >= 3 else b"") + tags
    count = max(1, min(wish.count, MOST_BYTES // len(row)))
    resource = (
        bytes(2)
        + text
        + b"\x04"
        + put.string("1", flexible)
        + put.array(count, flexible)
        + row * count
        + tags
    )
    return bytes(4) + put.array(1, flexible) + resource + tags


def _quorum(version: int, _asked: bytes, wish: Wish, _key: int) -> bytes:
    if version < 2:
        return bytes(wish.size)
    text = put.string("x" * wish.size, is_flexible=True)
    replica = bytes(44) + b"\x00"
    count = max(1, min(wish.count, MOST_BYTES // len(replica)))
    row = bytes(6) + text + bytes(16) + unsigned(count + 1) + replica * count + unsigned(1) + b"\x00"
    topic = unsigned(2) + text + unsigned(2) + row + b"\x00"
    node = bytes(4) + unsigned(2) + text + text + bytes(2) + b"\x00" + b"\x00"
    nodes = max(1, min(wish.nodes, MOST_BYTES // len(node)))
    return bytes(2) + text + topic + unsigned(nodes + 1) + node * nodes + b"\x00"


def _shook(_version: int, _asked: bytes, _wish: Wish, _key: int) -> bytes:
    return put.int16(0) + put.array(1, is_flexible=False) + put.string("PLAIN", is_flexible=False)


def _accepted(version: int, _asked: bytes, _wish: Wish, _key: int) -> bytes:
    flexible = version >= 2
    body = put.int16(0) + put.string(None, flexible)
    body += unsigned(1) if flexible else bytes(4)
    return body + (bytes(8) if version >= 1 else b"") + (b"\x00" if flexible else b"")


_BODIES: dict[int, Callable[[int, bytes, Wish, int], bytes | None]] = {
    PRODUCE: _produced,
    FETCH: _fetched,
    VERSIONS: _versions,
    HANDSHAKE: _shook,
    CONFIGS: _configs,
    AUTHENTICATE: _accepted,
    QUORUM: _quorum,
}
