"""The topics that generated batches go to: one for each configuration that decides something.

Every topic exists twice, with names of one length: the batch goes to one directly and to its twin
through the proxy, so that offsets, producers' states and stored bytes can be compared.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from tsproxy.cluster.topic_limits import topic_limits
from tsproxy.model.kafka import LONG_MAX
from tsproxy.model.verdict import TopicLimits
from tsproxy.testing.kafka_cluster import KafkaCluster

PARTITIONS: Final = 3
SMALL_BATCH_BYTES: Final = 700
SMALL_RECORD_BYTES: Final = 32

TYPE: Final = "message.timestamp.type"
BEFORE: Final = "message.timestamp.before.max.ms"
AFTER: Final = "message.timestamp.after.max.ms"
DIFFERENCE: Final = "message.timestamp.difference.max.ms"
CODEC: Final = "compression.type"
RECORD_SIZE: Final = "max.decompressed.message.bytes"
COMPACT: Final = {"cleanup.policy": "compact"}

HOUR: Final = str(3_600_000)
DAY: Final = str(86_400_000)
UNLIMITED: Final = str(LONG_MAX)

CONFIGS: Final[dict[str, Mapping[str, str]]] = {
    "unlimited": {BEFORE: UNLIMITED, AFTER: UNLIMITED},
    "an-hour-ahead": {AFTER: HOUR},
    "a-day-back": {BEFORE: DAY, AFTER: UNLIMITED},
    "both": {BEFORE: DAY, AFTER: HOUR},
    "nothing": {BEFORE: "0", AFTER: "0"},
    "huge": {BEFORE: str(LONG_MAX - 1), AFTER: str(LONG_MAX - 1)},
    "append-time": {TYPE: "LogAppendTime", BEFORE: HOUR, AFTER: HOUR},
    "compacted": {BEFORE: DAY, AFTER: HOUR, **COMPACT},
    "compacted-gzip": {BEFORE: DAY, AFTER: HOUR, CODEC: "gzip", **COMPACT},
    "small": {BEFORE: DAY, AFTER: HOUR, "max.message.bytes": str(SMALL_BATCH_BYTES)},
    "plain": {BEFORE: DAY, AFTER: HOUR, CODEC: "uncompressed"},
    "lz4": {BEFORE: UNLIMITED, AFTER: HOUR, CODEC: "lz4"},
    "append-time-zstd": {TYPE: "LogAppendTime", CODEC: "zstd"},
}
"""The configuration that each topic sets. The rest is the broker's default."""

CHANGING: Final = "changing"

SIZE_CONFIGS: Final[dict[str, Mapping[str, str]]] = {
    "small-records": {BEFORE: DAY, AFTER: HOUR, RECORD_SIZE: str(SMALL_RECORD_BYTES)},
    "small-records-gzip": {AFTER: HOUR, RECORD_SIZE: str(SMALL_RECORD_BYTES), CODEC: "gzip", **COMPACT},
    "hardly-a-record": {BEFORE: DAY, AFTER: HOUR, RECORD_SIZE: "8"},
    CHANGING: {BEFORE: DAY, AFTER: HOUR},
}
"""The limit of a decompressed record's size, which brokers know from 4.4 on."""

CHANGES: Final[tuple[Mapping[str, str | None], ...]] = (
    {RECORD_SIZE: str(SMALL_RECORD_BYTES)},
    {RECORD_SIZE: str(2 * SMALL_RECORD_BYTES), AFTER: DAY},
    {RECORD_SIZE: None, AFTER: HOUR},
)
"""The settings of the topic `changing` one after the other, again and again, while a run goes on."""

OLD_CONFIGS: Final[dict[str, Mapping[str, str]]] = {
    "difference": {DIFFERENCE: HOUR},
    "difference-and-after": {DIFFERENCE: HOUR, AFTER: DAY},
}
"""KIP-32's limit, which brokers from 4.0 on do not know."""

KEEP: Final = {"retention.ms": "-1", "segment.ms": str(LONG_MAX)}
"""Times of all centuries must neither be retired nor roll a segment each."""


@dataclass(frozen=True, slots=True)
class Topic:
    """One configuration with its two topics."""

    config: str
    direct: str
    proxied: str
    limits: TopicLimits


async def create_topics(kafka: KafkaCluster, run: str) -> tuple[Topic, ...]:
    """All topics, named after `run`; limits as the proxy reads them from the broker."""
    topics = []
    for config, settings in configs_of(kafka.version).items():
        direct, proxied = f"{run}.{config}.d", f"{run}.{config}.p"
        await asyncio.gather(
            *(kafka.create_topic(name, PARTITIONS, config=KEEP | settings) for name in (direct, proxied))
        )
        limits = topic_limits(await kafka.topic_config(direct))
        topics.append(Topic(config, direct, proxied, limits))
    return tuple(topics)


def configs_of(version: str) -> Mapping[str, Mapping[str, str]]:
    release = tuple(map(int, version.split(".")))
    if release >= (4, 4):
        return CONFIGS | SIZE_CONFIGS
    if release >= (3, 6):
        return CONFIGS if release >= (4,) else CONFIGS | OLD_CONFIGS
    return {config: _with_one_limit(settings) for config, settings in CONFIGS.items()}


def _with_one_limit(settings: Mapping[str, str]) -> Mapping[str, str]:
    """The first limit of a topic as that of both sides: brokers before 3.6 know no other."""
    rest = {name: value for name, value in settings.items() if name not in (BEFORE, AFTER)}
    limit = settings.get(BEFORE, settings.get(AFTER))
    return rest if limit is None else rest | {DIFFERENCE: limit}


async def change(kafka: KafkaCluster, topic: Topic, number: int) -> Topic:
    """The topic with its settings altered for the `number`th time."""
    settings = CHANGES[number % len(CHANGES)]
    for name in (topic.direct, topic.proxied):
        await kafka.alter_topic(name, settings)
    return replace(topic, limits=topic_limits(await kafka.topic_config(topic.proxied)))
