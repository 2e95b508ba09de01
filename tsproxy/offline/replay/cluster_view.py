"""The configuration and the topics' own limits, as rules need them outside the proxy."""

from collections.abc import Awaitable, Callable, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from aiokafka.protocol.metadata import MetadataRequest

from tsproxy.cluster.admin_connection import AdminConnection, ConversationError, TopicAnswer, connected
from tsproxy.cluster.topic_limits import as_kafka_4, topic_limits
from tsproxy.config.settings import Config, Upstream
from tsproxy.model.verdict import TopicLimits
from tsproxy.model.view import View
from tsproxy.tls.contexts import upstream_context

T = TypeVar("T")


async def view_of(config: Config, topics: Sequence[str]) -> View:
    """The view that a session would have of these topics.

    Raises ConversationError if limits come from a cluster that cannot be queried.
    """
    if not config.policy.asks_broker:
        return View(limits=config.session_limits, policy=config.policy)
    limits: dict[str, TopicLimits] = {}
    on_kafka_4: dict[str, TopicLimits] = {}
    try:
        for answer in await _described(config.upstream, topics):
            if answer.error_code == 0:
                limits[answer.topic] = topic_limits(answer.settings)
                on_kafka_4[answer.topic] = topic_limits(as_kafka_4(answer.settings, answer.defaults))
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
