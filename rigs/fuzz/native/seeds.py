"""The first inputs of each native target, and how large they may be: `NATIVE`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

from rigs.differential.message_sets import Message, write_messages
from rigs.fuzz.native.scenes import AHEAD_MS, NOW_MS, OLD_MS, SCENES, Scene
from tests.session.messages import FETCH, HEARTBEAT, accepted, answer, produced, request
from tests.wire.batches import CODECS, LZ4, ZSTD, batch
from tests.wire.blobs import blobs
from tests.wire.fetched import any_body
from tsproxy.wire import primitives as put
from tsproxy.wire.readers import Layout


@dataclass(frozen=True, slots=True)
class Native:
    """`module` is the .pyx file of the target. `most_bytes` bounds an input. `feeds` are the readers, and the
    parts of the fast path, that get the bytes."""

    module: str
    seeds: Callable[[], Iterator[bytes]]
    most_bytes: int = 1024
    feeds: tuple[str, ...] = ()


# -- Readers ------------------------------------------------------------------------------------------


def _numbers() -> Iterator[bytes]:
    yield from (b"\0", b"\x7f", b"\x80\x01", b"\xff\xff\xff\xff\x0f", b"\xff" * 9 + b"\x01", b"\x80" * 11)
    yield from ((2**63 - 1).to_bytes(8, "big"), NOW_MS.to_bytes(8, "big"), b"\x04\x01\x02" + bytes(9))


def _bodies() -> Iterator[tuple[int, bytes]]:
    for count in (1, 2, 7, 30):
        times = [NOW_MS + 3 * n for n in range(count)]
        yield count, batch(times, value=bytes(count))[61:]
        yield count, batch([*times[:-1], -1], value=bytes(200 // count))[61:]


def _records() -> Iterator[bytes]:
    for count, body in _bodies():
        head = (count + 1).to_bytes(2, "big") + bytes([9, 5]) + bytes(3) + b"\x05" + bytes(3) + b"\x09\0"
        yield b"\x01\0" + head + body
        yield b"\0" + NOW_MS.to_bytes(8, "big") + head + body


def _culprits() -> Iterator[bytes]:
    for count, body in _bodies():
        for suspects in range(7):
            yield bytes([128]) + (count + 1).to_bytes(2, "big") + bytes([suspects * 5, suspects, 3]) + body


def _messages() -> Iterator[bytes]:
    for magic in (0, 1):
        for bounds in range(4):
            some = [Message(magic, NOW_MS - n, b"k" * n, b"v") for n in range(3)]
            yield bytes([magic, 1, bounds]) + write_messages(some)
            yield bytes([magic, 1, bounds]) + write_messages([Message(magic, NOW_MS, None, None)])


def _fetched() -> Iterator[bytes]:
    for seed in range(40):
        layout = Layout(seed % len(Layout))
        yield bytes([seed * 6, layout, 0]) + answer(FETCH, 16, any_body(Random(seed), layout))


def _errors() -> Iterator[bytes]:
    texts = (
        f"Timestamp {NOW_MS} of message with offset 0 is out of range.",
        "Timestamp -1 of message ",
        "",
        None,
    )
    for is_flexible in (False, True):
        tags = b"\0" if is_flexible else b""
        all_of_them = b"".join(put.int32(1) + put.string(text, is_flexible) + tags for text in texts)
        for count in (1, 4, 5):
            yield bytes([is_flexible, count]) + all_of_them


def _lz4() -> Iterator[bytes]:
    for blob in blobs(LZ4, 1, 30):
        yield blob[7:]
        yield blob[11:]


def _zeros() -> Iterator[bytes]:
    yield from (b"\0\1\0\0\0\0\1", b"\5" + b"\1\0\0\0" * 40, b"\0" + b"\1" * 200 + bytes(4) + b"\1" * 90)


# -- The fast path ------------------------------------------------------------------------------------


def _good(scene: Scene) -> Iterator[bytes]:
    """Requests that are forwarded."""
    yield scene.produce({"t": {0: scene.batch([NOW_MS])}})
    yield scene.produce({"t": {0: scene.batch([NOW_MS, NOW_MS - 5, -1]), 7: scene.batch([NOW_MS])}})
    yield scene.produce({"u": {0: scene.batch([NOW_MS - 1])}, "v": {0: scene.batch([1])}})
    for codec in CODECS.values():
        yield scene.produce({"w": {1: scene.batch([NOW_MS] * 3, codec)}})
    yield request(HEARTBEAT, 4, b"\0")
    yield request(FETCH, 17, b"\0" * 5)
    yield request(3, 12, b"\0" * 5)


def _bad(scene: Scene) -> Iterator[bytes]:
    """Requests that are rejected."""
    yield scene.produce({"t": {0: scene.batch([AHEAD_MS])}})
    yield scene.produce({"t": {0: scene.batch([NOW_MS, AHEAD_MS, OLD_MS])}})
    yield scene.produce({"t": {0: scene.batch([OLD_MS]), 1: scene.batch([NOW_MS // 1000])}})
    yield scene.produce({"u": {0: scene.batch([NOW_MS + 2000])}, "t": {5: scene.batch([AHEAD_MS])}})


def _requests() -> Iterator[bytes]:
    for which, scene in enumerate(SCENES):
        for frame in (*_good(scene), *_bad(scene), b"".join(list(_good(scene))[:3])):
            yield bytes([which, 128]) + frame


def _rejections() -> Iterator[bytes]:
    for which, scene in enumerate(SCENES):
        bad = list(_bad(scene))
        for frame in (*bad, bad[0] + bad[1], bad[2] + next(_good(scene))):
            yield bytes([which, 128, 1]) + frame


def _verdicts() -> Iterator[bytes]:
    for which, scene in enumerate(SCENES):
        good, bad = list(_good(scene)), list(_bad(scene))
        for frame in (*good, *bad, bad[0] + bad[1], bad[2] + good[0], good[0] + good[3]):
            yield bytes([which, 0, 1]) + frame


def _said(scene: Scene) -> list[bytes]:
    """The broker's answers to `scene.asked`."""
    version = scene.version
    return [
        produced({"t": {0: accepted()}}, version, 1),
        answer(HEARTBEAT, 4, bytes(6), 2),
        produced({"t": {0: accepted(), 1: accepted(5)}, "v": {3: accepted()}}, version, 3),
        answer(FETCH, 16, any_body(Random(2)), 4),
        answer(FETCH, 12, bytes(30), 5),
    ]


def _answers() -> Iterator[bytes]:
    for which, scene in enumerate(SCENES):
        said = _said(scene)
        for step in (0, 3, 255):
            for count in (1, 3, 4):
                yield bytes([which, step, 0, 0]) + b"".join(said[:count])
        (asked, *_) = _good(scene)
        yield bytes([which, 255]) + len(asked).to_bytes(2, "big") + asked + said[0]
        asked = scene.produce({"v": {n: scene.batch([1]) for n in range(66)}})
        told = produced({"v": {n: accepted() for n in range(66)}}, scene.version)
        yield bytes([which, 255]) + len(asked).to_bytes(2, "big") + asked + told
        asked = request(FETCH, 17, b"\0" * 5)
        for seed in range(9):
            told = answer(FETCH, 17, any_body(Random(seed)))
            yield bytes([which, seed * 5]) + len(asked).to_bytes(2, "big") + asked + told


def _acceptance() -> Iterator[bytes]:
    for which, scene in enumerate(SCENES):
        said = _said(scene)
        for count in (1, 3, 5):
            yield bytes([which]) + b"".join(said[:count])


NATIVE: Final = {
    "native-varints": Native("readers", _numbers, 32),
    "native-records": Native("readers", _records, feeds=("walk", "StreamWalker", "find_outside")),
    "native-culprits": Native("readers", _culprits, 512, feeds=("Finder",)),
    "native-messages": Native("readers", _messages, 512, feeds=("messages",)),
    "native-fetched": Native("readers", _fetched, feeds=("FetchWalk",)),
    "native-errors": Native("readers", _errors, 512, feeds=("skim_errors",)),
    "native-lz4": Native("readers", _lz4, feeds=("lz4_size",)),
    "native-zstd": Native("readers", lambda: blobs(ZSTD, 1, 30), feeds=("zstd_size", "zstd_work")),
    "native-zeros": Native("readers", _zeros, 512, feeds=("holds_zeros",)),
    "native-requests": Native("fast_path", _requests, 1024, feeds=("RequestFilter", "InFlight", "Table")),
    "native-rejections": Native("fast_path", _rejections, feeds=("Rejecter",)),
    "native-answers": Native("fast_path", _answers, 12_000, feeds=("AnswerFilter",)),
    "native-verdicts": Native("fast_path", _verdicts),
    "native-acceptance": Native("fast_path", _acceptance, 1024),
}

NOT_FED: Final = {
    "Freshness": "it holds a time, and reads no bytes",
    "Newest": "it holds a number, and reads no bytes",
    "TopicTrust": "it holds a count, and reads no bytes",
    "columns": "it reads records as `find_outside` does; the target `records` compares it with Python",
    "spans": "it reads records as `find_outside` does; the target `records` compares it with Python",
    "record_errors": "it reads columns of numbers that other readers made",
    "span": "it reads a column of numbers",
}
"""Native code of `tsproxy.wire.readers` and `tsproxy.fastpath` without a target, and why."""
