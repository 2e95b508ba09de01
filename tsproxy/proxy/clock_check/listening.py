"""Queries brokers for the newest timestamps that they have written themselves. It writes nothing."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from aiokafka.protocol.metadata import MetadataRequest

from tsproxy.clock import Clock
from tsproxy.cluster.admin_connection import AdminConnection, ConversationError
from tsproxy.cluster.newest_timestamps import newest_timestamps
from tsproxy.model.kafka import TOPICS_OF_BROKERS, ErrorCode
from tsproxy.proxy.clock_check.stamps import Look, Newest

MAX_PARTITIONS: Final = 500

Connections = Callable[[], Mapping[int, AdminConnection]]
"""The open connections to brokers, by node id."""


async def newest_stamps(
    connections: Mapping[int, AdminConnection], topics: Iterable[str], clock: Clock
) -> tuple[Look, list[Newest]]:
    """The newest timestamps of the partitions that the reachable brokers lead.

    It skips topics that do not exist or that the user may not Describe, and brokers that do not answer. The
    query creates no topic.
    """
    began_ms = clock.monotonic_ms()
    newest: list[Newest] = []
    if connections:
        led = await _leaders(next(iter(connections.values())), [*sorted(TOPICS_OF_BROKERS), *topics])
        answers = await asyncio.gather(
            *(_newest(connections[node], node, some) for node, some in led.items() if node in connections)
        )
        newest = [stamp for answer in answers for stamp in answer]
    return Look(began_ms, clock.monotonic_ms(), clock.now_ms()), newest


async def _leaders(connection: AdminConnection, topics: Sequence[str]) -> Mapping[int, list[tuple[str, int]]]:
    try:
        return await connection.ask(MetadataRequest(list(topics), allow_auto_topic_creation=False), _led)
    except ConversationError:
        return {}


def _led(answer: Any) -> Mapping[int, list[tuple[str, int]]]:
    """The partitions of an answer by the node that leads them."""
    led: dict[int, list[tuple[str, int]]] = {}
    # (error_code, topic, is_internal, partitions), each partition (error_code, partition, leader, …)
    partitions = ((topic[1], *row[1:3]) for topic in answer.topics if topic[0] == 0 for row in topic[3])
    for (topic, partition, leader), _ in zip(partitions, range(MAX_PARTITIONS), strict=False):
        led.setdefault(leader, []).append((topic, partition))
    return led


async def _newest(
    connection: AdminConnection, leader: int, partitions: Sequence[tuple[str, int]]
) -> list[Newest]:
    try:
        answers = await newest_timestamps(connection, partitions)
    except ConversationError:
        return []
    return [
        Newest(one.topic, one.partition, leader, one.timestamp_ms)
        for one in answers
        if one.error_code == ErrorCode.NONE
    ]
