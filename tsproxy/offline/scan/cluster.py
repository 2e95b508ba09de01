"""`query_cluster`: queries a cluster for the newest timestamp of each partition.

It queries every leader for all partitions of that leader at once. A leader that cannot answer affects only
its own partitions. It queries a partition again if the leader has just moved.
"""

import asyncio
import ssl
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from aiokafka.protocol.metadata import MetadataRequest

from tsproxy.cluster.admin_connection import AdminConnection, ConversationError, connected
from tsproxy.cluster.newest_timestamps import newest_timestamps, without_records
from tsproxy.config.settings import Upstream
from tsproxy.model.addresses import Address
from tsproxy.model.kafka import ErrorCode
from tsproxy.offline.scan.retention import CONFIG_NAMES
from tsproxy.tls.contexts import upstream_context
from tsproxy.wire.k02_list_offsets import PartitionOffset

PARTITIONS_A_REQUEST: Final = 2_000
ROUNDS: Final = 3
RETRY_DELAY_S: Final = 0.5
"""The wait before the next round. A round queries the partitions again whose leader has moved. There are at
most ROUNDS rounds."""

_AGAIN: Final = frozenset({3, 5, 6, 74, 75, 78})
"""The error codes after which a partition is queried again: unknown partition, no leader, not the leader, two
for a wrong leader epoch, an offset that is not known yet."""

TopicPartition = tuple[str, int]
Settings = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Unread:
    """A partition without an answer, and the reason."""

    topic: str
    partition: int
    why: str


@dataclass(frozen=True, slots=True)
class Answers:
    """The cluster's answers. `settings` of the topics that hold timestamps; None if the user may not read
    them. `visible_topics` counts all topics, selected or not. Brokers do not list topics that the user may
    not Describe."""

    cluster_id: str | None
    brokers: int
    visible_topics: int
    newest: tuple[PartitionOffset, ...]
    empty: frozenset[TopicPartition]
    unread: tuple[Unread, ...]
    settings: Mapping[TopicPartition, Settings | None]
    """The topic's configuration as the partition's leader describes it, since brokers may differ. None if it
    may not be read."""


async def query_cluster(upstream: Upstream, is_selected: Callable[[str], bool]) -> Answers:
    """The cluster's answers for the selected topics. Raises ConversationError if no broker can be queried,
    ConfigError for an unusable certificate."""
    tls = upstream_context(upstream.tls) if upstream.tls else None
    async with AsyncExitStack() as stack:
        connections = _Connections(upstream, tls, stack)
        return await _Inquiry(connections, is_selected).answers()


class _Connections:
    """One connection to each broker, opened at its first query and closed with `stack`."""

    def __init__(self, upstream: Upstream, tls: ssl.SSLContext | None, stack: AsyncExitStack) -> None:
        self._upstream = upstream
        self._tls = tls
        self._stack = stack
        self._open: dict[Address, AdminConnection] = {}

    async def layout(self, is_selected: Callable[[str], bool]) -> "_Layout":
        """The layout as the first broker describes it that can: one that a query has reached, or a bootstrap
        server. Raises ConversationError with the reasons of all of them."""
        reasons = []
        for address in dict.fromkeys((*self._open, *self._upstream.bootstrap_servers)):
            try:
                return await _layout(await self.to(address), is_selected)
            except ConversationError as error:
                self._open.pop(address, None)  # the next query opens another one
                reasons.append(str(error))
        raise ConversationError("; ".join(reasons))

    async def to(self, address: Address) -> AdminConnection:
        if address not in self._open:
            context = connected(address, self._tls, self._upstream.sasl)
            self._open[address] = await self._stack.enter_async_context(context)
        return self._open[address]


@dataclass(slots=True)
class _Inquiry:
    connections: _Connections
    is_selected: Callable[[str], bool]
    newest: list[PartitionOffset] = field(default_factory=list)
    empty: set[TopicPartition] = field(default_factory=set)
    unread: dict[TopicPartition, str] = field(default_factory=dict)
    settings: dict[TopicPartition, Settings | None] = field(default_factory=dict)

    async def answers(self) -> Answers:
        layout = await self.connections.layout(self.is_selected)
        remaining = set(layout.leaders)
        for round_number in range(ROUNDS):
            if round_number:
                await asyncio.sleep(RETRY_DELAY_S)
                try:
                    layout = await self.connections.layout(self.is_selected)
                except ConversationError:
                    break  # the others were read, and `unread` says why these were not
            remaining = await self._query_leaders(layout, remaining)
            if not remaining:
                break
        return Answers(
            cluster_id=layout.cluster_id,
            brokers=len(layout.brokers),
            visible_topics=layout.visible_topics,
            newest=tuple(self.newest),
            empty=frozenset(self.empty),
            unread=tuple(Unread(*partition, why) for partition, why in sorted(self.unread.items())),
            settings=self.settings,
        )

    async def _query_leaders(self, layout: "_Layout", partitions: set[TopicPartition]) -> set[TopicPartition]:
        """Query the leaders of `partitions`. Returns the partitions to query again."""
        by_leader: dict[int, list[TopicPartition]] = defaultdict(list)
        for partition in partitions:
            by_leader[layout.leaders.get(partition, -1)].append(partition)
        leaderless = by_leader.pop(-1, [])
        self._not_read(leaderless, "no leader")
        rounds = (self._query_leader(layout.brokers[node], led) for node, led in by_leader.items())
        again = await asyncio.gather(*rounds)
        return set(leaderless).union(*again)

    async def _query_leader(self, leader: Address, led: list[TopicPartition]) -> list[TopicPartition]:
        again: list[TopicPartition] = []
        remaining = iter(sorted(led))
        while chunk := list(islice(remaining, PARTITIONS_A_REQUEST)):
            try:
                connection = await self.connections.to(leader)
                offsets = await newest_timestamps(connection, chunk)
                await self._find_empty(connection, offsets)
                await self._read_settings(connection, offsets)
            except ConversationError as error:
                self._not_read([*chunk, *remaining], str(error))
                return again
            again += self._sort(offsets)
        return again

    def _sort(self, offsets: Iterable[PartitionOffset]) -> Iterable[TopicPartition]:
        for one in offsets:
            partition = (one.topic, one.partition)
            if one.error_code == ErrorCode.NONE:
                self.newest.append(one)
                self.unread.pop(partition, None)
                continue
            self.unread[partition] = _error_text(one.error_code)
            if one.error_code in _AGAIN:
                yield partition

    def _not_read(self, partitions: Iterable[TopicPartition], why: str) -> None:
        self.unread.update(dict.fromkeys(partitions, why))

    async def _find_empty(self, leader: AdminConnection, offsets: Iterable[PartitionOffset]) -> None:
        """Brokers answer offset -1 for an empty partition, and for one whose timestamps are below -1."""
        sound = [one for one in offsets if one.error_code == ErrorCode.NONE]
        if unknown := [(one.topic, one.partition) for one in sound if one.offset < 0]:
            self.empty |= await without_records(leader, unknown)

    async def _read_settings(self, leader: AdminConnection, offsets: Iterable[PartitionOffset]) -> None:
        led = [one for one in offsets if one.error_code == ErrorCode.NONE]
        answers = await leader.describe(sorted({one.topic for one in led}), CONFIG_NAMES)
        of_topic = {answer.topic: answer.settings if answer.error_code == 0 else None for answer in answers}
        self.settings |= {(one.topic, one.partition): of_topic.get(one.topic) for one in led}


@dataclass(frozen=True, slots=True)
class _Layout:
    """`leaders`: the node that leads each selected partition, -1 if there is none."""

    cluster_id: str | None
    brokers: Mapping[int, Address]
    visible_topics: int
    leaders: Mapping[TopicPartition, int]


async def _layout(connection: AdminConnection, is_selected: Callable[[str], bool]) -> _Layout:
    answer: Any = await connection.request(MetadataRequest(None))
    brokers = {node_id: Address(host, port) for node_id, host, port, *_ in answer.brokers}
    leaders = {
        (name, number): leader if leader in brokers else -1
        for _, name, _, partitions in answer.topics
        if is_selected(name)
        for _, number, leader, *_ in partitions
    }
    return _Layout(getattr(answer, "cluster_id", None), brokers, len(answer.topics), leaders)


def _error_text(error_code: int) -> str:
    known = error_code in ErrorCode.__members__.values()
    return ErrorCode(error_code).name if known else f"error code {error_code}"
