"""The clients of a round, and the callbacks that each of them received.

A value names its record: `client:number`, and `client:number:forbidden` for a record with a timestamp that
every rule rejects. A client that is never rejected sends only good ones.
"""

import asyncio
import logging
import re
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import confluent_kafka
from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError
from confluent_kafka import KafkaException, Producer

from deploy.demo.java_producer import Acknowledged, JavaProducer, JavaProducerError, JavaRecord
from tests.clients.families import FAMILIES
from tests.clients.program import ProgramError, running

NEWEST = "4.4.0"
PARTITIONS = 3
FAMILY_PAUSE_S = 0.05
"""Between two records of a client of `families`."""
TEN_YEARS_MS = 10 * 365 * 86_400_000
RETRY_S = 0.2
"""Before a client that failed is made anew."""
FLUSH_S = 120
EVERY_ABORTED = 4
EVERY_FORBIDDEN = 3

_PATIENT = {
    "linger.ms": 5,
    "message.timeout.ms": 300_000,
    "reconnect.backoff.max.ms": 500,
    "retry.backoff.ms": 100,
    "log_level": 0,
}
_BUMPED = re.compile(r"partition drain in state Assigned for PID\{Id:(\d+),Epoch:(\d+)\} epoch bump .*: (.*)")
_TIMED_OUT = re.compile(r"\d+ message\(s\) timed out on ")


@dataclass
class Told:
    """The records that a client sent, and the answer to each. A transaction is (values, outcome), and the
    outcome "committed", "aborted" or "unknown"."""

    client: str
    acks: str
    is_idempotent: bool = True
    has_forbidden: bool = False
    codec: str = "none"
    batch: int = 5
    pause_s: float = 0.2
    """Between two batches."""
    sent: set = field(default_factory=set)
    acknowledged: set = field(default_factory=set)
    failed: dict = field(default_factory=dict)
    transactions: list = field(default_factory=list)
    given_up: set = field(default_factory=set)
    """(producer id, epoch) of each epoch that the client ended because records had timed out. librdkafka then
    sends the records that are left in its next epoch, also those whose answers it has missed."""
    unread: set = field(default_factory=set)
    """Acknowledged records that the client's own consumer has not read in the end."""

    def values(self, number):
        """The values of a batch, and whether they are forbidden."""
        is_forbidden = self.has_forbidden and number % EVERY_FORBIDDEN == 0
        end = ":forbidden" if is_forbidden else ""
        return [f"{self.client}:{number * self.batch + n}{end}" for n in range(self.batch)], is_forbidden


class Client:
    """One client. Its `run` sends until `stop`, then waits for every answer."""

    def __init__(self, told, topic, options):
        self.told = told
        self._options = options
        self._stopping = threading.Event()
        self._topic = topic

    def stop(self):
        self._stopping.set()


class ThreadedClient(Client):
    """A client whose `send` blocks. It has a thread of its own: the loop's few threads are for others."""

    async def run(self):
        with ThreadPoolExecutor(1) as thread:
            await asyncio.get_running_loop().run_in_executor(thread, self.send)


class EpochsGivenUp(logging.Handler):
    """Reads librdkafka's log (`debug: eos`) for `told.given_up`."""

    def __init__(self, told):
        super().__init__()
        self._told = told

    def emit(self, record):
        if (bumped := _BUMPED.search(record.getMessage())) and _TIMED_OUT.match(bumped[3]):
            self._told.given_up.add((int(bumped[1]), int(bumped[2])))

    def producer(self, options):
        """A producer whose log comes here."""
        log = logging.Logger(self._told.client)
        log.addHandler(self)
        return Producer({**options, "debug": "eos", "log_level": 7}, logger=log)


class LibrdkafkaClient(ThreadedClient):
    """librdkafka, with any acks. Waits of its own decide when it sends again."""

    def send(self):
        told, producer = self.told, self._producer()
        number = 0
        while not self._stopping.is_set():
            values, is_forbidden = told.values(number)
            for value in values:
                self._produce(producer, value, is_forbidden)
            number += 1
            ends_s = time.monotonic() + told.pause_s
            while (left_s := ends_s - time.monotonic()) > 0:
                producer.poll(left_s)
        producer.flush(FLUSH_S)

    def _producer(self):
        told = self.told
        more = {"enable.idempotence": told.is_idempotent, "acks": told.acks, "client.id": told.client}
        more["compression.type"] = told.codec
        return EpochsGivenUp(told).producer({**self._options.librdkafka(), **_PATIENT, **more})

    def _produce(self, producer, value, is_forbidden):
        def answered(error, _):
            if error is None:
                self.told.acknowledged.add(value)
            else:
                self.told.failed[value] = error.name()

        timestamp_ms = int(time.time() * 1000) + (TEN_YEARS_MS if is_forbidden else 0)
        self.told.sent.add(value)
        producer.produce(self._topic, value.encode(), on_delivery=answered, timestamp=timestamp_ms)


class TransactionalClient(ThreadedClient):
    """librdkafka in transactions of a batch; every fourth is aborted. A producer that ends is made anew."""

    def send(self):
        number, producer = 0, None
        while not self._stopping.is_set():
            try:
                producer = producer or self._begun()
                self._transact(producer, number)
            except KafkaException as error:
                producer = self._after(producer, error.args[0])
            number += 1
            self._stopping.wait(self.told.pause_s)

    def _begun(self):
        options = {**self._options.librdkafka(), **_PATIENT, "client.id": self.told.client}
        options["compression.type"] = self.told.codec
        del options["message.timeout.ms"]  # the transaction's time-out bounds it
        more = {"transactional.id": f"{self._topic}-{self.told.client}", "transaction.timeout.ms": 60_000}
        producer = Producer(options | more)
        producer.init_transactions(FLUSH_S)
        return producer

    def _transact(self, producer, number):
        values, _ = self.told.values(number)
        transaction = [values, "unknown"]
        producer.begin_transaction()
        self.told.transactions.append(transaction)
        self.told.sent.update(values)
        for value in values:
            producer.produce(self._topic, value.encode())
        if number % EVERY_ABORTED == 0:
            producer.abort_transaction(FLUSH_S)
            transaction[1] = "aborted"
        else:
            self._commit(producer)
            transaction[1] = "committed"

    def _commit(self, producer):
        """A commit that may be repeated is repeated: its outcome is then that of the last one."""
        while True:
            try:
                return producer.commit_transaction(FLUSH_S)
            except KafkaException as error:
                if not error.args[0].retriable():
                    raise

    def _after(self, producer, error: confluent_kafka.KafkaError):
        """The producer to go on with; None for a new one."""
        if producer is not None and error.txn_requires_abort():
            try:
                producer.abort_transaction(FLUSH_S)
            except KafkaException:
                return None
            self.told.transactions[-1][1] = "aborted"
            return producer
        return None


class JavaClient(Client):
    """Kafka's own producer with its defaults: idempotent, acks=all."""

    async def run(self):
        options = {**self._options.java(), "linger.ms": "5", "delivery.timeout.ms": "300000"}
        options |= {"client.id": self.told.client, "reconnect.backoff.max.ms": "500"}
        options["compression.type"] = self.told.codec
        number = 0
        async with JavaProducer(options, heap="64m") as producer:
            while not self._stopping.is_set():
                await self._send(producer, number)
                number += 1
                await asyncio.sleep(self.told.pause_s)

    async def _send(self, producer, number):
        values, is_forbidden = self.told.values(number)
        timestamp_ms = int(time.time() * 1000) + (TEN_YEARS_MS if is_forbidden else 0)
        self.told.sent.update(values)
        records = [JavaRecord(self._topic, value.encode(), timestamp_ms=timestamp_ms) for value in values]
        results = await producer.send_all(records)
        for value, result in zip(values, results, strict=True):
            if isinstance(result, Acknowledged):
                self.told.acknowledged.add(value)
            else:
                self.told.failed[value] = result.exception


class JavaTransactionalClient(Client):
    """Kafka's own producer in transactions; every fourth is aborted. A producer that fails is made anew."""

    async def run(self):
        number = 0
        while not self._stopping.is_set():
            options = {**self._options.java(), "client.id": self.told.client, "max.block.ms": "120000"}
            options["transactional.id"] = f"{self._topic}-{self.told.client}"
            try:
                async with JavaProducer(options, heap="64m") as producer:
                    while not self._stopping.is_set():
                        number += 1
                        await self._transact(producer, number)
                        await asyncio.sleep(self.told.pause_s)
            except JavaProducerError:
                await asyncio.sleep(RETRY_S)

    async def _transact(self, producer, number):
        values, _ = self.told.values(number)
        transaction = [values, "unknown"]
        await producer.begin()
        self.told.transactions.append(transaction)
        self.told.sent.update(values)
        results = await producer.send_all(JavaRecord(self._topic, value.encode()) for value in values)
        if number % EVERY_ABORTED == 0 or not all(isinstance(each, Acknowledged) for each in results):
            await producer.abort()
            transaction[1] = "aborted"
        else:
            await producer.commit()
            transaction[1] = "committed"


class FamilyClient(Client):
    """A client of any family of `tests/clients`, with its defaults: one record after the other. Its consumer
    reads them in the end."""

    def __init__(self, family, topic, options):
        super().__init__(Told(family.name, "all"), topic, options)
        self._family = family

    async def run(self):
        told, number = self.told, 0
        async with running(self._family, NEWEST, self._options) as program:
            await program.do("connect")
            await program.do("join", f"{self._topic}-{told.client}", self._topic)
            while not self._stopping.is_set():
                value = f"{told.client}:{number}"
                told.sent.add(value)
                try:
                    await program.do("produce", self._topic, number % PARTITIONS, value)
                except ProgramError as error:
                    told.failed[value] = str(error)
                else:
                    told.acknowledged.add(value)
                number += 1
                await asyncio.sleep(FAMILY_PAUSE_S)
            told.unread = told.acknowledged - await _read(program, told.acknowledged)


async def _read(program, wanted):
    """All values that its consumer has read when it has the wanted ones, or nothing more comes."""
    count, values = len(wanted), set()
    while not wanted <= values and len(values) < count:
        values = set(await program.do("poll", count))
        count = len(values) + 1 if len(values) >= count else count - 1
    return values


class Consumer:
    """A consumer of a group, through the proxies. `read` counts its records."""

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
                self._topic, **self._options.aiokafka(), group_id="chaos", isolation_level="read_committed"
            )
            try:
                await consumer.start()
                while not self._is_stopping:
                    records = await consumer.getmany(timeout_ms=1000)
                    self.read += sum(map(len, records.values()))
            except (KafkaError, OSError):
                await asyncio.sleep(RETRY_S)
            finally:
                await consumer.stop()


def clients(topic, plain, tls):
    """The clients of a life. `plain` and `tls` are the options of the two listeners."""
    return [
        LibrdkafkaClient(Told("c-idempotent", "all", codec="zstd"), topic, plain),
        LibrdkafkaClient(Told("c-tls", "all", codec="snappy"), topic, tls),
        LibrdkafkaClient(Told("c-rejected", "all", has_forbidden=True), topic, plain),
        LibrdkafkaClient(
            Told("c-acks-1", "1", is_idempotent=False, has_forbidden=True, codec="gzip"), topic, tls
        ),
        LibrdkafkaClient(Told("c-acks-0", "0", is_idempotent=False, has_forbidden=True), topic, plain),
        TransactionalClient(Told("c-transactions", "all", codec="lz4"), topic, plain),
        JavaClient(Told("java-idempotent", "all"), topic, plain),
        JavaClient(Told("java-rejected", "all", has_forbidden=True, codec="lz4"), topic, plain),
        JavaTransactionalClient(Told("java-transactions", "all"), topic, tls),
    ]


def families(topic, plain, _tls):
    """A client of each family whose tools are here. A share group's sends with Java's producer."""
    return [
        FamilyClient(family, topic, plain)
        for family in FAMILIES
        if family.name != "java-share" and not family.takes_minutes and all(map(shutil.which, family.needs))
    ]
