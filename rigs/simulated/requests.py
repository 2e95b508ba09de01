"""Requests of simulated clients: whole frames, and the facts of each batch in them."""

import struct
from dataclasses import dataclass, field
from enum import Enum
from random import Random

from tests.session.conversation import DAY_MS, HOUR_MS, NOW_MS
from tests.session.messages import (
    API_VERSIONS,
    FETCH,
    FIND_COORDINATOR,
    HEARTBEAT,
    METADATA,
    PRODUCE,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    produce,
    request,
)
from tests.wire.batches import CODECS, NONE, batch

KNOWN, UNKNOWN = ("t", "u"), "new"
"""Topics whose limits the proxy knows from the beginning, and one whose limits it has to ask for."""

SHORT_LIMIT_MS = HOUR_MS // 6
"""The limit ahead of the clock while a topic is stricter than usual; else it is an hour."""

PLANTED = {
    "password": b"correct-horse",
    "value": b"planted-value-of-a-record",
}
"""The password of every client, and the value of its large records. Nobody but the broker may get them."""

NEWEST_UNSUPPORTED = 99
"""A version of ApiVersions that the proxy answers itself."""


class Kind(Enum):
    """The outcome that a batch must have, whatever the limits are at the moment."""

    GOOD = "allowed by all limits that a topic ever has in a world"
    BAD = "forbidden by all of them"
    EITHER = "allowed or forbidden: that depends on the moment"


@dataclass(frozen=True, slots=True)
class Batch:
    data: bytes
    kind: Kind


@dataclass(slots=True, eq=False)
class Asked:
    """One request. `batches` is {(topic, partition): Batch}. `ends_at`: where its bytes end in all bytes that
    the client sends."""

    frame: bytes
    correlation_id: int
    api_key: int
    api_version: int
    acks: int | None = None
    batches: dict[tuple[str, int], Batch] = field(default_factory=dict)
    is_local: bool = False
    ends_at: int = 0
    is_damaged: bool = False
    """Its end is garbage: nobody knows what it asks."""
    sent_s: float | None = None

    @property
    def wants_answer(self) -> bool:
        return self.acks != 0

    def __str__(self) -> str:
        batches = ", ".join(f"{t}-{p} {each.kind.name}" for (t, p), each in self.batches.items())
        acks = "" if self.acks is None else f" acks={self.acks}"
        return f"{self.api_key} v{self.api_version}{acks} {batches}".strip()


def _batches(kind: Kind, *times_ms: int) -> list[Batch]:
    small = [Batch(batch([NOW_MS, *times_ms], codec), kind) for codec in CODECS.values()]
    return [*small, Batch(batch([NOW_MS, *times_ms], NONE, value=PLANTED["value"] * 60), kind)]


_GOOD = _batches(Kind.GOOD, NOW_MS, NOW_MS - 1_000)
_BAD = [*_batches(Kind.BAD, NOW_MS + 3 * HOUR_MS), *_batches(Kind.BAD, NOW_MS - 3 * DAY_MS, NOW_MS)]
_EITHER = [*_batches(Kind.EITHER, NOW_MS + HOUR_MS // 2), Batch(batch([NOW_MS], crc=7), Kind.EITHER)]
_LARGE = {
    Kind.GOOD: Batch(batch([NOW_MS], NONE, value=b"w" * 300_000), Kind.GOOD),
    Kind.BAD: Batch(batch([NOW_MS + 3 * HOUR_MS], NONE, value=b"w" * 40_000), Kind.BAD),
}
_OTHERS = (
    (HEARTBEAT, 0, b"\x00" * 10),
    (HEARTBEAT, 4, b"\x01" * 8),
    (FETCH, 4, b"\x00" * 40),
    (FETCH, 18, b"\x00" * 40),
    (METADATA, 0, b"\xff" * 4),
    (API_VERSIONS, 0, b""),
    (FIND_COORDINATOR, 0, b"\x00\x01g"),
)


def login(correlation_id: int, client_id: str, user: str) -> list[Asked]:
    """SaslHandshake and SaslAuthenticate with PLAIN."""
    token = b"\0" + user.encode() + b"\0" + PLANTED["password"]
    bodies = {
        SASL_HANDSHAKE: struct.pack(">h", 5) + b"PLAIN",
        SASL_AUTHENTICATE: struct.pack(">i", len(token)) + token,
    }
    frames = [
        request(api_key, 1, body, correlation_id + n, client_id)
        for n, (api_key, body) in enumerate(bodies.items())
    ]
    return [
        Asked(frame, correlation_id + n, api_key, 1)
        for n, (api_key, frame) in enumerate(zip(bodies, frames, strict=True))
    ]


def any_request(draws: Random, correlation_id: int, client_id: str, mix: str, acks: int) -> Asked:
    """`mix` says what kinds of batches this client has: good, bad or mixed. `acks` is its usual setting."""
    if draws.random() < 0.2:
        if draws.random() < 0.1:
            frame = request(API_VERSIONS, NEWEST_UNSUPPORTED, b"", correlation_id, client_id)
            return Asked(frame, correlation_id, API_VERSIONS, NEWEST_UNSUPPORTED, is_local=True)
        api_key, version, body = draws.choice(_OTHERS)
        frame = request(api_key, version, body, correlation_id, client_id)
        return Asked(frame, correlation_id, api_key, version)
    version = draws.randint(3, 13)
    if draws.random() < 0.05:
        acks = draws.choice((-1, 1, 0))
    topics = (*KNOWN, UNKNOWN) if draws.random() < 0.15 else KNOWN
    names = draws.sample(topics, draws.choice((1, 1, 1, 2)))
    partitions = range(draws.choice((1, 1, 2, 3)))
    batches = {(name, p): _batch(draws, name, mix) for name in names for p in partitions}
    sent = {name: {p: batches[name, p].data for p in partitions} for name in names}
    frame = produce(sent, version, acks, correlation_id, client_id)
    return Asked(frame, correlation_id, PRODUCE, version, acks, batches)


def _batch(draws: Random, topic: str, mix: str) -> Batch:
    if draws.random() < 0.01:
        drawn = _LARGE[Kind.BAD if mix == "bad" else Kind.GOOD]
    elif mix == "good":
        drawn = draws.choice(_GOOD)
    elif mix == "bad":
        drawn = draws.choice(_BAD)
    else:
        drawn = draws.choice(draws.choice((_GOOD, _GOOD, _BAD, _EITHER)))
    return drawn if topic != UNKNOWN else Batch(drawn.data, Kind.EITHER)
