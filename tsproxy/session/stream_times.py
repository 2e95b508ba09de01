"""The stream time of each partition whose rule needs it: `StreamTimes`, and for one session `SentTimes`.

All sessions of a process share the times that brokers have accepted. A session also knows the times that it
has sent itself and that are not answered yet. Its next request is judged as if brokers had accepted these. So
the batches in flight of another session do not count, but the session's own batches in flight do. Workers
share nothing.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from tsproxy.model.bounded import A_PLACE, Bounded, Ceiling, Owner
from tsproxy.model.custom_rule import StreamTime
from tsproxy.model.outcome import Outcome, VerdictName
from tsproxy.model.produce import ProduceRequest
from tsproxy.policy.stream_time import StreamTimeAdvance
from tsproxy.session.policies import Policies
from tsproxy.session.produce.judge_partitions import NONE_KNOWN, StreamTimesKnown
from tsproxy.session.verdict import RequestVerdict

Partition = tuple[str, int]
"""Topic and partition."""

ACCEPTED: Final = Ceiling(
    "partitions whose rules follow stream time, with the newest time that a broker has accepted",
    most=50_000,
    most_bytes=32 << 20,
    when_full="the partition that was written least recently is forgotten",
    entry_bytes=A_PLACE + 160,
)
SENT: Final = Ceiling(
    "partitions whose rules follow stream time, with the newest time that was sent",
    most=1_000,
    most_bytes=1 << 20,
    when_full="the oldest is forgotten: the accepted time holds",
    entry_bytes=A_PLACE + 160,
    owner=Owner.CONNECTION,
)

_ACCEPTED: Final = frozenset({VerdictName.ACCEPTED, VerdictName.REPAIRED})


class StreamTimes:
    """The newest times that brokers have accepted, from all sessions of a process."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known = Bounded[Partition, StreamTime](ACCEPTED)

    def __len__(self) -> int:
        return len(self._known)

    def of(self, partition: Partition) -> StreamTime | None:
        return self._known.get(partition)

    def accepted(self, partition: Partition, latest_ms: int, now_ms: int) -> None:
        self._known.put(partition, _later(self._known.get(partition), StreamTime(latest_ms, now_ms)))

    def take(self, verdict: RequestVerdict) -> None:
        """Count all forwarded batches of a request as accepted."""
        for each, advance in _advances(verdict):
            self.accepted(each, advance.latest_ms, verdict.now_ms)


class SentTimes:
    """The newest times that one session knows: the accepted times, and the times that it has sent itself."""

    __slots__ = ("_accepted", "_sent")

    def __init__(self, accepted: StreamTimes) -> None:
        self._accepted = accepted
        self._sent = Bounded[Partition, StreamTime](SENT)

    def __len__(self) -> int:
        return len(self._sent)

    @property
    def held_bytes(self) -> int:
        return self._sent.room.held_bytes

    def known(self, request: ProduceRequest, policies: Policies, now_ms: int) -> StreamTimesKnown:
        if not policies.view.policy.follows_stream_time:
            return NONE_KNOWN
        asked = [
            (topic.name, partition.index)
            for topic in request.topics
            if policies.of(topic.name, now_ms).follows_stream_time
            for partition in topic.partitions
        ]
        return {each: found for each in asked if (found := self._of(each)) is not None}

    def _of(self, partition: Partition) -> StreamTime | None:
        sent, accepted = self._sent.get(partition), self._accepted.of(partition)
        return accepted if sent is None else _later(accepted, sent)

    def forwarded(self, verdict: RequestVerdict) -> None:
        for each, advance in _advances(verdict):
            sent = StreamTime(advance.latest_ms, verdict.now_ms)
            self._sent.put(each, _later(self._sent.get(each), sent))

    def answered(self, verdict: RequestVerdict, booked: Iterable[Outcome]) -> None:
        """The broker has answered a request: batches that it rejected have not changed the stream time. A
        newer time is one of a request behind it, which the broker may accept."""
        found = {(outcome.topic, outcome.partition): outcome.verdict for outcome in booked}
        for each, advance in _advances(verdict):
            if found.get(each) in _ACCEPTED:
                self._accepted.accepted(each, advance.latest_ms, verdict.now_ms)
            elif (sent := self._sent.get(each)) is not None and sent.latest_ms <= advance.latest_ms:
                self._sent.pop(each)


def _advances(verdict: RequestVerdict) -> Iterator[tuple[Partition, StreamTimeAdvance]]:
    """The forwarded batches whose rules follow stream time."""
    for partition in verdict.forwarded:
        if partition.advance is not None:
            yield (partition.topic, partition.partition), partition.advance


def _later(one: StreamTime | None, other: StreamTime) -> StreamTime:
    """The newer of two times, with the moment when this time was first seen (`seen_at_ms`). An older time
    that is seen later does not change this moment. Otherwise a producer that lags would make it look as if
    the partition had been written to just now."""
    return other if one is None or other.latest_ms > one.latest_ms else one
