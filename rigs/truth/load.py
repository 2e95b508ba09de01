"""Producers that send until they are told to end, and keep what they were told of each record.

Each is idempotent and patient, so it is told of every record in the end, whoever was killed meanwhile.
"""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from random import Random

from confluent_kafka import Producer

from rigs.truth.clients import PATIENCE_S
from rigs.truth.outcomes import Row
from tsproxy.clock import Clock
from tsproxy.testing.java_producer import Acknowledged, JavaProducer, JavaRecord

MAX_AT_ONCE = 20
MAX_SECONDS_BETWEEN = 0.1
"""The rate of the load: it is there all the time, and leaves the machine to others."""


@dataclass(frozen=True)
class Told:
    """The answer that a client got for one record. The proxy knew it between these two times."""

    is_stored: bool
    sent_ms: int
    told_ms: int


@dataclass
class Load:
    """One producer, which writes the records of a row to its topic."""

    name: str
    row: Row
    client: str
    run_name: str
    seed: int
    has_acks: bool = True
    ending: threading.Event = field(default_factory=threading.Event)
    is_given_up: bool = False
    sent: dict = field(default_factory=dict)
    """Value -> whether it is of those that the row is about."""
    told: dict = field(default_factory=dict)
    """Value -> Told."""
    times_told: int = 0

    @property
    def topic(self):
        return f"{self.name}-{self.client}-{self.run_name}"

    async def run(self, servers):
        if self.client == "java":
            await self._java(servers)
            return
        with ThreadPoolExecutor(1) as own:  # the threads that asyncio has are fewer than the loads
            await asyncio.get_running_loop().run_in_executor(own, self._librdkafka, servers)

    def end(self):
        self.ending.set()

    def give_up(self):
        """The run has failed: do not wait for answers."""
        self.is_given_up = True
        self.end()

    def _some(self, random):
        """A few new records."""
        now_ms = Clock().now_ms()
        for _ in range(random.randint(1, MAX_AT_ONCE)):
            number = len(self.sent)
            key, value, time = self.row.record(number, now_ms, self.topic.encode())
            self.sent[value] = self.row.is_about(number)
            yield key, value, time

    def _hear(self, value, sent_ms, is_stored):
        self.times_told += 1
        self.told[value] = Told(is_stored, sent_ms, Clock().now_ms())

    def _librdkafka(self, servers):
        options = {
            "bootstrap.servers": servers,
            "client.id": self.client,
            "linger.ms": 5,
            "message.timeout.ms": PATIENCE_S * 1_000,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 200,
        }
        options |= {"enable.idempotence": True} if self.has_acks else {"acks": 0}
        producer, random = Producer(options), Random(self.seed)
        while not self.ending.is_set():
            sent_ms = Clock().now_ms()
            for key, value, time in self._some(random):
                hear = partial(self._hear, value, sent_ms)
                producer.produce(
                    self.topic,
                    value,
                    key,
                    0,
                    timestamp=time,
                    on_delivery=lambda error, _, hear=hear: hear(not error),
                )
            producer.poll(0)
            self.ending.wait(random.random() * MAX_SECONDS_BETWEEN)
        while len(producer) and not self.is_given_up:
            producer.poll(0.1)
        producer.purge()

    async def _java(self, servers):
        options = {
            "bootstrap.servers": servers,
            "client.id": self.client,
            "linger.ms": "20",
            "request.timeout.ms": "5000",
            "delivery.timeout.ms": str(PATIENCE_S * 1_000),
            "reconnect.backoff.ms": "20",
            "reconnect.backoff.max.ms": "200",
            # A broker accepts any first sequence number of a producer. If it rejects the first batch as too
            # large and accepts the second one, Java sends the parts of the first for ever: each gets code 45.
            "max.in.flight.requests.per.connection": "1",
        }
        random = Random(self.seed)
        async with JavaProducer(options) as producer:
            while not self.ending.is_set():
                sent_ms, some = Clock().now_ms(), list(self._some(random))
                results = await producer.send_all(
                    JavaRecord(self.topic, value, key, time, 0) for key, value, time in some
                )
                for (_, value, _), result in zip(some, results, strict=True):
                    self._hear(value, sent_ms, isinstance(result, Acknowledged))
                await asyncio.sleep(random.random() * MAX_SECONDS_BETWEEN)
