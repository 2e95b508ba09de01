"""Sessions that share what all sessions of a process share, before a broker that stores everything.

Two oracles say what must not come to this broker: `is_loosened` judges it again, as that of a client without
any claim, and `forbidden` reads it with a reader that shares no code with the proxy.
"""

import struct
from dataclasses import dataclass, field, replace

from aiokafka.record.memory_records import MemoryRecords

from tests.session.conversation import DAY_MS, HOUR_MS, NOW_MS, Session, id_of
from tests.session.messages import (
    API_VERSIONS,
    PRODUCE,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    accepted,
    answer,
    produced,
)
from tsproxy.model.outcome import Peer
from tsproxy.model.produce import ProduceRequest
from tsproxy.model.verdict import Accept, TopicLimits
from tsproxy.model.view import View
from tsproxy.session.effects import Emit, Judge, PauseClient, ResumeClient, SendToBroker, SendToClient
from tsproxy.session.events import DeadlinePassed
from tsproxy.session.policies import Policies
from tsproxy.session.produce.judge_partitions import judge_all
from tsproxy.session.throttle import Throttle
from tsproxy.session.topic_names import NamesOnly
from tsproxy.session.trust import Trust
from tsproxy.wire import k00_produce
from tsproxy.wire.frames import SIZE_BYTES
from tsproxy.wire.headers import RequestHeader, read_request_header

TOPICS = ("t", "u", "strict", "__consumer_offsets")
NEW = "new"
"""A topic that brokers have, and whose name the proxy does not know yet."""
NAMES = {id_of(topic): topic for topic in (*TOPICS, NEW)}
MAX_WAITS = 3
LIMITS = TopicLimits(before_max_ms=DAY_MS, after_max_ms=HOUR_MS)
VICTIM = Peer("public", "192.0.2.1", 50_000)


@dataclass
class Shared:
    """The state that all sessions of a process share."""

    throttle: Throttle = field(default_factory=Throttle)
    trust: Trust = field(default_factory=Trust)
    names_only: NamesOnly = field(default_factory=NamesOnly)


class Talk:
    """One session. Its broker answers at once, and stores every batch."""

    def __init__(self, view: View, peer: Peer, shared: Shared, *, uses_fast_path: bool = True) -> None:
        self.to_broker, self.to_client = bytearray(), bytearray()
        self.requests: list[tuple[RequestHeader, ProduceRequest]] = []
        """The requests that came to the broker."""
        self.booked: list[tuple[str, str, int]] = []
        self._is_paused = False
        self._session = Session(peer, view, uses_fast_path=uses_fast_path, **vars(shared))

    def sends(self, data: bytes) -> None:
        self._perform(self._session.client_bytes(data, NOW_MS))
        for _ in range(MAX_WAITS):
            if self._is_paused and (due_ms := self._session.next_deadline_ms) is not None:
                self._perform(self._session.feed(DeadlinePassed(), NOW_MS, due_ms))

    def leaves(self) -> None:
        self._perform(self._session.abort())

    @property
    def seen(self) -> tuple[bytes, bytes, list[tuple[str, str, int]]]:
        """All that the broker and the client got, and what was booked."""
        totals = self._session.drain_totals()
        self.booked += [(each.key.verdict.value, each.topic, each.batches) for each in totals]
        return bytes(self.to_broker), bytes(self.to_client), self.booked

    def _perform(self, effects) -> None:
        waiting = list(effects)
        while waiting:
            match effect := waiting.pop(0):
                case SendToBroker():
                    self.to_broker += effect.data
                    for frame in frames_of(effect.data):
                        if said := self._at_broker(frame):
                            waiting += self._session.broker_bytes(said, NOW_MS)
                case SendToClient():
                    self.to_client += effect.data
                case PauseClient() | ResumeClient():
                    self._is_paused = isinstance(effect, PauseClient)
                case Judge():
                    waiting += self._session.judged(effect.job(), NOW_MS)
                case Emit():
                    one = effect.outcome
                    self.booked.append((one.verdict.value, one.topic, one.partition))

    def _at_broker(self, frame: bytes) -> bytes:
        """The broker's answer."""
        payload = memoryview(frame)[SIZE_BYTES:]
        header = read_request_header(payload)
        if header.api_key == PRODUCE:
            request = k00_produce.read_request(header.api_version, payload[header.body_start :], names=NAMES)
            self.requests.append((header, request))
            told = {each.name: {p.index: accepted() for p in each.partitions} for each in request.topics}
            said = produced(told, header.api_version, header.correlation_id)
            return said if request.acks else b""
        if header.api_key == SASL_HANDSHAKE:
            body = struct.pack(">hi", 0, 0)
        elif header.api_key == SASL_AUTHENTICATE:
            body = struct.pack(">hhiq", 58, -1, 0, 0)
        elif header.api_key == API_VERSIONS:
            body = struct.pack(">hB3hBiB", 0, 2, PRODUCE, 0, 13, 0, 0, 0)
        else:
            body = bytes(4)
        return answer(header.api_key, header.api_version, body, header.correlation_id)


def frames_of(data: bytes):
    while data:
        size = SIZE_BYTES + int.from_bytes(data[:SIZE_BYTES], "big")
        yield bytes(data[:size])
        data = data[size:]


def is_loosened(talk: Talk, neutral: Peer, view: View) -> list[tuple[str, int]]:
    """The batches that came to the broker, and that a client without any claim could not have sent, if the
    proxy had known all topics."""
    view = replace(view, topics=dict(view.topics) | {NEW: LIMITS})
    return [
        (judged.topic, judged.partition)
        for header, request in talk.requests
        for judged in judge_all(header, request, view, NOW_MS, Policies(neutral, view))
        if not isinstance(judged.verdict, Accept)
    ]


ALLOWED_MS = {
    "t": (DAY_MS, HOUR_MS),
    "u": (HOUR_MS, HOUR_MS),
    "strict": (DAY_MS, HOUR_MS // 2),
    NEW: (DAY_MS, HOUR_MS),
    "__consumer_offsets": None,
}
"""How far before and after the clock a record may be, by the policy of `test_authority.a_view`. No batch of a
client may come to the last topic."""


def forbidden(talk: Talk) -> list[tuple[str, int]]:
    """The batches that came to the broker and must not, as another reader than the proxy's finds them:
    aiokafka's. Topics that do not exist are the broker's matter."""
    return [
        (topic.name, partition.index)
        for _, request in talk.requests
        for topic in request.topics
        if topic.name in ALLOWED_MS
        for partition in topic.partitions
        if not _is_allowed(bytes(partition.records or b""), ALLOWED_MS[topic.name])
    ]


def _is_allowed(data: bytes, allowed_ms: tuple[int, int] | None) -> bool:
    if allowed_ms is None:
        return False
    before_ms, after_ms = allowed_ms
    batches, times_ms = MemoryRecords(data), []
    while (found := batches.next_batch()) is not None:
        if found.timestamp_type == 1:  # only a broker may say that the time is its own
            return False
        times_ms += [record.timestamp for record in found]
    return all(time_ms == -1 or -before_ms <= time_ms - NOW_MS <= after_ms for time_ms in times_ms)
