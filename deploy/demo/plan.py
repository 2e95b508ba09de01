"""The demo as tables: topics and their limits, producers, and the records of each producer.

Three real clients share the events evenly. The events go to three topics with different limits. A broker,
and so tsproxy, rejects whole batches: the smaller a client's batches, the fewer good records share a batch
with a late one. Each synthetic producer makes one common mistake.

The data alone decides which record is too late, not the duration of the run: no event is within 11 minutes
below a limit (a test checks that), and a record ages by seconds on its way.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from deploy.demo.data import Event
from tsproxy.model.kafka import NO_TIMESTAMP

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
SOME_DAY_MS: Final = 1_780_000_000_000
"""A time in 2026, for calculations."""
PARTITIONS: Final = 3
SYNTHETIC_RECORDS: Final = 300
"""The number of records of each synthetic producer."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic, and the allowed distance of its records from the broker's clock."""

    name: str
    before_max_ms: int
    after_max_ms: int = HOUR_MS
    """Kafka 4's default, written here so that the reader sees it."""

    @property
    def config(self) -> dict[str, str]:
        """The topic's configuration for the broker.

        The last two settings keep records until they are counted. Otherwise timestamps of last year would
        roll a segment with every other batch, and expire at the next check.
        """
        return {
            "message.timestamp.before.max.ms": str(self.before_max_ms),
            "message.timestamp.after.max.ms": str(self.after_max_ms),
            "segment.ms": str(3650 * DAY_MS),
            "retention.ms": "-1",
        }

    def rejects(self, timestamp_ms: int, now_ms: int) -> bool:
        """True if the topic's limits reject the timestamp (KIP-937). No number here can overflow."""
        age_ms = now_ms - timestamp_ms
        return timestamp_ms != NO_TIMESTAMP and not -self.after_max_ms <= age_ms <= self.before_max_ms


EVENT_TOPICS: Final = (
    Topic("commits.week", before_max_ms=7 * DAY_MS),
    Topic("commits.quarter", before_max_ms=90 * DAY_MS),
    Topic("commits.year", before_max_ms=365 * DAY_MS),
)
SYNTHETIC_TOPIC: Final = Topic("synthetic.mistakes", before_max_ms=365 * DAY_MS)
TOPICS: Final = (*EVENT_TOPICS, SYNTHETIC_TOPIC)


class Family(StrEnum):
    """The client library of a producer."""

    JAVA = "Kafka's Java producer"
    LIBRDKAFKA = "confluent-kafka"
    AIOKAFKA = "aiokafka"


def _as_it_is(time_ms: int) -> int:
    return time_ms


@dataclass(frozen=True, slots=True)
class Producer:
    """One client. `writes` turns a time in ms into the timestamp to send, and so makes the mistakes."""

    client_id: str
    family: Family
    options: Mapping[str, Any]
    """The library's own options; `batching` describes them in words."""
    batching: str = "default batches"
    writes: Callable[[int], int] = _as_it_is


# A record that cannot be delivered within a minute is dropped. The proof then reports it and does not wait.
# The minute begins when the library takes the record, so the library takes few at a time: a slow machine may
# need minutes for all of them.
_JAVA: Final[dict[str, Any]] = {
    "acks": "all",
    "enable.idempotence": True,
    "delivery.timeout.ms": 60_000,
    "buffer.memory": 65_536,
}
_LIBRDKAFKA: Final[dict[str, Any]] = {
    "acks": "all",
    "enable.idempotence": True,
    "message.timeout.ms": 60_000,
}
_AIOKAFKA: Final[dict[str, Any]] = {"acks": "all"}

EVENT_PRODUCERS: Final = (
    Producer(
        "commits-java",
        Family.JAVA,
        _JAVA | {"batch.size": 2048, "linger.ms": 50},
        "idempotent, batches of 2 KiB",
    ),
    Producer(
        "commits-librdkafka",
        Family.LIBRDKAFKA,
        _LIBRDKAFKA | {"batch.num.messages": 10, "linger.ms": 50, "compression.type": "lz4"},
        "idempotent, lz4, batches of 10 records",
    ),
    Producer(
        "commits-aiokafka",
        Family.AIOKAFKA,
        _AIOKAFKA | {"max_batch_size": 512, "linger_ms": 5, "compression_type": "gzip"},
        "gzip, batches of 512 bytes",
    ),
)

SYNTHETIC_PRODUCERS: Final = (
    Producer("synthetic-seconds", Family.JAVA, _JAVA, writes=lambda ms: ms // 1000),
    Producer("synthetic-microseconds", Family.LIBRDKAFKA, _LIBRDKAFKA, writes=lambda ms: ms * 1000),
    Producer("synthetic-nanoseconds", Family.AIOKAFKA, _AIOKAFKA, writes=lambda ms: ms * 1_000_000 + 1),
    # Java's client rejects timestamps below zero, so other clients send these.
    Producer("synthetic-missing", Family.AIOKAFKA, _AIOKAFKA, writes=lambda _: NO_TIMESTAMP),
    Producer("synthetic-negative", Family.LIBRDKAFKA, _LIBRDKAFKA, writes=lambda ms: -ms),
)


@dataclass(frozen=True, slots=True)
class Message:
    """One record to send. `number` counts a producer's messages from 0."""

    number: int
    topic: Topic
    partition: int
    value: bytes
    lateness_ms: int


@dataclass(frozen=True, slots=True)
class Share:
    """A producer and its messages."""

    producer: Producer
    messages: Sequence[Message]

    def key(self, message: Message) -> bytes:
        """The record's key, which is unique in the whole cluster: `commits-java/17`."""
        return f"{self.producer.client_id}/{message.number}".encode()

    def timestamp_ms(self, message: Message, now_ms: int) -> int:
        """The timestamp that the producer writes if it sends the message at `now_ms`."""
        return self.producer.writes(now_ms - message.lateness_ms)

    def is_culprit(self, message: Message, now_ms: int = SOME_DAY_MS) -> bool:
        """True if the record's own timestamp violates its topic's limits, whatever else is in its batch.

        The time at which it is sent makes no difference.
        """
        return message.topic.rejects(self.timestamp_ms(message, now_ms), now_ms)


def shares(events: Sequence[Event]) -> list[Share]:
    """All shares: the events, spread evenly over clients, topics and partitions, and then the mistakes."""
    return [
        *(Share(producer, _dealt(events, place)) for place, producer in enumerate(EVENT_PRODUCERS)),
        *(Share(producer, _SYNTHETIC) for producer in SYNTHETIC_PRODUCERS),
    ]


def _dealt(events: Sequence[Event], place: int) -> list[Message]:
    return [
        Message(
            number=number,
            topic=EVENT_TOPICS[number % len(EVENT_TOPICS)],
            partition=number // len(EVENT_TOPICS) % PARTITIONS,
            value=event.row.encode(),
            lateness_ms=event.lateness_ms,
        )
        for number, event in enumerate(events[place :: len(EVENT_PRODUCERS)])
    ]


_SYNTHETIC: Final = [
    Message(number, SYNTHETIC_TOPIC, number % PARTITIONS, b"synthetic", lateness_ms=0)
    for number in range(SYNTHETIC_RECORDS)
]
