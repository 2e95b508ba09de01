"""The walk over all objects that a running proxy keeps: how much memory strangers' names take, and where.

Each hostile name has a mark. The walk adds up the memory of all texts and addresses with the mark, by the
place where they are kept. So a container that nobody thought of is found, with the path to it.
"""

import asyncio
import gc
import sys
from collections import Counter, deque
from contextlib import asynccontextmanager
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from itertools import count
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType

from tests.attacks.attacker import PATIENCE_S
from tests.attacks.ceilings import ceilings
from tsproxy.clock import Clock
from tsproxy.config.document import parse_yaml
from tsproxy.config.load import load
from tsproxy.decisions import ledger
from tsproxy.model.addresses import Address
from tsproxy.model.bounded import Bounded
from tsproxy.proxy.brokers import wanted
from tsproxy.proxy.decision_log import files
from tsproxy.proxy.pipe import buffers
from tsproxy.proxy.server import Proxy
from tsproxy.session import trust

MARK = "kept-"
MARKED_NETWORK = "fd6b:6570"
"""An address has no letters for a mark, so all strange ones begin so."""
_TEXTS = (MARK, f"{MARKED_NETWORK}:")
_BYTES = (MARK.encode(), bytes.fromhex("fd6b6570"))
_ADDRESSES = (IPv4Address, IPv6Address, IPv4Network, IPv6Network)
OWNERS = {
    "Ledger": ledger.KEYS.most_bytes,
    "Wanted": wanted.WANTED.containers * wanted.WANTED.most_bytes,
    "Buffers": buffers.SPARE.most_bytes,
    "DecisionFiles": files.QUEUE.most_bytes,
    "Trust": trust.KEPT.most_bytes + trust.TRUSTED.most_bytes,
    "Relay": 1 << 20,
    "AdminConnection": 1 << 20,
    "ClusterFacts": 1 << 20,
    **{f"Bounded({each.keeps})": each.most_bytes for each in ceilings().values()},
}
"""The types that keep names, and the most bytes of marked names in each."""
MAX_ELSEWHERE = 32 << 10
NO_WAY: tuple[type, ...] = (type, ModuleType, FunctionType, CodeType, FrameType, BuiltinFunctionType)
"""The walk does not go through these: everything can be reached from a class or a module."""


OLD_IS_BAD = """
policy:
  limits_from: stricter
  defaults: {{ message.timestamp.before.max.ms: 1h }}
limits: {{ throttle: 'off' }}
decisions: {{ directory: '{folder}' }}
"""
"""The end of a configuration by which records of yesterday are rejected."""


@asynccontextmanager
async def proxy_in_this_process(text, environment=None, clock=None):
    """A whole proxy by this configuration, which has started. Its admin port is a free one."""
    config = load(parse_yaml(text, "test"), environment or {})
    config = replace(config, admin=replace(config.admin, bind=Address("127.0.0.1", 0)))
    ready = asyncio.Event()

    def announce(event, _facts):
        if event == "started":
            ready.set()

    proxy = Proxy(config, clock or Clock(), announce)
    running = asyncio.create_task(proxy.run())
    try:
        async with asyncio.timeout(PATIENCE_S):
            started = asyncio.create_task(ready.wait())
            await asyncio.wait([started, running], return_when=asyncio.FIRST_COMPLETED)
        assert ready.is_set(), await running
        yield proxy
    finally:
        proxy.stop()
        proxy.stop_now()
        await asyncio.wait([running], timeout=PATIENCE_S)


def kept_by_path(root):
    """The bytes of all marked texts that can be reached from `root`, by the types on the way there."""
    seen, waiting, found = {id(root)}, deque([(root, type(root).__name__)]), Counter()
    while waiting:
        each, path = waiting.popleft()
        if isinstance(each, (str, bytes, bytearray, *_ADDRESSES)):
            text = str(each) if isinstance(each, _ADDRESSES) else each
            if any(mark in text for mark in (_TEXTS if isinstance(text, str) else _BYTES)):
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
    if isinstance(below, (str, bytes, int, *_ADDRESSES)):
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


def assert_little_is_kept(*walks, most_elsewhere=MAX_ELSEWHERE):
    for by_path in walks:
        assert by_path, "the walk finds what is kept"
        assert too_much(by_path, most_elsewhere) == {}


def too_much(by_path, most_elsewhere=MAX_ELSEWHERE):
    """The places that keep more than they may, by path."""
    by_owner = Counter()
    for path, size in by_path.items():
        owners = [step for step in path.split(" > ") if step in OWNERS]
        by_owner[owners[-1] if owners else path] += size
    return {owner: size for owner, size in by_owner.items() if size > OWNERS.get(owner, most_elsewhere)}
