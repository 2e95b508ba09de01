"""Clients of a soak: the producers of `rigs/chaos`, a consumer, and some of its attackers."""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError

from rigs.chaos.attackers import Attackers
from rigs.chaos.producers import (
    JavaClient,
    JavaTransactionalClient,
    LibrdkafkaClient,
    Told,
    TransactionalClient,
)
from tsproxy.testing.client_options import ClientOptions

ONE_OF = 50
"""One of so many batches is bad, of those four clients in seven that send bad ones: 1.1% of the records."""
BATCH_S = 0.2
"""Between two batches of a client."""
PAUSE_S = 0.5
ATTACKS = (Attackers.garbage, Attackers.announced_and_not_sent)
"""Connections that write nonsense, or leave within a request."""


class Number:
    """As a set, or a dict, of which only the length is read. It keeps nothing, but counts values."""

    def __init__(self):
        self.by_value = Counter()
        self._length = 0

    def __len__(self):
        return self._length

    def add(self, _):
        self._length += 1

    def update(self, values):
        self._length += len(values)

    def __setitem__(self, _, value):
        self._length += 1
        self.by_value[value] += 1


@dataclass
class Counted(Told):
    """As `Told`, for hours: it counts records, and has few bad ones."""

    sent: Number = field(default_factory=Number)
    acknowledged: Number = field(default_factory=Number)
    failed: Number = field(default_factory=Number)
    every_forbidden: int = ONE_OF


class Paced(LibrdkafkaClient):
    """As `LibrdkafkaClient`, at an even rate: an answer does not end the wait."""

    def _rest(self, producer):
        ends_s = time.monotonic() + BATCH_S
        while (left_s := ends_s - time.monotonic()) > 0:
            producer.poll(left_s)


@dataclass(frozen=True, slots=True)
class Compressing(ClientOptions):
    """The options of producers that compress."""

    codec: str = "none"

    def librdkafka(self):
        return {**ClientOptions.librdkafka(self), "compression.type": self.codec}

    def java(self):
        return {**ClientOptions.java(self), "compression.type": self.codec}


def producers(topic, plain, tls):
    """The producers. `plain` and `tls` are the options of the two listeners."""

    def compressed(options, codec):
        return Compressing(options.bootstrap_servers, options.protocol, options.ca, codec=codec)

    def bad(client, acks, **more):
        return Counted(client, acks, has_forbidden=True, **more)

    return [
        Paced(bad("c-idempotent", "all"), topic, compressed(plain, "zstd")),
        Paced(bad("c-acks-1", "1", is_idempotent=False), topic, compressed(tls, "gzip")),
        Paced(bad("c-acks-0", "0", is_idempotent=False), topic, plain),
        Paced(Counted("c-tls", "all"), topic, compressed(tls, "snappy")),
        TransactionalClient(Counted("c-transactions", "all"), topic, compressed(tls, "lz4")),
        JavaClient(bad("java-idempotent", "all"), topic, compressed(plain, "lz4")),
        JavaTransactionalClient(Counted("java-transactions", "all"), topic, tls),
    ]


class Consumer:
    """A consumer of a group, through the proxy, with TLS. `read` counts its records."""

    def __init__(self, topic, options):
        self.read = 0
        self._is_stopping = False
        self._options = options
        self._topic = topic

    def stop(self):
        """End `run` soon. aiokafka may swallow a cancellation."""
        self._is_stopping = True

    async def run(self):
        """Reads until `stop`. A consumer that fails is made anew."""
        while not self._is_stopping:
            consumer = AIOKafkaConsumer(
                self._topic, **self._options.aiokafka(), group_id="soak", isolation_level="read_committed"
            )
            try:
                await consumer.start()
                while not self._is_stopping:
                    found = await consumer.getmany(timeout_ms=1000)
                    self.read += sum(map(len, found.values()))
            except (KafkaError, OSError):
                await asyncio.sleep(PAUSE_S)
            finally:
                await consumer.stop()
