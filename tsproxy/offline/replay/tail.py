"""`tail`: reads a topic from its end and judges each record at the time of reading.

A record that a broker has stored is within the broker's own limits. It does not contain who sent it, and its
batch may have been rewritten. So only timestamps are judged, for the topic as a whole.
"""

import asyncio
import ssl
from collections.abc import Callable, Sequence
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError

from tsproxy.clock import Clock
from tsproxy.cluster.admin_connection import ConversationError
from tsproxy.cluster.client_options import security_options
from tsproxy.config.settings import Upstream
from tsproxy.model.custom_rule import StreamTime
from tsproxy.model.kafka import NO_TIMESTAMP, TimestampType
from tsproxy.model.policy import CANDIDATE, TopicPolicy
from tsproxy.model.verdict import Reject
from tsproxy.model.view import View
from tsproxy.offline.replay.cluster_view import partitions_of
from tsproxy.offline.replay.tally import Line
from tsproxy.policy.batch_of_times import batch_of_times
from tsproxy.policy.judge import ACCEPT, Decision, decide
from tsproxy.policy.stream_time import advanced
from tsproxy.session.policies import NOBODY, of_anybody
from tsproxy.tls.contexts import upstream_context

POLL_MS: Final = 200


class LiveTopic:
    """Judges the records of one topic as if each had come in a batch of its own, and counts them in
    `line`."""

    def __init__(self, topic: str, policy: TopicPolicy, line: Line) -> None:
        self._topic = topic
        self._policy = policy
        self._line = line
        self._stream_times: dict[int, StreamTime] = {}

    def judge(self, partition: int, timestamps_ms: Sequence[int], now_ms: int) -> None:
        """Count records that were read together. They are judged one by one only if they are not all accepted
        together."""
        if not timestamps_ms:
            return
        decision = self._decide(partition, timestamps_ms, now_ms)
        if decision.verdict == ACCEPT and decision.would is None:
            self._line.records += len(timestamps_ms)
            self._remember(partition, timestamps_ms, now_ms)
            return
        for timestamp_ms in timestamps_ms:
            decision = self._decide(partition, [timestamp_ms], now_ms)
            self._count(decision)
            if decision.verdict == ACCEPT:
                self._remember(partition, [timestamp_ms], now_ms)

    def _decide(self, partition: int, timestamps_ms: Sequence[int], now_ms: int) -> Decision:
        context = batch_of_times(
            timestamps_ms,
            self._topic,
            partition,
            NOBODY,
            policy=self._policy,
            now_ms=now_ms,
            stream_time=self._stream_times.get(partition),
        )
        return decide(context)

    def _remember(self, partition: int, timestamps_ms: Sequence[int], now_ms: int) -> None:
        """Update the stream time with accepted records. It is used for the records after them."""
        if not self._policy.follows_stream_time:
            return
        known = self._stream_times.get(partition)
        advance = advanced(timestamps_ms, known)
        if advance is not None and (known is None or advance.latest_ms > known.latest_ms):
            self._stream_times[partition] = StreamTime(advance.latest_ms, now_ms)

    def _count(self, decision: Decision) -> None:
        line, verdict = self._line, decision.verdict
        line.records += 1
        if isinstance(verdict, Reject):
            line.bad_records += 1
            line.rejected_records += 1
            self._explain(verdict, self._policy.rule)
        elif decision.would is not None and decision.would_rule is not None:
            line.counted_records += 1
            line.counted_bad_records += 1
            line.by_candidate += decision.would_rule == CANDIDATE
            self._explain(decision.would, decision.would_rule)

    def _explain(self, rejection: Reject, rule: str) -> None:
        self._line.reasons[rejection.reason] += 1
        self._line.rules[rule] += 1
        if rejection.unit_guess is not None:
            self._line.units[rejection.unit_guess] += 1


async def tail(
    upstream: Upstream,
    topic: str,
    view: View,
    line: Line,
    *,
    clock: Clock,
    duration_ms: int,
    most_records: int | None,
    began: Callable[[int], None],
) -> None:
    """Count in `line` the records that arrive within `duration_ms`. It ends earlier when there are
    `most_records`.

    `began` is called with the number of partitions, when no later record can be missed. Raises
    ConversationError.
    """
    policy = of_anybody(view).of(topic, clock.now_ms())
    live = LiveTopic(topic, policy, line)
    line.limits_were_known = policy.is_known
    partitions = [TopicPartition(topic, number) for number in await partitions_of(upstream, topic)]
    if not partitions:
        raise ConversationError(f"there is no topic {topic} that may be read")
    consumer = AIOKafkaConsumer(enable_auto_commit=False, **_options(upstream))
    try:
        await consumer.start()
        await _to_the_end(consumer, partitions)
        began(len(partitions))
        end_ms = clock.monotonic_ms() + duration_ms
        while clock.monotonic_ms() < end_ms and (most_records is None or line.records < most_records):
            for partition, records in (await consumer.getmany(timeout_ms=POLL_MS)).items():
                times_ms = [record.timestamp for record in records if _is_the_clients(record)]
                line.records += len(records) - len(times_ms)
                live.judge(partition.partition, times_ms, clock.now_ms())
    except KafkaError as error:
        raise ConversationError(f"{topic}: {error}") from error
    finally:
        await asyncio.shield(consumer.stop())


def _is_the_clients(record: ConsumerRecord[bytes | None, bytes | None]) -> bool:
    """False if the broker has replaced the timestamp that the client sent."""
    is_stamped = record.timestamp_type != TimestampType.CREATE_TIME and record.timestamp != NO_TIMESTAMP
    return not is_stamped


async def _to_the_end(consumer: AIOKafkaConsumer, partitions: list[TopicPartition]) -> None:
    """Seek to the end. The next record of each partition is the first one that is read."""
    consumer.assign(partitions)
    for partition, offset in (await consumer.end_offsets(partitions)).items():
        consumer.seek(partition, offset)


def _options(upstream: Upstream) -> dict[str, Any]:
    tls: ssl.SSLContext | None = upstream_context(upstream.tls) if upstream.tls else None
    servers = [str(address) for address in upstream.bootstrap_servers]
    return {"bootstrap_servers": servers, **security_options(tls, upstream.sasl)}
