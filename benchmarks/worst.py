"""The worst known input of each kind: its cost for the event loop, for each MiB received and in one step.

It is measured in this process, without a network. The bytes go to a session in pieces, as reads bring them.
Each step of the event loop is timed by itself. Jobs that a session offloads to a thread are run here, but not
counted. The inputs are those of `tests/attacks/test_work.py`, larger.
"""

import gzip
import json
import lzma
import struct
import time
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import cramjam
import google_crc32c

from benchmarks.bench import Bench
from benchmarks.rounds import spread
from benchmarks.sections import Section
from tests.wire.blobs import BOMBS, EQUAL, gzip_of_empty_blocks
from tsproxy.model.outcome import Peer
from tsproxy.model.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from tsproxy.model.verdict import RecordError, TopicLimits
from tsproxy.model.view import Endpoint, SessionLimits, View
from tsproxy.session.effects import Effect, Judge, ReadAnswer
from tsproxy.session.events import AnswerDecoded, BrokerBytes, ClientBytes, Event, RequestJudged
from tsproxy.session.session import Session
from tsproxy.wire import k00_produce, primitives
from tsproxy.wire.headers import frame

STORED: Final = Path(__file__).with_name("worst.jsonl.xz")

_MAX_ROUNDS: Final = 3
"""An input takes seconds, and no other program has a part in it."""
_READ: Final = 256 * 1024
_MIB: Final = 1 << 20
_NOW_MS: Final = 1_767_225_600_000
_PEER: Final = Peer("worst", "192.0.2.1", 50_000)
_ENDPOINTS: Final = {1: Endpoint("proxy.example", 9193)}
_LIMITS: Final = TopicLimits(before_max_ms=86_400_000, after_max_ms=3_600_000)
_GZIP, _SNAPPY, _ZSTD = 1, 2, 4


@dataclass(frozen=True, slots=True)
class Input:
    """One input. The session receives `asked` first, which is not timed. Then it receives `data`: from the
    broker if `asked` is not empty, else from the client."""

    data: bytes
    asked: bytes = b""
    is_known: bool = True
    """False if the broker has not accepted the client yet."""


def worst(bench: Bench) -> Section:
    """CPU in ms for each MiB received, and the longest step, for each input."""
    rows = []
    for name, make in INPUTS.items():
        made = make()
        runs = [_run(made) for _ in range(min(bench.effort.rounds, _MAX_ROUNDS))]
        size_mib = len(made.data) / _MIB
        per_mib = spread([1_000 * total / size_mib for total, _ in runs])
        longest = spread([1_000 * longest for _, longest in runs])
        rows.append((name, f"{len(made.data) / 1024:,.0f}", str(per_mib), str(longest)))
    return Section(
        text="The worst known input of each kind, as a session receives it, without a network. The table has "
        "the CPU of the event loop for each MiB received, and the longest step: other connections have their "
        "turn between two steps. Work in threads is not counted. The counting of outcomes is not counted "
        "either; it handles 500 batches in one step. No client is throttled here, so each input is taken "
        "to its end.",
        head=("input", "KiB", "ms a MiB", "longest step, ms"),
        rows=rows,
    )


def found(bench: Bench) -> Section:
    """The same for the stored sessions."""
    rows: list[tuple[str, ...]] = []
    for row in stored():
        runs = [_steps(row) for _ in range(bench.effort.rounds)]
        size_mib = row["counts_as_bytes"] / _MIB
        per_mib = spread([1_000 * sum(steps) / size_mib for steps in runs])
        longest = spread([1_000 * max(steps) for steps in runs])
        rows.append((row["name"], f"{row['counts_as_bytes'] / 1024:,.0f}", str(per_mib), str(longest)))
    return Section(
        text="The worst whole sessions of a search for the worst cost, as a session receives them "
        "(`benchmarks/worst.jsonl.xz`). A frame and a partition count as 2 KiB more than they have, and a "
        "connection as 16 KiB.",
        head=("session", "KiB", "ms a MiB", "longest step, ms"),
        rows=rows,
    )


def stored() -> list[dict[str, Any]]:
    """The stored sessions: `name`, `counts_as_bytes`, and `received`: pairs of sender and bytes in Base64."""
    with lzma.open(STORED) as file:
        return [json.loads(line) for line in file]


def replayed(row: dict[str, Any], feed: Callable[[Session, Event], list[Effect]]) -> None:
    """A new session receives what is stored. `feed` is called for each event."""
    topics = {"t0": _LIMITS, "t1": _LIMITS}
    session = Session(_PEER, View(endpoints=_ENDPOINTS, topics=topics), uses_fast_path=True)
    for sender, data in row["received"]:
        received = ClientBytes if sender == "client" else BrokerBytes
        _feed(session, received(b64decode(data)), feed)


def _feed(session: Session, event: Event, feed: Callable[[Session, Event], list[Effect]]) -> None:
    for effect in feed(session, event):
        if isinstance(effect, Judge):
            _feed(session, RequestJudged(effect.job()), feed)
        elif isinstance(effect, ReadAnswer):
            _feed(session, AnswerDecoded(effect.job()), feed)


def _steps(row: dict[str, Any]) -> list[float]:
    """The CPU seconds of each step."""
    steps: list[float] = []
    replayed(row, partial(_timed, steps))
    return steps


def _timed(steps: list[float], session: Session, event: Event) -> list[Effect]:
    began = time.thread_time()
    effects = session.feed(event, _NOW_MS)
    steps.append(time.thread_time() - began)
    return effects


def _run(made: Input) -> tuple[float, float]:
    """(CPU seconds of all steps, CPU seconds of the longest step)."""
    view = View(
        endpoints=_ENDPOINTS,
        topics={"t": _LIMITS},
        broker_needs_sasl=not made.is_known,
        limits=SessionLimits(throttle_ms=None),  # a throttled client sends the rest later
    )
    session = Session(_PEER, view, uses_fast_path=True)
    steps: list[float] = []
    timed = partial(_timed, steps)
    if made.asked:
        _feed(session, ClientBytes(made.asked), timed)
    steps.clear()
    received = BrokerBytes if made.asked else ClientBytes
    for start in range(0, len(made.data), _READ):
        _feed(session, received(made.data[start : start + _READ]), timed)
    if made.is_known and not session.is_between_requests:
        raise ValueError("the session has not taken the whole input")
    return sum(steps), max(steps)


# -- Inputs -----------------------------------------------------------------------------------------


def _request(api_key: int, version: int, body: bytes, correlation_id: int = 1) -> bytes:
    return frame(struct.pack(">hhih", api_key, version, correlation_id, 3) + b"app" + body)


def _produce(topics: dict[str, dict[int, bytes | None]], correlation_id: int = 1) -> bytes:
    asked = ProduceRequest(
        None,
        -1,
        30_000,
        tuple(
            TopicProduceData(
                name,
                tuple(
                    PartitionProduceData(index, None if records is None else memoryview(records))
                    for index, records in partitions.items()
                ),
            )
            for name, partitions in topics.items()
        ),
    )
    return _request(0, 9, b"\x00" + k00_produce.write_request(9, asked), correlation_id)


def _batch(
    time_ms: int, codec: int = 0, body: bytes = b"\x10\x00\x00\x00\x02k\x02v\x00", count: int = 1
) -> bytes:
    checked = struct.pack(">hiqqqhii", codec, count - 1, time_ms, time_ms, -1, -1, -1, count) + body
    return struct.pack(">qiibI", 0, 9 + len(checked), -1, 2, google_crc32c.value(checked)) + checked


def _compressed(codec: int, body: bytes) -> bytes:
    return _produce({"t": {0: _batch(_NOW_MS, codec, body)}})


def _much_work(name: str) -> Callable[[], Input]:
    """Requests after one that is good. Each has 100 partitions of a few bytes."""
    codec, body = BOMBS[name]
    bomb = _batch(_NOW_MS, codec, body, EQUAL)
    return lambda: Input(
        _produce({"t": {0: _batch(_NOW_MS)}}) + _produce({"t": dict.fromkeys(range(100), bomb)}) * 10
    )


def _tags() -> Input:
    count = 4_000_000
    section = b"\x80\x92\xf4\x01" + b"\x00\x00" * count
    return Input(frame(struct.pack(">hhih", 3, 12, 1, -1) + section))


def _stranger() -> Input:
    return Input(frame(bytes(_MIB)), is_known=False)


def _partitions(records: bytes | None) -> Callable[[], Input]:
    return lambda: Input(_produce({"t": dict.fromkeys(range(20_000), records)}))


def _topics() -> Input:
    return Input(_produce({f"t{n}": {} for n in range(20_000)}))


def _topics_out_of_range() -> Input:
    bad = _batch(0)
    return Input(_produce({f"t{n}": {0: bad} for n in range(20_000)}))


def _small_requests() -> Input:
    bad = _batch(0)
    return Input(b"".join(_produce({"t": {n: bad}}, n) for n in range(10_000)))


def _gzip_blocks() -> Input:
    """Members of 60 KB that have more content than that."""
    one = _compressed(_GZIP, gzip_of_empty_blocks(3_750, bytes(65_536)))
    return Input(_produce({"t": {0: _batch(_NOW_MS)}}) + one * 10)


def _xerial() -> bytes:
    one = bytes(cramjam.snappy.compress_raw(b"\x00"))
    return b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1) + (struct.pack(">i", len(one)) + one) * 35_000


def _configs_asked() -> Input:
    return Input(_request(32, 1, struct.pack(">i", 1_000_000) + b"\x02\x00\x00\x00\x00\x00\x00" * 1_000_000))


def _record_errors() -> Input:
    text = "Compacted topic cannot accept message without key in topic partition t-0."
    partition_answer = PartitionProduceResponse(
        0, 87, record_errors=tuple(RecordError(index, text) for index in range(300_000))
    )
    answer = ProduceResponse((TopicProduceResponse("t", (partition_answer,)),))
    return Input(
        frame(b"\x00\x00\x00\x01\x00" + k00_produce.write_response(9, answer)),
        asked=_produce({"t": {0: _batch(_NOW_MS)}}),
    )


def _coordinators() -> Input:
    count = 400_000
    one = b"\x02k" + struct.pack(">i", 1) + b"\x07broker" + struct.pack(">ih", 9092, 0) + b"\x00\x00"
    body = bytes(4) + primitives.array(count, is_flexible=True) + one * count + b"\x00"
    return Input(frame(b"\x00\x00\x00\x01\x00" + body), asked=_request(10, 4, b"\x00\x00\x01\x00"))


def _configs_of_a_broker() -> Input:
    count = 300_000
    one = b"\x00\x04name" + b"\x00\x05value" + bytes(3)
    head = bytes(4) + struct.pack(">ihhbh", 1, 0, -1, 4, 1) + b"1" + struct.pack(">i", count)
    return Input(
        frame(b"\x00\x00\x00\x01" + head + one * count),
        asked=_request(32, 0, struct.pack(">ibh", 1, 4, 1) + b"1" + b"\xff\xff\xff\xff"),
    )


_FEW_BYTES: Final = (
    "zstd sequences of no bits",
    "equal records in gzip",
    "equal records in lz4 with a checksum",
)

INPUTS: Final[dict[str, Callable[[], Input]]] = {
    "tagged fields in a header": _tags,
    "a large frame of a peer that is not accepted": _stranger,
    "20,000 null partitions": _partitions(None),
    "20,000 partitions in range": _partitions(_batch(_NOW_MS)),
    "20,000 partitions out of range": _partitions(_batch(0)),
    "20,000 topics without partitions": _topics,
    "20,000 topics of one partition": _topics_out_of_range,
    "10,000 requests that are rejected": _small_requests,
    "gzip members of nothing": lambda: Input(_compressed(_GZIP, gzip.compress(b"", mtime=0) * 12_000)),
    "gzip blocks of nothing behind zeros": _gzip_blocks,
    "snappy blocks of one byte": lambda: Input(_compressed(_SNAPPY, _xerial())),
    "zstd frames of nothing": lambda: Input(
        _compressed(_ZSTD, b"\x28\xb5\x2f\xfd\x00\x58\x01\x00\x00" * 27_000)
    ),
    **{name: _much_work(name) for name in _FEW_BYTES},
    "configurations of a million topics": _configs_asked,
    "an answer with 300,000 record errors": _record_errors,
    "an answer with 400,000 coordinators": _coordinators,
    "an answer with 300,000 configurations of a broker": _configs_of_a_broker,
}
