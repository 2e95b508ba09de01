"""The cost of reading every timestamp of a batch, compared with aiokafka's reader and with decompression.

It is measured in this process, without a network.
"""

import io
import time
import zlib
from collections.abc import Callable
from functools import partial
from typing import Final

import cramjam
import lz4.frame
import zstandard
from aiokafka.record.default_records import DefaultRecordBatch
from isal import isal_zlib

from benchmarks.bench import Bench
from benchmarks.frames import CLIENT_ID, Shape, accepting_answer, build_batch, produce_frame, varied_batch
from benchmarks.loads import B200, KB1, KB16, KB100, MB1
from benchmarks.processes import ProgramError
from benchmarks.rounds import in_rounds, ratio, spread
from benchmarks.sections import Section
from tsproxy.model.kafka import Codec
from tsproxy.model.outcome import Peer
from tsproxy.model.policy import HOUR_MS, Inspect, Policy, RuleSettings
from tsproxy.model.verdict import TopicLimits
from tsproxy.model.view import SessionLimits, View
from tsproxy.proxy.pipe.buffers import READ_BYTES
from tsproxy.session.events import BrokerBytes, ClientBytes
from tsproxy.session.session import Session
from tsproxy.wire.record_batch import read_facts
from tsproxy.wire.record_set import HEADER_SIZE, scan

NOW_MS: Final = 1_767_225_600_000
_LIMITS: Final = SessionLimits()
IN_FLIGHT: Final = 5

_VARIED: Final = {"values of 64 to 256 B": (64, 256), "values of 8 B to 16 KiB": (8, 16_384)}
"""The sizes of values, in bytes, for batches of a thousand records in which neighbours always differ. In the
second batch the lengths take one, two or three bytes."""
_TOPIC: Final = "load"
_EVERY_BATCH: Final = Policy(defaults=RuleSettings(inspect_compressed=Inspect.ALL))
_FAST_PATH: Final = "tsproxy's fast path"

Read = Callable[[], object]


class OnFastPath:
    """The proxy's work on `times` requests that arrive in one read, after a first request of that kind: it
    reads them, decides that they may be forwarded, reads the broker's answers and counts the batches. Every
    record is read, as with `inspect.compressed: all`."""

    def __init__(self, batch: bytes, times: int = 1) -> None:
        peer = Peer(listener="public", client_address="192.0.2.1", client_port=50_000, client_id=CLIENT_ID)
        view = View(topics={_TOPIC: TopicLimits(after_max_ms=HOUR_MS)}, policy=_EVERY_BATCH)
        session = Session(peer, view, uses_fast_path=True)
        request, answer = produce_frame((_TOPIC,), (batch,)), accepting_answer(_TOPIC)
        session.feed(ClientBytes(request), NOW_MS)
        session.feed(BrokerBytes(answer), NOW_MS)
        assert session.fast_path is not None
        self._fast_path = session.fast_path
        self._requests, self._answers = request * times, answer * times

    def __call__(self) -> None:
        assert self._fast_path.requests.forward_read(self._requests, NOW_MS) == len(self._requests)
        assert self._fast_path.answers.forward_read(self._answers) == len(self._answers)

    def unread(self) -> int:
        """The records that were not read since the last call."""
        return sum(totals.records_unread for totals in self._fast_path.drain())


def in_one_read(batch: bytes) -> int:
    """The number of requests with that batch in one read, of those that a connection has in flight."""
    return max(1, min(IN_FLIGHT, READ_BYTES // len(produce_frame((_TOPIC,), (batch,)))))


def _aiokafka(batch: bytes) -> Read:
    return lambda: [record.timestamp for record in DefaultRecordBatch(batch)]


def _facts(batch: bytes) -> Read:
    """The session's reading of a batch that takes the slow path: header and facts as values."""

    def read() -> None:
        (only,) = scan(memoryview(batch), 1).batches
        facts = read_facts(only, _LIMITS)
        assert facts.fault is None, facts.fault

    return read


READERS: Final[dict[str, Callable[[bytes], Read]]] = {
    "aiokafka": _aiokafka,
    _FAST_PATH: lambda batch: OnFastPath(batch, in_one_read(batch)),
    "tsproxy's session": _facts,
}
"""All readers of a batch's timestamps. The first is the baseline."""


def walk(bench: Bench) -> Section:
    """Nanoseconds per record, for each reader and batch size."""
    base, *others = READERS
    batches = {shape.name: build_batch(shape, NOW_MS) for shape in (B200, KB1, KB16, KB100, MB1)}
    batches |= {name: varied_batch(1_000, NOW_MS, *sizes) for name, sizes in _VARIED.items()}
    rows = []
    for name, batch in batches.items():
        count = records_count(batch)
        times = in_rounds(
            bench.effort.rounds,
            {each: partial(seconds_of, bench, reader(batch)) for each, reader in READERS.items()},
        )
        times[_FAST_PATH] = [s / in_one_read(batch) for s in times[_FAST_PATH]]
        per_record = {each: spread([1e9 * s / count for s in seconds]) for each, seconds in times.items()}
        ratios = {each: ratio(times[base], times[each]) for each in others}
        rows.append((name, str(count), *map(str, per_record.values()), *map(str, ratios.values())))
    return Section(
        text="Time to read every timestamp of an uncompressed batch with records of 100 B, or of random "
        f"sizes, in nanoseconds per record on this machine; and how many times faster than {base}'s reader "
        f"that is. `{_FAST_PATH}` does all the work on acceptable requests except sockets: it reads "
        f"the requests (as many of {IN_FLIGHT} in flight as one read brings), decides that they may be "
        "forwarded, reads the broker's answers and counts the batches. `tsproxy's session` reads only the "
        "batch, and makes Python objects of its header and its facts, as it does before the fast path knows "
        "the topic. Records of equal length have no shortcut: one that recognised them took 2.7 to 3.1 ns "
        "instead of 4.9 to 5.6, but gained nothing with values of 50 to 500 B or keys of 8 to 36 B (6.0 to "
        "7.1 ns with it and without).",
        head=(
            "batch",
            "records",
            *(f"{each}, ns" for each in READERS),
            *(f"{each}, times faster" for each in others),
        ),
        rows=rows,
    )


def records_count(batch: bytes) -> int:
    return int.from_bytes(batch[HEADER_SIZE - 4 : HEADER_SIZE], "big")


def _zlib(data: bytes) -> bytes:
    return zlib.decompress(data, 31)


def _isal(data: bytes) -> bytes:
    return isal_zlib.decompress(data, 31)


def _snappy(data: bytes) -> bytes:
    """Xerial framing: a header of 16 bytes, then blocks with their sizes before them."""
    out, pos = [], 16
    while pos < len(data):
        size = int.from_bytes(data[pos : pos + 4], "big")
        out.append(bytes(cramjam.snappy.decompress_raw(data[pos + 4 : pos + 4 + size])))
        pos += 4 + size
    return b"".join(out)


def _zstd(data: bytes) -> bytes:
    """Decompresses with a reader, because frames from a streaming encoder do not contain their size."""
    return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read()


_ONE_SHOT: Final[dict[str, tuple[Codec, Callable[[bytes], bytes]]]] = {
    "gzip": (Codec.GZIP, _zlib),
    "gzip, with isal = 1": (Codec.GZIP, _isal),
    "snappy": (Codec.SNAPPY, _snappy),
    "lz4": (Codec.LZ4, lz4.frame.decompress),
    "zstd": (Codec.ZSTD, _zstd),
}
"""The codec and the library of each row."""


def codecs(bench: Bench) -> Section:
    """The cost of reading a compressed batch, as a ratio to decompressing it."""
    rows = []
    uncompressed = OnFastPath(build_batch(Shape(100_000), NOW_MS))
    for name, (codec, decompress) in _ONE_SHOT.items():
        batch = build_batch(Shape(100_000, codec=codec), NOW_MS)
        reading = OnFastPath(batch)
        times = in_rounds(
            bench.effort.rounds,
            {
                "all": partial(seconds_of, bench, reading),
                "codec": partial(seconds_of, bench, partial(decompress, batch[HEADER_SIZE:])),
                "uncompressed": partial(seconds_of, bench, uncompressed),
            },
        )
        if reading.unread():
            raise ProgramError(f"{name}: records stayed unread")
        both = [sum(each) for each in zip(times["codec"], times["uncompressed"], strict=True)]
        cost = ratio(times["all"], both)
        rows.append((name, str(ratio(times["all"], times["codec"])), str(cost)))
    return Section(
        text="Time to forward a request that has a compressed batch of 100 KB, with every timestamp read, "
        "and to count it when it is accepted. The first ratio is to decompressing it in one call with the "
        "same library. It cannot be 1: to read the timestamps takes 3 µs, and lz4 needs only 20 µs for these "
        "100 KB. The second ratio is to that call and to forwarding the same records uncompressed, together. "
        "It shows what the proxy adds between the codec and its reader. isal is faster than zlib, but takes "
        "0.36 µs per byte for blocks that hold nothing. So it decompresses gzip in threads only.",
        head=("codec", "decompressing = 1", "decompressing and reading = 1"),
        rows=rows,
    )


def seconds_of(bench: Bench, call: Callable[[], object]) -> float:
    """CPU seconds of one call: the mean of as many calls as fit into a fifth of a round."""
    calls, begun = 0, time.process_time()
    until = begun + bench.effort.seconds / 5
    while (now := time.process_time()) < until or calls == 0:
        for _ in range(10):
            call()
        calls += 10
    return (now - begun) / calls
