"""The clients of a round, and the callbacks that each of them received.

A value names its record: `client:number`, and `client:number:forbidden` for a record with a timestamp that
every rule rejects. A client that is never rejected sends only good ones.
"""

import asyncio
import logging
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, KafkaException, Producer

from deploy.demo.java_producer import Acknowledged, JavaProducer, JavaProducerError, JavaRecord

TEN_YEARS_MS = 10 * 365 * 86_400_000
BATCH = 5
PAUSE_S = 0.2
"""Between two batches of a client."""
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
    sent: set = field(default_factory=set)
    acknowledged: set = field(default_factory=set)
    failed: dict = field(default_factory=dict)
    transactions: list = field(default_factory=list)
    given_up: set = field(default_factory=set)
    """(producer id, epoch) of each epoch that the client ended because records had timed out. librdkafka then
    sends the records that are left in its next epoch, also those whose answers it has missed."""
    every_forbidden: int = EVERY_FORBIDDEN
    """One of so many batches, of a client that has forbidden ones."""

    def values(self, number):
        """The values of a batch, and whether they are forbidden."""
        is_forbidden = self.has_forbidden and number % self.every_forbidden == 0
        end = ":forbidden" if is_forbidden else ""
        return [f"{self.client}:{number * BATCH + n}{end}" for n in range(BATCH)], is_forbidden


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
            self._rest(producer)
        producer.flush(FLUSH_S)

    def _producer(self, **options):
        told = self.told
        more = {"enable.idempotence": told.is_idempotent, "acks": told.acks, "client.id": told.client}
        return EpochsGivenUp(told).producer({**self._options.librdkafka(), **_PATIENT, **more, **options})

    def _rest(self, producer):
        """Wait between two batches, or until there is an answer."""
        producer.poll(PAUSE_S)

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
            self._stopping.wait(PAUSE_S)

    def _begun(self):
        options = {**self._options.librdkafka(), **_PATIENT, "client.id": self.told.client}
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

    def _after(self, producer, error: KafkaError):
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
        number = 0
        async with JavaProducer(options, heap="64m") as producer:
            while not self._stopping.is_set():
                await self._send(producer, number)
                number += 1
                await asyncio.sleep(PAUSE_S)

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
                        await asyncio.sleep(PAUSE_S)
            except JavaProducerError:
                await asyncio.sleep(PAUSE_S)

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


def clients(topic, plain, tls):
    """The clients of a round. `plain` and `tls` are the options of the two listeners."""
    return [
        LibrdkafkaClient(Told("c-idempotent", "all"), topic, plain),
        LibrdkafkaClient(Told("c-tls", "all"), topic, tls),
        LibrdkafkaClient(Told("c-rejected", "all", has_forbidden=True), topic, plain),
        LibrdkafkaClient(Told("c-acks-1", "1", is_idempotent=False, has_forbidden=True), topic, plain),
        LibrdkafkaClient(Told("c-acks-0", "0", is_idempotent=False, has_forbidden=True), topic, plain),
        TransactionalClient(Told("c-transactions", "all"), topic, plain),
        JavaClient(Told("java-idempotent", "all"), topic, plain),
        JavaClient(Told("java-rejected", "all", has_forbidden=True), topic, plain),
        JavaTransactionalClient(Told("java-transactions", "all"), topic, plain),
    ]
