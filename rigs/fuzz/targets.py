"""The targets: what is fed, and what must hold. `TARGETS` is the table."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Final

import orjson
import yaml

from rigs.fuzz.planted import secrets
from rigs.fuzz.planted import seeds as secret_seeds
from tests.config.files import SMALLEST, config_of
from tests.decisions.conformance import complaints
from tests.decisions.outcomes import PEER as OUTCOME_PEER
from tests.decisions.outcomes import batch as any_batch
from tests.decisions.outcomes import outcome, rejected
from tests.fastpath.conversations import Scene
from tests.fastpath.test_sessions import Spectator
from tests.session.conversation import NOW_MS, PEER, Session, view_of
from tests.session.messages import ALL_VERSIONS, produce
from tests.wire.batches import CODECS, batch
from tests.wire.blobs import blobs
from tests.wire.fetched import any_body
from tests.wire.readers import reference
from tsproxy.config import ConfigError
from tsproxy.config.document import parse_yaml
from tsproxy.decisions import DecisionLog
from tsproxy.decisions.schema import json_schema
from tsproxy.decisions.totals import Totals
from tsproxy.model.records import Suspects
from tsproxy.model.view import SessionLimits, View
from tsproxy.proxy.connections import proxy_protocol
from tsproxy.proxy.connections.proxy_protocol import HEAD_BYTES
from tsproxy.session import sasl_names
from tsproxy.session.job import Work
from tsproxy.session.policies import of_anybody
from tsproxy.session.produce.judge_partitions import judge_steps
from tsproxy.session.reading import AnswerRead, NodeWanted, Unreadable, read_beside
from tsproxy.session.slots import MaskAddresses, NarrowVersions, RewriteAddresses
from tsproxy.tls import x509
from tsproxy.wire import addresses, k00_produce, k01_k78_fetch, record_batch, record_set
from tsproxy.wire import readers as native
from tsproxy.wire.apis import APIS
from tsproxy.wire.headers import RequestHeader
from tsproxy.wire.masking import MASKED
from tsproxy.wire.primitives import DecodeError
from tsproxy.wire.readers import Layout

SMALL: Final = SessionLimits(
    produce_frame=20_000,
    other_frame=5_000,
    decompressed_batch=1 << 18,
    decompressed_request=1 << 19,
    records_per_batch=10_000,
    records_per_request=20_000,
)
"""So small that one input cannot take long by being allowed to."""


class _Script:
    """Numbers and pieces from the front of the input; zeros and nothing behind its end."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def byte(self) -> int:
        return self.bytes(1)[0] if self.data else 0

    def bytes(self, size: int) -> bytes:
        taken, self.data = self.data[:size], self.data[size:]
        return taken

    def piece(self) -> bytes:
        return self.bytes(int.from_bytes(self.bytes(2), "big"))


MAX_OF_A_CONVERSATION: Final = 500
"""In bytes."""

# -- The session --------------------------------------------------------------------------------------


def session(data: bytes) -> None:
    """A session with the fast path sends and counts what one without does, and none raises."""
    script = _Script(data)
    seed = script.byte()
    view = _view(seed)
    plain, quick = Spectator(Session(PEER, view)), Spectator(Session(PEER, view, uses_fast_path=True))
    now_ms = NOW_MS

    def both(name: str, *arguments: object) -> None:
        way = plain.over if name == "over" else getattr(plain.session, name)
        expected = plain.watch(way(*arguments), now_ms)
        way = getattr(quick, name, None) or getattr(quick.session, name)
        assert quick.watch(way(*arguments), now_ms) == expected, name

    while script.data:
        match script.byte() % 4:
            case 0:
                both("client_bytes", script.piece(), now_ms)
            case 1:
                both("broker_bytes", script.piece(), now_ms)
            case 2:
                now_ms += script.byte() ** 2
                deadline_ms = plain.session.next_deadline_ms
                if deadline_ms is not None and deadline_ms <= now_ms:
                    both("deadline_passed", now_ms)
            case _:
                both("apply_view", _view(script.byte()), now_ms)
    both("over", ("client_ended", "client_lost", "broker_lost")[seed % 3], now_ms)
    both("over", "abort", now_ms)
    assert quick.booked() == plain.booked()


@cache
def _view(seed: int) -> View:
    """There are 256, and sessions change none."""
    return Scene(Random(seed)).view()


def _conversations() -> Iterator[bytes]:
    """One or two requests each, with their answers: what an input costs is what is in it, and of a short one
    each mutation matters."""
    for seed in range(256):
        scene = Scene(Random(seed))
        plain = Spectator(Session(PEER, _view(seed)))
        events: list[tuple[int, bytes]] = []
        for _ in range(1 + seed % 2):
            asked = scene.request()
            forwarded = plain.watch(plain.session.client_bytes(asked, NOW_MS), NOW_MS)[0]
            scene.broker_reads(forwarded)
            said = bytes(scene.answers)
            scene.answers.clear()
            plain.watch(plain.session.broker_bytes(said, NOW_MS), NOW_MS)
            events += [(0, asked), (1, said)]
        if sum(len(data) for _, data in events) < MAX_OF_A_CONVERSATION:
            yield bytes([seed]) + b"".join(_event(*event) for event in events)


def _event(kind: int, data: bytes) -> bytes:
    return bytes([kind]) + len(data).to_bytes(2, "big") + data


# -- Records ------------------------------------------------------------------------------------------


def records(data: bytes) -> None:
    """The native readers of records find what the readers in Python find."""
    script = _Script(data)
    base = int.from_bytes(script.bytes(8), "big", signed=True)
    count, most = script.byte() * (1 + script.byte()) - 1, script.byte()
    low, high = NOW_MS - 10 ** (script.byte() % 19), NOW_MS
    plain = script.data
    for must_fit in (True, False):
        assert native.walk(plain, base, count, must_fit) == reference.walk(plain, base, count, must_fit)
        assert native.columns(plain, base, count, must_fit) == reference.columns(plain, base, count, must_fit)
        assert native.spans(plain, 0, count, must_fit) == reference.spans(plain, 0, count, must_fit)
    if reference.walk(plain, base, count, True).fault is None:
        found = native.find_outside(plain, base, count, low, high, most)
        assert found == reference.find_outside(plain, base, count, low, high, most)
        finder, cut = native.Finder(base, count, Suspects(low, high), most), len(plain) // 3
        finder.feed(plain[:cut])
        finder.feed(plain[cut:])
        suspected = finder.finish()
        assert (suspected.count, suspected.positions[:most]) == (found.count, found.positions)


def _record_bytes() -> Iterator[bytes]:
    for count in (1, 2, 7, 60):
        whole = batch([NOW_MS + 3 * n for n in range(count)], value=bytes(count))
        yield NOW_MS.to_bytes(8, "big") + bytes([count + 1, 0, 9, 5, 1]) + whole[61:]


def compressed(data: bytes) -> None:
    """A compressed batch is read, or has a fault; its decompressed bytes and records stay within bounds."""
    script = _Script(data)
    codec, count = 1 + script.byte() % 5, script.byte()
    spent = 0

    def spend(size: int, _weight: int = 1) -> None:
        nonlocal spent
        spent += 0 if size == record_batch.SHELLS else size

    made = record_set.read_header(batch([], codec % 5, body=script.data, records_count=count)[:61])
    assert made is not None
    whole = memoryview(batch([], 0, body=script.data, records_count=count, attributes=codec))
    found = record_set.scan(whole, 2)
    for one in found.batches:
        facts = record_batch.read_facts(one, SMALL, False, spend)
        again = record_batch.read_facts(one, SMALL, True)
        assert facts.records <= count
        assert facts.fault is not None or again.fault is not None or facts.lowest_ms == again.lowest_ms
    assert spent <= 4 * (SMALL.decompressed_batch + (1 << 17)) + 4 * len(data)


def _compressed_bodies() -> Iterator[bytes]:
    for codec in CODECS.values():
        if codec:
            for seed, blob in enumerate(blobs(codec, 1, 15)):
                yield bytes([codec - 1, seed]) + blob
            yield bytes([codec - 1, 3]) + batch([NOW_MS] * 3, codec)[61:]


# -- Requests and answers -----------------------------------------------------------------------------


def produce_request(data: bytes) -> None:
    """A ProduceRequest of any version gets a verdict or a DecodeError, within its budget of records."""
    script = _Script(data)
    version = script.byte() % len(ALL_VERSIONS)
    view = view_of(decompressed_batch=1 << 18, decompressed_request=1 << 19, records_per_request=20_000)
    body = memoryview(script.data)
    try:
        request = k00_produce.read_request(version, body)
    except DecodeError:
        return
    work = Work(view.limits)
    steps = judge_steps(RequestHeader(0, version, 1, "app", 0), request, of_anybody(view), NOW_MS, work)
    partitions = sum(len(topic.partitions) for topic in request.topics)
    verdicts = 0
    try:
        while True:
            next(steps)
    except StopIteration as over:
        verdicts = len(over.value)
    assert verdicts == partitions
    bound = 500 * partitions + 200_000 + 40 * len(data)
    assert work.done <= bound, f"{work.done} records' worth for {len(data)} bytes"


def _produce_bodies() -> Iterator[bytes]:
    for version in ALL_VERSIONS:
        for codec in CODECS.values():
            asked = produce({"t": {0: batch([NOW_MS, NOW_MS - 1], codec), 1: batch([5])}}, version)
            start = 4 + 8 + 2 + len("app") + (version >= 9)
            yield bytes([version]) + asked[start:]


_READ: Final = (
    *[RewriteAddresses(1, key, v) for key in addresses.LAYOUTS for v in range(APIS[key].max_version + 1)],
    *[MaskAddresses(1, key, version) for key in MASKED for version in range(APIS[key].max_version + 1)],
    *[NarrowVersions(1, version, 13) for version in range(APIS[18].max_version + 1)],
)


def answers(data: bytes) -> None:
    """Any bytes of a broker are rewritten, name an unknown node, or are unreadable."""
    script = _Script(data)
    slot = _READ[int.from_bytes(script.bytes(2), "big") % len(_READ)]
    read = read_beside(slot, bytes(4) + script.data, view_of())
    assert isinstance(read, AnswerRead | NodeWanted | Unreadable)


def _answer_bodies() -> Iterator[bytes]:
    random = Random(1)
    for number in range(len(_READ)):
        yield number.to_bytes(2, "big") + bytes(random.choice([0, 8, 60]))
        yield number.to_bytes(2, "big") + random.randbytes(40)


def fetched(data: bytes) -> None:
    """The walk over an answer of Fetch or ShareFetch ends at one place, in whatever pieces it comes, natively
    and in Python."""
    script = _Script(data)
    cut, layout, answer = script.byte() * 4, Layout(script.byte() % len(Layout)), script.data
    end = reference.fetch_end(answer, layout)
    for pieces in ([answer], [answer[:cut], answer[cut:]]):
        walk, walked = native.FetchWalk(), 0
        walk.begin(len(answer), layout)
        for piece in pieces:
            size = walk.advance(piece)
            walked += size
            if size < len(piece):
                break
        assert walk.is_bad == (end is None)
        assert walk.is_bad or (walked, walk.is_over) == (end, end == len(answer))
    if end is not None and end < len(answer):
        with suppress(DecodeError):
            assert len(k01_k78_fetch.blank_tail(answer[end:], layout)) == len(answer) - end


def _fetch_bodies() -> Iterator[bytes]:
    for seed in range(40):
        layout = Layout(seed % len(Layout))
        yield bytes([seed, layout]) + bytes(8) + any_body(Random(seed), layout)


# -- Everything else that strangers and operators write -----------------------------------------------


def names(data: bytes) -> None:
    """A login's name is text or None, and a PROXY header is an address, None or a DecodeError."""
    for read in (sasl_names.plain_name, sasl_names.scram_name, sasl_names.bearer_name):
        name = read(data)
        assert name is None or name.encode("utf-8", "surrogateescape") is not None
    with suppress(DecodeError):
        head = proxy_protocol.read_head(data[:HEAD_BYTES].ljust(HEAD_BYTES, b"\0"))
        proxy_protocol.read_source(head, data[HEAD_BYTES : HEAD_BYTES + head.length])


def _name_bytes() -> Iterator[bytes]:
    yield from (b"\0user\0password", b"n,,n=user,r=abc", b"n,,\x01auth=Bearer a.eyJzdWIiOiJ1In0.c\x01\x01")
    yield proxy_protocol.SIGNATURE + b"\x21\x11\x00\x0c" + bytes(12)
    yield proxy_protocol.SIGNATURE + b"\x21\x21\x00\x24" + bytes(36)


def certificates(data: bytes) -> None:
    """A certificate or a list of revoked ones is read, or is a DecodeError."""
    for read in (x509.read_certificate, x509.read_pem, x509.read_crls):
        with suppress(DecodeError):
            read(data)


def _certificate_bytes() -> Iterator[bytes]:
    yield b"\x30\x03\x02\x01\x00"
    yield b"-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n"
    yield b"-----BEGIN X509 CRL-----\nMAMCAQA=\n-----END X509 CRL-----\n"


def configuration(data: bytes) -> None:
    """A file is a configuration, or a ConfigError."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return
    with suppress(ConfigError):
        config_of(text)


def _configurations() -> Iterator[bytes]:
    yield SMALLEST.encode()
    policy = {
        "mode": "audit",
        "rules": [{"name": "a", "match": {"topics": ["/a+/", "b-*"], "addresses": ["10.0.0.0/8"]}}],
        "waivers": [{"name": "w", "match": {"topics": ["t"]}, "until": "2027-01-01T00:00:00Z"}],
    }
    limits = {"idle": "10m", "produce_frame": "1MiB", "connections": 5}
    yield (SMALLEST + yaml.safe_dump({"policy": policy, "limits": limits})).encode()
    assert parse_yaml(SMALLEST, "a file") is not None


SCHEMA: Final = json_schema()


def decisions(data: bytes) -> None:
    """A client may have any name: its batches become lines of the schema that reports read."""
    script = _Script(data)
    is_rejected, kind = script.byte() % 2, script.byte()
    times = [int.from_bytes(script.bytes(8), "big", signed=True) for _ in range(1 + script.byte() % 3)]
    client_id, topic, principal, user = (
        script.piece()[:300].decode("utf-8", "surrogateescape") for _ in range(4)
    )
    peer = replace(OUTCOME_PEER, client_id=client_id or None, principal=principal or None)
    facts = {"peer": peer, "topic": topic, "transactional_id": user or None, "partition": kind}
    log = DecisionLog("proxy", "boot", NOW_MS)
    made = rejected(times, **facts) if is_rejected else outcome(batch=any_batch(high=max(times)), **facts)
    for line in (*log.book(Totals.of(made)), *log.tick(NOW_MS + 60_000), *log.stop(NOW_MS + 60_001)):
        raw = orjson.dumps(line)
        assert b"\n" not in raw
        assert json.loads(raw) == line
        assert not complaints(line, SCHEMA), complaints(line, SCHEMA)


def _decision_bytes() -> Iterator[bytes]:
    for kind in range(4):
        words = (b"app", b"orders", b"User:alice", b"tx\xff\n\x1b[31m")
        pieces = b"".join(len(word).to_bytes(2, "big") + word for word in words)
        yield bytes([kind, 7, 0]) + NOW_MS.to_bytes(8, "big") + pieces


@dataclass(frozen=True, slots=True)
class Target:
    """`check` raises if the invariant does not hold. `most_bytes` bounds an input."""

    check: Callable[[bytes], None]
    seeds: Callable[[], Iterator[bytes]]
    most_bytes: int = 4096


TARGETS: Final = {
    "session": Target(session, _conversations, MAX_OF_A_CONVERSATION),
    "records": Target(records, _record_bytes),
    "compressed": Target(compressed, _compressed_bodies),
    "produce": Target(produce_request, _produce_bodies),
    "answers": Target(answers, _answer_bodies),
    "fetched": Target(fetched, _fetch_bodies),
    "names": Target(names, _name_bytes, 1024),
    "certificates": Target(certificates, _certificate_bytes, 2048),
    "configuration": Target(configuration, _configurations, 2048),
    "decisions": Target(decisions, _decision_bytes, 512),
    "secrets": Target(secrets, secret_seeds, 64),
}
