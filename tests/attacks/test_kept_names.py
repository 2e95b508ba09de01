"""The memory that names of clients leave behind: a walk over all objects that a running proxy keeps.

Each hostile name has a mark. After a client has sent thousands of long names of every kind, the walk adds up
the memory of all texts with the mark, by the place where they are kept. So a container that nobody thought of
fails the test, with the path to it.
"""

import asyncio
import gc
import sys
from collections import Counter, deque
from itertools import count
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType

from tests.attacks.attacker import HOST, PATIENCE_S
from tests.session.messages import produce, request
from tests.wire.batches import batch
from tsproxy.clock import Clock
from tsproxy.config.document import parse_yaml
from tsproxy.config.load import load
from tsproxy.proxy.server import Proxy

MARK = "kept-"
MARK_BYTES = MARK.encode()
NAMES = 10_000
"""The names of each kind that one session sends."""
OWNERS = {
    "Ledger": 16 << 20,
    "Examples": 16 << 20,
    "LimitsWritten": 1 << 20,
    "Offenders": 1 << 20,
    "Buffers": 1 << 20,
    "Relay": 1 << 20,
    "AdminConnection": 1 << 20,
    "Topics": 16 << 20,
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


def _compact(text):
    size, out = len(text) + 1, b""
    while size > 127:
        out, size = out + bytes([size & 127 | 128]), size >> 7
    return out + bytes([size]) + text


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
