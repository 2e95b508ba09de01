"""A topic from its end, record by record, each judged by the time at which it was read: `tail`.

What a broker has stored has passed its own limits, and no longer says who sent it; batches may have been
written anew. So this is about times alone, for the topic as a whole.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from tsproxy.clock import Clock
from tsproxy.cluster.admin_connection import ConversationError
from tsproxy.cluster.client_options import security_options
from tsproxy.config.settings import Upstream
from tsproxy.model.kafka import TimestampType
from tsproxy.model.outcome import Peer
from tsproxy.model.policy import CANDIDATE, Mode, TopicPolicy
from tsproxy.model.verdict import Reason, reason_out_of_range
from tsproxy.model.view import View
from tsproxy.offline.replay.surroundings import partitions_of
from tsproxy.offline.replay.tally import Line
from tsproxy.policy import own_values
from tsproxy.policy.resolve import resolve
from tsproxy.policy.timestamps import is_out_of_range
from tsproxy.policy.units import guess_unit
from tsproxy.tls.contexts import upstream_context

POLL_MS: Final = 200
_NO_TIME: Final = -1


def judge_record(timestamp_ms: int, policy: TopicPolicy, now_ms: int, line: Line) -> None:
    """Count one record by what the policy would have said of its time alone."""
    line.records += 1
    if policy.mode is Mode.OFF:
        return
    reason = _reason(timestamp_ms, policy, now_ms)
    rule = policy.rule
    if reason is None and policy.candidate is not None:
        rule = CANDIDATE
        if is_out_of_range(timestamp_ms, policy.candidate, now_ms):
            reason = reason_out_of_range(timestamp_ms, now_ms)
    if reason is None:
        return
    if policy.mode is Mode.ENFORCE and rule != CANDIDATE:
        line.bad_records += 1
        line.rejected_records += 1
    else:
        line.counted_records += 1
        line.counted_bad_records += 1
        line.by_candidate += rule == CANDIDATE
    line.reasons[reason] += 1
    line.rules[rule] += 1
    unit = None if timestamp_ms == _NO_TIME else guess_unit(timestamp_ms, now_ms)
    if unit is not None:
        line.units[unit] += 1


def _reason(timestamp_ms: int, policy: TopicPolicy, now_ms: int) -> Reason | None:
    if policy.limits is not None and is_out_of_range(timestamp_ms, policy.limits, now_ms):
        return reason_out_of_range(timestamp_ms, now_ms)
    return own_values.rejected(timestamp_ms, policy)


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
    """Fill `line` with what arrives within `duration_ms`, or until so many records have.

    `began` hears how many partitions are read, once nothing that arrives can be missed. Raises
    ConversationError.
    """
    policy = resolve(
        view.policy,
        Peer("", "", 0),
        topic,
        view.topics.get(topic),
        view.topics_on_kafka_4.get(topic),
        clock.now_ms(),
    )
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
            for records in (await consumer.getmany(timeout_ms=POLL_MS)).values():
                now_ms = clock.now_ms()
                for record in records:
                    # Where the broker stamps, what the client sent is gone.
                    if record.timestamp_type == TimestampType.CREATE_TIME or record.timestamp == _NO_TIME:
                        judge_record(record.timestamp, policy, now_ms, line)
                    else:
                        line.records += 1
    except KafkaError as error:
        raise ConversationError(f"{topic}: {error}") from error
    finally:
        await asyncio.shield(consumer.stop())


async def _to_the_end(consumer: AIOKafkaConsumer, partitions: list[TopicPartition]) -> None:
    """The next record that comes to a partition is the first that is read of it."""
    consumer.assign(partitions)
    for partition, offset in (await consumer.end_offsets(partitions)).items():
        consumer.seek(partition, offset)


def _options(upstream: Upstream) -> dict[str, Any]:
    tls: ssl.SSLContext | None = upstream_context(upstream.tls) if upstream.tls else None
    servers = [str(address) for address in upstream.bootstrap_servers]
    return {"bootstrap_servers": servers, **security_options(tls, upstream.sasl)}
