"""Three client families behind one function: `deliver` sends a share and notes what its client saw.

Nothing here knows of the proxy. Every record is settled one by one, by its own callback or future,
so what is counted is what an application would count; what a client sends again by itself stays
between it and the broker.
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

from deploy.demo.plan import Family, Message, Share
from tsproxy.testing.java_producer import Acknowledged, JavaProducer, JavaRecord

_POLL_S: Final = 0.1
_STOP_S: Final = 2
_ERRORS_ONLY: Final = 3
"""A fresh broker's coordinator answers "load in progress" at first, which is no news to a user."""


@dataclass(slots=True)
class Receipt:
    """What one client was told: the numbers acknowledged, and how each other one was rejected, by name."""

    share: Share
    handed_over: int = 0
    """How many records the client has been given so far."""
    acknowledged: set[int] = field(default_factory=set)
    rejected: dict[int, str] = field(default_factory=dict)

    def outgoing(self) -> Iterator[tuple[Message, bytes, int]]:
        """Every message with its key and its timestamp, which is of the moment it is asked for."""
        for message in self.share.messages:
            self.handed_over += 1
            now_ms = time.time_ns() // 1_000_000
            yield message, self.share.key(message), self.share.timestamp_ms(message, now_ms)


async def deliver(receipt: Receipt, bootstrap_servers: str) -> None:
    """Sends all of the receipt's share; returns when every record is settled."""
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
        # Nothing is left to send, unless this was cancelled: then stop() would wait for it in vain.
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
    """librdkafka calls back from `poll` and `flush`, which block: so it all happens in a thread."""
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
        if is_cancelled.is_set():
            return
    while client.flush(_POLL_S) and not is_cancelled.is_set():
        pass


_DELIVER: Final[Mapping[Family, Callable[[Receipt, str], Awaitable[None]]]] = {
    Family.JAVA: _deliver_java,
    Family.LIBRDKAFKA: _deliver_librdkafka,
    Family.AIOKAFKA: _deliver_aiokafka,
}
