"""Sessions whose fast path has learnt topics and rejections, and what they say of what it did: `SCENES`."""

from typing import Final

from tests.fastpath.test_sessions import Spectator
from tests.session.conversation import DAY_MS, HOUR_MS, NOW_MS, PEER, Session, id_of
from tests.session.messages import FETCH, HEARTBEAT, accepted, produce, produced, request
from tests.wire.batches import batch
from tsproxy.model.kafka import TimestampType
from tsproxy.model.verdict import TopicLimits
from tsproxy.model.view import Endpoint, SessionLimits, View

__all__ = ["NOW_MS", "SCENES", "Scene"]

AHEAD_MS, OLD_MS = NOW_MS + 2 * HOUR_MS, NOW_MS - 2 * DAY_MS
TOPICS: Final = {
    "t": TopicLimits(before_max_ms=DAY_MS, after_max_ms=HOUR_MS),
    "u": TopicLimits(after_max_ms=0),
    "v": TopicLimits(),
    "w": TopicLimits(TimestampType.LOG_APPEND_TIME, before_max_ms=5, after_max_ms=5),
}


class Scene:
    """One client before one proxy; it names topics by id, or has a transactional id, or neither."""

    def __init__(self, version: int, transactional_id: str | None = None) -> None:
        self.version, self.transactional_id = version, transactional_id
        self.view = View(
            endpoints={1: Endpoint("proxy.example", 9193)},
            topics=TOPICS,
            topic_names={id_of(topic): topic for topic in TOPICS},
            limits=SessionLimits(
                decompressed_batch=1 << 18,
                decompressed_request=1 << 19,
                records_per_batch=10_000,
                records_per_request=20_000,
                throttle_ms=None,  # it counts what earlier inputs have cost
            ),
        )

    def produce(self, topics: dict[str, dict[int, bytes | None]], correlation_id: int = 1) -> bytes:
        return produce(
            topics, self.version, correlation_id=correlation_id, transactional_id=self.transactional_id
        )

    def batch(self, times: list[int], codec: int = 0) -> bytes:
        if self.transactional_id is None:
            return batch(times, codec)
        return batch(times, codec, attributes=0x10, producer_id=7, producer_epoch=1, base_sequence=0)

    def learnt(self) -> Session:
        """A session that has forwarded a batch of each topic, and rejected old ones and new ones."""
        session = Session(PEER, self.view, uses_fast_path=True)
        spectator = Spectator(session)
        good = {topic: {0: self.batch([NOW_MS])} for topic in TOPICS}
        spectator.watch(session.client_bytes(self.produce(good), NOW_MS), NOW_MS)
        said = produced({topic: {0: accepted()} for topic in TOPICS}, self.version)
        spectator.watch(session.broker_bytes(said, NOW_MS), NOW_MS)
        for topic, time_ms in (("t", AHEAD_MS), ("t", OLD_MS), ("u", NOW_MS + 1000), ("t", NOW_MS // 1000)):
            asked = self.produce({topic: {0: self.batch([time_ms])}})
            spectator.watch(session.client_bytes(asked, NOW_MS), NOW_MS)
        spectator.book_totals()
        assert session.fast_path is not None
        assert session.fast_path.requests.table is not None
        return session

    @property
    def asked(self) -> bytes:
        """Requests of every kind that the fast path forwards."""
        two = {n: self.batch([NOW_MS, NOW_MS - n]) for n in (0, 1)}
        return b"".join(
            [
                self.produce({"t": {0: self.batch([NOW_MS])}}, 1),
                request(HEARTBEAT, 4, b"\0", 2),
                self.produce({"t": two, "v": {3: self.batch([5, 6])}}, 3),
                request(FETCH, 16, b"\0" * 9, 4),
                request(FETCH, 12, b"\0" * 9, 5),
            ]
        )

    def agrees_to_forward(self, frames: bytes, now_ms: int) -> None:
        to_broker, to_client, _, _ = self._spectator().watch_client(frames, now_ms)
        assert (to_broker, to_client) == (frames, b""), "the session does not forward this"

    def agrees_to_reject(self, frames: bytes, answers: bytes, now_ms: int) -> None:
        to_broker, to_client, _, _ = self._spectator().watch_client(frames, now_ms)
        assert (to_broker, to_client) == (b"", answers), (
            f"to {frames!r} the session answers {to_client!r}, not {answers!r}, and forwards {to_broker!r}"
        )

    def agrees_that_accepted(self, asked: bytes, said: bytes, batches: int) -> None:
        spectator = self._spectator()
        spectator.watch_client(asked, NOW_MS)
        to_broker, to_client, _, _ = spectator.watch(spectator.session.broker_bytes(said, NOW_MS), NOW_MS)
        assert (to_broker, to_client) == (b"", said), "the session changes the answer"
        counted = sum(line["batches"] for line in spectator.booked() if line["verdict"] == "accepted")
        assert counted == batches, f"the session books {counted} batches, not {batches}"

    def _spectator(self) -> "Watched":
        return Watched(Session(PEER, self.view))


class Watched(Spectator):
    def watch_client(self, frames: bytes, now_ms: int) -> tuple[bytes, bytes, bool, list]:
        return self.watch(self.session.client_bytes(frames, now_ms), now_ms)


SCENES: Final = (Scene(9), Scene(13), Scene(12, "tx"))
