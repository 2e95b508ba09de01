"""Attempts of a client to loosen how it is judged, or to change how others are: one for each of its inputs.

An attempt is a function of a source of numbers. It yields the client's steps: bytes to send, or LEAVE, after
which it comes again on a new connection. Most of its batches are forbidden.
"""

import struct
from collections.abc import Iterator
from itertools import pairwise
from random import Random

from tests.session.conversation import DAY_MS, HOUR_MS, NOW_MS, id_of
from tests.session.messages import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE, frame, produce, request
from tests.wire.batches import CODECS, batch
from tsproxy.fastpath.adaptive import TRUSTED_AFTER

LEAVE = b""

Attempt = Iterator[bytes]

GOOD, BAD = batch([NOW_MS]), batch([NOW_MS, NOW_MS + 3 * HOUR_MS])
OLD = batch([NOW_MS - 3 * DAY_MS])
FORBIDDEN = (BAD, OLD, *(batch([NOW_MS, NOW_MS + 3 * HOUR_MS], codec) for codec in CODECS.values()))
OFFSETS = "__consumer_offsets"
CLIENT_IDS = ("app", "app-vip", "__admin_client", "tsproxy", "tsproxy-clock", "", "vip", "*", "x" * 32_000)
LIBRARIES = ("apache-kafka-java", "trusted", "librdkafka", "tsproxy")


def _sent(draws: Random, **more) -> bytes:
    """A request with a forbidden batch for a topic that exists, and perhaps a good one."""
    topic, bad = draws.choice(("t", "u", "strict")), draws.choice(FORBIDDEN)
    batches = {topic: {0: bad, 1: GOOD}} if draws.random() < 0.5 else {topic: {0: bad}}
    return produce(batches, **{"version": draws.randint(3, 13), "acks": draws.choice((-1, 1)), **more})


def client_ids(draws: Random) -> Attempt:
    for _ in range(6):
        yield _sent(draws, client_id=draws.choice((*CLIENT_IDS, None)))


def software(draws: Random) -> Attempt:
    def short(text: str) -> bytes:
        return bytes([len(text) + 1]) + text.encode()

    for _ in range(3):
        body = short(draws.choice(LIBRARIES)) + short("1.0") + b"\0"
        yield request(API_VERSIONS, 3, body, client_id="app")
        yield _sent(draws)


def principals(draws: Random) -> Attempt:
    """The broker rejects each of these logins. A batch may stand before, behind and between."""
    for _ in range(2):
        token = b"\0" + draws.choice((b"admin", b"vip", b"User:admin")) + b"\0secret"
        steps = [
            request(SASL_HANDSHAKE, 1, struct.pack(">h", 5) + b"PLAIN", 1, "app"),
            request(SASL_AUTHENTICATE, 1, struct.pack(">i", len(token)) + token, 2, "app"),
            _sent(draws),
        ]
        draws.shuffle(steps)
        yield b"".join(steps) if draws.random() < 0.5 else steps[0]
        yield from steps[1:]
        yield LEAVE


def batches(draws: Random) -> Attempt:
    """Headers that claim other times than the records have, bits, codecs, and old formats."""
    far_ms = NOW_MS + draws.choice((3, 30, 10**6)) * HOUR_MS
    for facts in (
        {"max_timestamp": NOW_MS},
        {"max_timestamp": -1},
        {"attributes": 0x08},
        {"attributes": 0x40},
        {"attributes": 0x48, "max_timestamp": NOW_MS},
        {"base_timestamp": NOW_MS},
        {},
    ):
        data = batch([NOW_MS, far_ms], **facts)
        yield produce({draws.choice("tu"): {0: data}}, draws.randint(3, 13), client_id="app")


def good_batches(draws: Random) -> Attempt:
    """As many as earn trust, and then some whose headers show nothing of a record that is too old."""
    topic, codec = draws.choice(("t", "u", "strict")), draws.choice([c for c in CODECS.values() if c])
    for _ in range(TRUSTED_AFTER + 10):
        yield produce({topic: {0: batch([NOW_MS], codec)}}, client_id="app")
    for _ in range(10):
        hidden = batch([NOW_MS, NOW_MS - 3 * DAY_MS, NOW_MS], codec)
        yield produce({topic: {0: hidden}}, client_id="app")


def topic_names(draws: Random) -> Attempt:
    names = ["T", "t ", "t\0", "strict*", "/t/", "", "x" * 30_000, *(f"new-{n}" for n in range(40))]
    draws.shuffle(names)
    for name in names[:12]:
        yield produce({name: {0: BAD}, "t": {0: BAD}}, draws.randint(3, 12), client_id="app")


def topic_ids(draws: Random) -> Attempt:
    known = [id_of("t"), id_of("strict"), id_of(OFFSETS)]
    for _ in range(4):
        named = {"t": {0: BAD}, OFFSETS: {0: GOOD}, "strict": {1: OLD}, "new": {0: BAD}}
        invented = {f"invented-{n}": {0: GOOD} for n in range(draws.choice((0, 3, 100)))}
        named = invented | dict(draws.sample(list(named.items()), draws.randint(1, 3)))
        data = produce(named, 13, draws.choice((-1, 0)), client_id="app")
        yield data.replace(draws.choice(known), draws.randbytes(16)) if draws.random() < 0.3 else data
        if draws.random() < 0.5:
            yield LEAVE


def topics_of_brokers(draws: Random) -> Attempt:
    for version in draws.sample(range(14), 6):
        topics = {OFFSETS: dict.fromkeys(range(draws.randint(1, 3)), GOOD)}
        if draws.random() < 0.5:
            topics["t"] = {0: GOOD}
        yield produce(topics, version, draws.choice((-1, 1, 0)), client_id=draws.choice(CLIENT_IDS))
        yield LEAVE


def tags(draws: Random) -> Attempt:
    """Tagged fields behind the request, and in its header."""
    for _ in range(4):
        data = bytes([1, draws.randint(0, 127), 3]) + draws.randbytes(3)
        yield frame(_sent(draws, version=draws.randint(9, 13))[4:-1] + data)


def versions(draws: Random) -> Attempt:
    for version in draws.sample(range(14), 8):
        more = {"acks": draws.choice((-1, 0, 1, 2, -5)), "transactional_id": draws.choice((None, "tx"))}
        yield _sent(draws, version=version, **more)
        yield LEAVE


def sizes(draws: Random) -> Attempt:
    many = {n: draws.choice((GOOD, GOOD, BAD)) for n in range(draws.choice((1, 200, 600)))}
    large = batch([NOW_MS + 3 * HOUR_MS] * 3_000, draws.choice(list(CODECS.values())))
    steps = [produce({"t": many}, client_id="app"), produce({"u": {0: large}}, client_id="app"), _sent(draws)]
    draws.shuffle(steps)
    stream = b"".join(steps)
    cuts = sorted(draws.randrange(len(stream)) for _ in range(draws.choice((0, 3, 40))))
    for start, end in pairwise((0, *cuts, len(stream))):
        if start < end:  # no bytes would be LEAVE
            yield stream[start:end]


def bad_batches(draws: Random) -> Attempt:
    data = _sent(draws, client_id="app")
    for _ in range(30):
        yield data


def connections(draws: Random) -> Attempt:
    for _ in range(6):
        data = draws.choice((_sent(draws, client_id="app"), draws.randbytes(200)))
        yield data[: draws.randint(1, len(data))] if draws.random() < 0.6 else data
        yield LEAVE
