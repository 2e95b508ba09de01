"""The configuration and the topics' own limits, as rules need them outside the proxy."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from aiokafka.protocol.metadata import MetadataRequest

from tsproxy.cluster.admin_connection import AdminConnection, ConversationError, TopicAnswer, connected
from tsproxy.cluster.limits_of_brokers import Given, given_by, own_of, together
from tsproxy.config.settings import Config, Upstream
from tsproxy.model.addresses import Address
from tsproxy.model.verdict import TopicLimits
from tsproxy.model.view import View
from tsproxy.tls.contexts import upstream_context

T = TypeVar("T")


async def view_of(config: Config, topics: Sequence[str]) -> View:
    """The view that a session would have of these topics. The loosest limits hold if brokers differ, as in
    the proxy. A broker that does not answer does not count; a proxy would leave all limits to brokers.

    Raises ConversationError if limits come from a cluster that cannot be queried.
    """
    if not config.policy.asks_broker:
        return View(limits=config.session_limits, policy=config.policy)
    limits: dict[str, TopicLimits] = {}
    on_kafka_4: dict[str, TopicLimits] = {}
    try:
        answers = await _described(config.upstream, topics)
        brokers = await _given_by_brokers(config.upstream, topics)
        for answer in answers:
            described = given_by([answer])
            if answer.error_code == 0 and described is not None:
                found = together(own_of(answer), described, brokers)
                limits[answer.topic], on_kafka_4[answer.topic] = found.limits, found.on_kafka_4
    except ValueError as error:
        raise ConversationError(f"a topic's configuration that is not understood: {error}") from error
    return View(
        limits=config.session_limits,
        policy=config.policy,
        topics=MappingProxyType(limits),
        topics_on_kafka_4=MappingProxyType(on_kafka_4),
    )


async def partitions_of(upstream: Upstream, topic: str) -> list[int]:
    """The numbers of a topic's partitions. The request does not create the topic. Raises
    ConversationError."""

    async def query(connection: AdminConnection) -> Any:
        return await connection.request(MetadataRequest([topic], allow_auto_topic_creation=False))

    answer = await _answer(upstream, query)
    # (error_code, topic, is_internal, partitions), each partition (error_code, partition, …)
    return sorted(one[1] for entry in answer.topics if entry[0] == 0 for one in entry[3])


async def _given_by_brokers(upstream: Upstream, topics: Sequence[str]) -> Mapping[int, Given | None]:
    """The values that each broker gives to topics, by node id, without brokers that do not answer."""
    cluster = await _answer(upstream, AdminConnection.cluster)
    tls = upstream_context(upstream.tls) if upstream.tls else None

    async def given(address: Address) -> Given | None:
        try:
            async with connected(address, tls, upstream.sasl) as connection:
                answers = await connection.describe(topics)
        except ConversationError:
            return None
        return given_by(each for each in answers if each.error_code == 0)

    values = await asyncio.gather(*map(given, cluster.brokers.values()))
    return {node_id: each for node_id, each in zip(cluster.brokers, values, strict=True) if each is not None}


async def _described(upstream: Upstream, topics: Sequence[str]) -> list[TopicAnswer]:
    async def query(connection: AdminConnection) -> list[TopicAnswer]:
        return await connection.describe(topics)

    return await _answer(upstream, query, " (policy.limits_from: config does without)")


async def _answer(
    upstream: Upstream, query: Callable[[AdminConnection], Awaitable[T]], advice: str = ""
) -> T:
    """The answer of the first broker that gives one. Raises ConversationError."""
    tls = upstream_context(upstream.tls) if upstream.tls else None
    reasons = []
    for address in upstream.bootstrap_servers:
        try:
            async with connected(address, tls, upstream.sasl) as connection:
                return await query(connection)
        except ConversationError as error:
            reasons.append(str(error))
    raise ConversationError("; ".join(reasons) + advice)
