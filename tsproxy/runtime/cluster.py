"""What the proxy knows of the cluster, kept fresh on a connection of its own.

Brokers are read every `refresh_ms`, and at once when an answer named an unknown one; the limits of
every topic that producers were seen to write to likewise, and at once for a new topic (all that
were wanted while a request was under way go into the next one). Whatever changes is handed on as
one whole. With the cluster away, what was last known stays, and the connection is tried for ever.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

import structlog

from tsproxy.config.settings import Address, Config, Upstream
from tsproxy.model.kafka import ErrorCode, is_topic_name
from tsproxy.model.verdict import TopicLimits
from tsproxy.runtime.admin_connection import AdminConnection, ConversationError, TopicAnswer, connected
from tsproxy.runtime.clock import Clock
from tsproxy.runtime.notes import frames_of
from tsproxy.runtime.reload import Commit
from tsproxy.runtime.tls import CurrentTls
from tsproxy.runtime.topic_limits import as_kafka_4, topic_limits

log = structlog.get_logger()

FIRST_RETRY_MS: Final = 250
LAST_RETRY_MS: Final = 10_000
NODES_EVERY_MS: Final = 1_000
"""Unknown nodes make the brokers be read again no more often than this."""
MAX_TOPICS: Final = 50_000
MAX_ABSENT: Final = 1_000
"""Names that no topic has yet are asked for again; the oldest of more than these are forgotten."""
TOPICS_PROBED: Final = 200
TOPIC_PROBED: Final = "tsproxy.probe"


class PermissionDeniedError(Exception):
    """The proxy may not read what it is to judge by; the text says what to grant."""


@dataclass(frozen=True, slots=True, eq=False)
class VisibleTopics:
    """The topics that the proxy's own user sees, internal ones left out. Each reading is another one."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """All that is known at one time. `topics`: limits of the topics seen in use, `topics_on_kafka_4` the
    same as a 4.x broker would compute them; `visible`: all topics, as of the start or the last reload."""

    cluster_id: str | None = None
    brokers: Mapping[int, Address] = field(default_factory=lambda: MappingProxyType({}))
    topics: Mapping[str, TopicLimits] = field(default_factory=lambda: MappingProxyType({}))
    needs_sasl: bool = False
    topics_on_kafka_4: Mapping[str, TopicLimits] = field(default_factory=lambda: MappingProxyType({}))
    visible: VisibleTopics | None = None


class Cluster:
    """`on_facts` is called with each new `ClusterFacts`; the first has at least one broker.

    `reads_limits` False leaves topics alone (where nothing is judged).
    """

    def __init__(
        self,
        upstream: Upstream,
        tls: CurrentTls | None,
        clock: Clock,
        on_facts: Callable[[ClusterFacts], None],
        on_reachable: Callable[[bool], None],
        *,
        reads_limits: bool = True,
    ) -> None:
        self._absent: dict[str, None] = {}
        self._absent_retry_ms = FIRST_RETRY_MS
        self._clock = clock
        self._facts = ClusterFacts(needs_sasl=upstream.sasl is not None)
        self._is_reached = False
        self._may_read_limits = not reads_limits
        self._new: dict[str, None] = {}
        self._node_is_wanted = False
        self._on_facts = on_facts
        self._on_reachable = on_reachable
        self._reads_limits = reads_limits
        self._tls = tls
        self._told: set[tuple[str, str]] = set()
        self._trouble: str | None = None
        self._upstream = upstream
        self._wake = asyncio.Event()

    def prepare(self, config: Config) -> Commit:
        """A reload: the addresses, the user and the pace hold from the next conversation on. Limits that
        were not read so far are asked for as topics are wanted; that they may not be read no longer ends
        the proxy, but is told for each topic."""

        def commit() -> None:
            self._upstream = config.upstream
            self._reads_limits = config.policy.asks_broker
            self._facts = replace(self._facts, visible=None)  # rules may name others: read again
            self._wake.set()

        return commit

    def want_topic(self, topic: str) -> None:
        """A producer writes to `topic`: find out its limits, and keep them fresh.

        A name that no topic can have is not asked for: one that is no UTF-8 could not even be sent,
        and what cannot be sent would stand in the way of all others for good.
        """
        if not self._reads_limits or not is_topic_name(topic):
            return
        if topic in self._facts.topics or topic in self._absent:
            return
        if len(self._facts.topics) + len(self._new) < MAX_TOPICS:
            self._new[topic] = None
            self._wake.set()

    def knows_topic(self, topic: str) -> bool:
        """True where a broker has told how it is configured."""
        return topic in self._facts.topics

    def want_node(self, node_id: int, address: Address) -> None:
        """An answer named a broker that is not known, or not there: see what has changed."""
        if self._facts.brokers.get(node_id) != address:
            self._node_is_wanted = True
            self._wake.set()

    async def run(self) -> None:
        """Converse for ever. Raises PermissionDeniedError if limits may not be read at the start."""
        retry_ms = FIRST_RETRY_MS
        while True:
            try:
                await self._converse_with_any()
            except ConversationError as error:
                if self._is_reached:  # connections end and brokers restart: news only if none answers now
                    self._is_reached = False
                    retry_ms = FIRST_RETRY_MS
                    continue
                self._tell_trouble(str(error))
            except PermissionDeniedError:
                raise
            except Exception as error:
                # A mistake of ours or of the client library must not take the data path down.
                self._is_reached = False
                log.error("cluster_conversation_crashed", error=type(error).__name__, frames=frames_of(error))
            await asyncio.sleep(retry_ms / 1000)
            retry_ms = min(2 * retry_ms, LAST_RETRY_MS)

    async def _converse_with_any(self) -> None:
        """With the first of the given and the known brokers that answers. Ends by raising only."""
        addresses = dict.fromkeys((*self._upstream.bootstrap_servers, *self._facts.brokers.values()))
        reasons = []
        for address in addresses:
            try:
                tls = self._tls() if self._tls else None
                async with connected(address, tls, self._upstream.sasl) as connection:
                    await self._converse(connection)
            except ConversationError as error:
                if self._is_reached:
                    raise
                reasons.append(str(error))
        raise ConversationError("; ".join(reasons))

    async def _converse(self, connection: AdminConnection) -> None:
        """Refresh when it is time, and sooner for what is wanted. Ends by raising only."""
        absent_due_ms = refreshed_ms = await self._refresh(connection)
        while True:
            now_ms = self._clock.monotonic_ms()
            wait_ms = NODES_EVERY_MS if self._node_is_wanted else self._upstream.refresh_ms
            due_ms = refreshed_ms + min(wait_ms, self._upstream.refresh_ms)
            if now_ms >= due_ms:
                refreshed_ms = await self._refresh(connection)
            elif self._new or (self._absent and now_ms >= absent_due_ms):
                await self._read_limits(connection, [*self._new, *self._absent])
                absent_due_ms = self._clock.monotonic_ms() + self._absent_retry_ms
                self._absent_retry_ms = min(2 * self._absent_retry_ms, self._upstream.refresh_ms)
            else:
                await self._sleep((min(due_ms, absent_due_ms) if self._absent else due_ms) - now_ms)

    async def _sleep(self, wait_ms: int) -> None:
        """Until something is wanted, but no longer than `wait_ms`."""
        self._wake.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_ms / 1000):
                await self._wake.wait()

    async def _refresh(self, connection: AdminConnection) -> int:
        """Read everything that is known or wanted. Returns when that was (monotonic ms)."""
        if not self._may_read_limits:
            await self._probe(connection)
        self._node_is_wanted = False
        reads_names = self._facts.visible is None
        answer = await connection.cluster(with_topics=reads_names)
        if not answer.brokers:
            raise ConversationError("the cluster has no brokers yet")
        self._reached()
        changed = replace(
            self._facts,
            cluster_id=answer.cluster_id,
            brokers=MappingProxyType(dict(answer.brokers)),
            visible=VisibleTopics(answer.topics) if reads_names else self._facts.visible,
        )
        self._publish(changed)
        await self._read_limits(connection, [*self._facts.topics, *self._new, *self._absent])
        return self._clock.monotonic_ms()

    async def _probe(self, connection: AdminConnection) -> None:
        """Find out at the start, not at the first bad record, whether limits may be read: of the
        topics that can be seen, else of one that need not exist."""
        visible = (await connection.cluster(with_topics=True)).topics
        answers = await connection.describe(visible[:TOPICS_PROBED] or [TOPIC_PROBED])
        if all(answer.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED for answer in answers):
            raise PermissionDeniedError(_denied_text(self._upstream))
        self._may_read_limits = True

    async def _read_limits(self, connection: AdminConnection, topics: Sequence[str]) -> None:
        if not topics:
            return
        limits, on_kafka_4 = dict(self._facts.topics), dict(self._facts.topics_on_kafka_4)
        for answer in await connection.describe(topics):
            self._new.pop(answer.topic, None)
            self._take(answer, limits, on_kafka_4)
        facts = replace(
            self._facts,
            topics=MappingProxyType(limits),
            topics_on_kafka_4=MappingProxyType(on_kafka_4),
        )
        self._publish(facts)

    def _take(
        self, answer: TopicAnswer, limits: dict[str, TopicLimits], on_kafka_4: dict[str, TopicLimits]
    ) -> None:
        """Enter one topic's answer, or leave the topic to be asked for again."""
        if answer.error_code == ErrorCode.NONE:
            try:
                limits[answer.topic] = topic_limits(answer.settings)
                on_kafka_4[answer.topic] = topic_limits(as_kafka_4(answer.settings, answer.defaults))
            except ValueError as error:
                self._tell_once("topic_limits_not_understood", answer.topic, error=str(error))
            else:
                self._absent.pop(answer.topic, None)
                return
        elif answer.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            # What was known stays in force: losing a permission must not open the gate.
            self._tell_once("topic_limits_denied", answer.topic, needs="DescribeConfigs on the topic")
        elif answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            limits.pop(answer.topic, None)
            on_kafka_4.pop(answer.topic, None)
        if answer.topic not in limits and answer.topic not in self._absent:
            self._absent[answer.topic] = None
            self._absent_retry_ms = FIRST_RETRY_MS
            if len(self._absent) > MAX_ABSENT:
                self._absent.pop(next(iter(self._absent)))

    def _publish(self, facts: ClusterFacts) -> None:
        if facts != self._facts:
            self._facts = facts
            self._on_facts(facts)

    def _reached(self) -> None:
        if not self._is_reached:
            self._is_reached = True
            self._on_reachable(True)
        if self._trouble is not None:
            log.info("upstream_reached")
            self._trouble = None

    def _tell_trouble(self, text: str) -> None:
        """One line when the cluster goes away, and one when the reason changes."""
        self._on_reachable(False)
        if text != self._trouble:
            self._trouble = text
            log.error("upstream_unreachable", error=text, advice="tried again for ever; clients are refused")

    def _tell_once(self, event: str, topic: str, **facts: object) -> None:
        if (event, topic) not in self._told and len(self._told) < MAX_TOPICS:
            self._told.add((event, topic))
            log.warning(event, topic=topic, **facts)


def _denied_text(upstream: Upstream) -> str:
    who = upstream.sasl.user if upstream.sasl else "this connection's principal"
    return (
        f"upstream.admin: brokers do not let {who} read the limits of topics. Grant the operation "
        "DescribeConfigs on the topics that producers write to (kafka-acls.sh --add --allow-principal "
        "User:... --operation DescribeConfigs --topic '*'), or judge every topic by the file's limits with "
        "policy.limits_from: config"
    )
