"""The memory that names of clients leave behind: a walk over all objects that a running proxy keeps.

Each hostile name has a mark. After a client has sent thousands of long names of every kind, the walk adds up
the memory of all texts with the mark, by the place where they are kept. So a container that nobody thought of
fails the test, with the path to it.
"""

import asyncio
import gc
import struct
import sys
from collections import Counter, deque
from itertools import count
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType

from tests.attacks.attacker import HOST, PATIENCE_S
from tests.attacks.ceilings import ceilings
from tests.session.messages import produce, request
from tests.wire.batches import batch
from tsproxy.clock import Clock
from tsproxy.config.document import parse_yaml
from tsproxy.config.load import load
from tsproxy.decisions import ledger
from tsproxy.model.bounded import Bounded
from tsproxy.model.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tsproxy.proxy.brokers import wanted
from tsproxy.proxy.pipe import buffers
from tsproxy.proxy.server import Proxy
from tsproxy.wire import k00_produce

MARK = "kept-"
MARK_BYTES = MARK.encode()
NAMES = 10_000
"""The names of each kind that one session sends."""
OWNERS = {
    "Ledger": ledger.KEYS.most_bytes,
    "Wanted": wanted.WANTED.containers * wanted.WANTED.most_bytes,
    "Buffers": buffers.SPARE.most_bytes,
    "Relay": 1 << 20,
    "AdminConnection": 1 << 20,
    "ClusterFacts": 1 << 20,
    **{f"Bounded({each.keeps})": each.most_bytes for each in ceilings().values()},
}
"""The types that keep names, and the most bytes of marked names in each."""
MOST_ELSEWHERE = 32 << 10
NO_WAY: tuple[type, ...] = (type, ModuleType, FunctionType, CodeType, FrameType, BuiltinFunctionType)
"""The walk does not go through these: everything can be reached from a class or a module."""

SETTINGS = """
upstream: {{ bootstrap_servers: ['{servers}'] }}
listeners: [{{ bind: "127.0.0.1:0" }}]
policy:
  limits_from: stricter
  defaults: {{ message.timestamp.before.max.ms: 1h }}
limits: {{ throttle: 'off' }}
admin: {{ bind: "127.0.0.1:0" }}
decisions: {{ directory: '{folder}' }}
"""


def kept_by_path(root):
    """The bytes of all marked texts that can be reached from `root`, by the types on the way there."""
    seen, waiting, found = {id(root)}, deque([(root, type(root).__name__)]), Counter()
    while waiting:
        each, path = waiting.popleft()
        if isinstance(each, (str, bytes, bytearray)):
            mark = MARK if isinstance(each, str) else MARK_BYTES
            if mark in each:
                found[path] += sys.getsizeof(each)
            continue
        for below in _below(each):
            if id(below) not in seen and not isinstance(below, NO_WAY):
                seen.add(id(below))
                waiting.append((below, _longer(path, below)))
    return found


def _below(each):
    if isinstance(each, dict):  # the collector does not look at keys that are texts
        yield from list(each)
    yield from gc.get_referents(each)
    if type(each).__module__.startswith("tsproxy.fastpath") and hasattr(each, "peer"):
        yield each.peer


def _longer(path, below):
    if isinstance(below, (str, bytes, int)):
        return path
    steps = path.split(" > ")
    name = type(below).__name__
    if isinstance(below, Bounded):
        name = f"Bounded({below.room.ceiling.keeps})"
    return path if steps[-1] == name else " > ".join([*steps[-7:], name])


def strange_names(kind):
    """Names of 1 to 32 KB. Some have a character of four bytes, so that Python takes four for each."""
    for n in count():
        begin = f"{MARK}-{kind}-{n}-"
        yield begin.ljust(3_000 if n % 50 else 30_000, "x") if n % 7 else begin.ljust(7_000, "\U0001f600")


async def sent_by(port, frames, at_once=20):
    """The connection of a client that has sent these frames and has all answers. It stays open."""
    reader, writer = await asyncio.open_connection(HOST, port)
    for start in range(0, len(frames), at_once):
        some = frames[start : start + at_once]
        writer.write(b"".join(some))
        async with asyncio.timeout(PATIENCE_S):
            for _ in some:
                await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
    return writer


def frames_of_session(records):
    """Requests with names of every kind, and of which a few are rejected here."""
    names = strange_names("topic")
    valid = (f"{MARK}valid-{n}-".ljust(249, "t") for n in count())
    for n in range(NAMES // 40):
        yield produce({next(names): {0: records} for _ in range(20)}, correlation_id=n)
    for n in range(5):  # few requests: for each with a new topic, the proxy asks for all that it knows
        yield produce({next(valid): {0: records} for _ in range(NAMES // 10)}, correlation_id=n)
    for n, name in zip(range(NAMES // 20), strange_names("client"), strict=False):
        yield produce({"t": {0: records}}, correlation_id=n, client_id=name.replace("\U0001f600", "y"))
    for n, name in zip(range(NAMES // 50), strange_names("transaction"), strict=False):
        yield produce({"t": {0: records}}, correlation_id=n, transactional_id=name)
    for n, name in zip(range(NAMES // 50), strange_names("software"), strict=False):
        text = name.replace("\U0001f600", "z")[:20_000].encode()
        yield request(18, 3, (_compact(text) + _compact(b"1")) + b"\x00", correlation_id=n)

    yield from frames_that_are_only_relayed()


def short_names(kind, most=NAMES):
    return [f"{MARK}{kind}-{n}-".ljust(200, "n") for n in range(most)]


def frames_that_are_only_relayed():
    """Names that the proxy has no need to read, and ids of topics."""
    some = NAMES // 5
    for start in range(0, NAMES, some):
        groups, instances, transactions, topics = (
            short_names(kind)[start : start + some]
            for kind in ("group", "instance", "transactional", "asked")
        )
        ids = [MARK_BYTES + n.to_bytes(11, "big") for n in range(start, start + some)]
        yield request(15, 0, _array(groups))
        yield request(
            13, 3, _string("group") + _array(instances, of=lambda name: _string("m") + _string(name))
        )
        yield request(
            65, 0, _varint(some + 1) + b"".join(_compact(each.encode()) for each in transactions) + b"\0"
        )
        yield request(3, 4, _array(topics) + b"\0")
        fetched = b"".join(
            each + b"\2" + struct.pack(">iiqiqi", 0, -1, 0, -1, -1, 1) + b"\0\0" for each in ids
        )
        settings = struct.pack(">iiiibii", -1, 0, 0, 1 << 20, 0, 0, -1)
        yield request(1, 13, settings + _varint(some + 1) + fetched + b"\1\1\0")
        asked = ProduceRequest(
            transactional_id=None,
            acks=-1,
            timeout_ms=1_000,
            topics=tuple(
                TopicProduceData("", (PartitionProduceData(0, None),), topic_id=each) for each in ids
            ),
        )
        yield request(0, 13, k00_produce.write_request(13, asked))


def _string(text):
    return struct.pack(">h", len(text)) + text.encode()


def _array(texts, of=_string):
    return struct.pack(">i", len(texts)) + b"".join(map(of, texts))


async def ask_admin_port(address):
    """Paths, headers and hosts that nobody knows."""
    for n in range(NAMES // 50):
        reader, writer = await asyncio.open_connection(address.host, address.port)
        path = f"/{MARK}path-{n}-".ljust(3_000, "p")
        writer.write(
            f"GET {path} HTTP/1.1\r\nHost: {MARK}host-{n}\r\n{MARK}header-{n}: {MARK}\r\n\r\n".encode()
        )
        async with asyncio.timeout(PATIENCE_S):
            await reader.read()
        writer.close()


def _compact(text):
    return _varint(len(text) + 1) + text


def _varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


async def test_names_of_clients_leave_little_memory_and_nobody_keeps_them_whole(kafka_440, tmp_path):
    text = SETTINGS.format(servers=kafka_440.bootstrap_servers, folder=tmp_path / "log")
    ready = asyncio.Event()

    def announce(event, _facts):
        if event == "started":
            ready.set()

    proxy = Proxy(load(parse_yaml(text, "test"), {}), Clock(), announce)
    running = asyncio.create_task(proxy.run())
    try:
        async with asyncio.timeout(PATIENCE_S):
            await ready.wait()
        port = proxy._listeners[0].address.port
        bad = batch([Clock().now_ms() - 86_400_000])
        client = await sent_by(port, list(frames_of_session(bad)))
        await ask_admin_port(proxy._admin_address)
        while_open = kept_by_path(proxy)
        client.close()
        once_closed = kept_by_path(proxy)
    finally:
        proxy.stop()
        proxy.stop_now()
        await asyncio.wait([running], timeout=PATIENCE_S)
    for by_path in (while_open, once_closed):
        assert by_path, "the walk finds what is kept"
        assert too_much(by_path) == {}


def too_much(by_path):
    """The places that keep more than they may, by path."""
    by_owner = Counter()
    for path, size in by_path.items():
        owners = [step for step in path.split(" > ") if step in OWNERS]
        by_owner[owners[-1] if owners else path] += size
    return {owner: size for owner, size in by_owner.items() if size > OWNERS.get(owner, MOST_ELSEWHERE)}


def test_a_container_that_nobody_thought_of_is_found():
    class Holder:
        def __init__(self):
            self.names = {name: n for n, name in zip(range(100), strange_names("held"), strict=False)}

    class Proxy:
        def __init__(self):
            self.parts = [Holder()]

    (path,) = too_much(kept_by_path(Proxy()))
    assert path.endswith("list > Holder > dict")
