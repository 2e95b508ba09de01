"""Three client families behind one function: `deliver` sends a share and stores the client's results.

Nothing here knows that there is a proxy. Every record has a result of its own, from its callback or future.
So the counts are those of an application; repetitions that a client sends by itself are not in them.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import confluent_kafka
from aiokafka import AIOKafkaProducer

from deploy.demo.java_producer import Acknowledged, JavaProducer, JavaRecord
from deploy.demo.plan import Family, Message, Share

_MAX_QUEUED: Final = 1_000
_POLL_S: Final = 0.1
_STOP_S: Final = 2
_ERRORS_ONLY: Final = 3
"""A new broker's coordinator answers "load in progress" at first. Users do not need to know that."""


@dataclass(slots=True)
class Receipt:
    """One client's results: the numbers of acknowledged records, and the error name of each rejected one."""

    share: Share
    handed_over: int = 0
    """The number of records that the client has been given so far."""
    acknowledged: set[int] = field(default_factory=set)
    rejected: dict[int, str] = field(default_factory=dict)

    def outgoing(self) -> Iterator[tuple[Message, bytes, int]]:
        """Every message with its key and its timestamp, which is computed during the iteration."""
        for message in self.share.messages:
            self.handed_over += 1
            now_ms = time.time_ns() // 1_000_000
            yield message, self.share.key(message), self.share.timestamp_ms(message, now_ms)


async def deliver(receipt: Receipt, bootstrap_servers: str) -> None:
    """Sends the receipt's whole share. Returns when every record has a result."""
    await _DELIVER[receipt.share.producer.family](receipt, bootstrap_servers)


async def _deliver_java(receipt: Receipt, bootstrap_servers: str) -> None:
    share = receipt.share
    options = {name: str(value).lower() for name, value in share.producer.options.items()}
    options |= {"bootstrap.servers": bootstrap_servers, "client.id": share.producer.client_id}
    records = (
        JavaRecord(message.topic.name, message.value, key, timestamp_ms, message.partition)
        for message, key, timestamp_ms in receipt.outgoing()
    )
    async with JavaProducer(options) as producer:
        results = await producer.send_all(records)
    for message, result in zip(share.messages, results, strict=True):
        if isinstance(result, Acknowledged):
            receipt.acknowledged.add(message.number)
        else:
            receipt.rejected[message.number] = result.exception


async def _deliver_aiokafka(receipt: Receipt, bootstrap_servers: str) -> None:
    producer = receipt.share.producer
    options: dict[str, Any] = dict(producer.options)
    client = AIOKafkaProducer(bootstrap_servers=bootstrap_servers, client_id=producer.client_id, **options)
    futures = []
    try:
        await client.start()
        for message, key, timestamp_ms in receipt.outgoing():
            future = await client.send(
                message.topic.name, message.value, key, message.partition, timestamp_ms
            )
            future.add_done_callback(partial(_settle, receipt, message.number))
            futures.append(future)
        await asyncio.wait(futures)
    finally:
        # Nothing is left to send, unless this was cancelled. Then stop() would wait forever.
        with suppress(TimeoutError):
            await asyncio.wait_for(client.stop(), _STOP_S)


def _settle(receipt: Receipt, number: int, future: asyncio.Future[Any]) -> None:
    if future.cancelled():
        return
    error = future.exception()
    if error is None:
        receipt.acknowledged.add(number)
    else:
        receipt.rejected[number] = type(error).__name__


async def _deliver_librdkafka(receipt: Receipt, bootstrap_servers: str) -> None:
    """Runs in a thread, because librdkafka calls back from `poll` and `flush`, which block."""
    is_cancelled = threading.Event()
    try:
        await asyncio.to_thread(_produce, receipt, bootstrap_servers, is_cancelled)
    finally:
        is_cancelled.set()


def _produce(receipt: Receipt, bootstrap_servers: str, is_cancelled: threading.Event) -> None:
    producer = receipt.share.producer
    client = confluent_kafka.Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "client.id": producer.client_id,
            "log_level": _ERRORS_ONLY,
            **producer.options,
        }
    )

    def settle(number: int) -> Callable[[Any, Any], None]:
        def on_delivery(error: confluent_kafka.KafkaError | None, _: confluent_kafka.Message) -> None:
            if error is None:
                receipt.acknowledged.add(number)
            else:
                receipt.rejected[number] = error.name()

        return on_delivery

    for message, key, timestamp_ms in receipt.outgoing():
        client.produce(
            topic=message.topic.name,
            value=message.value,
            key=key,
            partition=message.partition,
            timestamp=timestamp_ms,
            on_delivery=settle(message.number),
        )
        client.poll(0)
        while len(client) > _MAX_QUEUED and not is_cancelled.is_set():
            client.poll(_POLL_S)
        if is_cancelled.is_set():
            return
    while client.flush(_POLL_S) and not is_cancelled.is_set():
        pass


_DELIVER: Final[Mapping[Family, Callable[[Receipt, str], Awaitable[None]]]] = {
    Family.JAVA: _deliver_java,
    Family.LIBRDKAFKA: _deliver_librdkafka,
    Family.AIOKAFKA: _deliver_aiokafka,
}
