"""The proxy's own producer. It uses connections of its own, for records that no client has sent."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import Any, Final

import aiokafka.client
from aiokafka import AIOKafkaProducer
from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import (
    KafkaConnectionError,
    KafkaError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
)

from tsproxy.cluster.admin_connection import open_connection
from tsproxy.cluster.client_options import security_options
from tsproxy.config.settings import Upstream
from tsproxy.model.addresses import Address
from tsproxy.tls.contexts import CurrentTls

TOO_LARGE: Final = (MessageSizeTooLargeError, RecordListTooLargeError)
"""A batch is too large for its topic, or for a request."""
_REQUEST_TIMEOUT_MS: Final = 10_000
_CLOSE_S: Final = 2.0
_METADATA_MS: Final = 5_000
"""How often brokers are asked for their topics. A topic that is gone is noticed before it is needed."""
_CLOSE_TIMEOUT_S: Final = 5.0


class _Connecting:
    """Opens the connections of a producer until its end."""

    def __init__(self, login: Callable[[], dict[str, Any]] = dict) -> None:
        self._login = login
        self._has_ended = False
        self._under_way = set[asyncio.Timeout]()

    async def connect(self, host: str, port: int, **options: Any) -> AIOKafkaConnection:
        """A connection with the password and the certificate of now. aiokafka would log in with those of the
        producer's start for as long as it lives."""
        if self._has_ended:
            raise KafkaConnectionError("closed")
        async with asyncio.timeout(None) as until_end:
            self._under_way.add(until_end)
            try:
                return await open_connection(host, port, **options | await asyncio.to_thread(self._login))
            finally:
                self._under_way.remove(until_end)

    def end(self) -> None:
        """aiokafka does not know a connection that is being opened. It would come when the broker wakes up,
        and send what was given up."""
        self._has_ended = True
        for until_end in self._under_way:
            until_end.reschedule(0)


_connecting: ContextVar[_Connecting] = ContextVar("connecting")
"""That of the producer that has begun this task."""


async def _connect(host: str, port: int, **options: Any) -> AIOKafkaConnection:
    return await _connecting.get(_Connecting()).connect(host, port, **options)


aiokafka.client.create_conn = _connect  # a producer has no option for it


@asynccontextmanager
async def connected_producer(
    upstream: Upstream,
    tls: CurrentTls | None,
    client_id: str,
    servers: Sequence[Address] = (),
    **options: Any,
) -> AsyncIterator[AIOKafkaProducer]:
    """A producer that has found its brokers. It is closed at the end. `servers` replace the upstream's
    addresses, `options` are aiokafka's. Raises the errors of aiokafka, mostly a KafkaError."""

    def login() -> dict[str, Any]:
        return security_options(tls() if tls else None, upstream.sasl)

    producer = AIOKafkaProducer(
        bootstrap_servers=[str(server) for server in servers or upstream.bootstrap_servers],
        client_id=client_id,
        request_timeout_ms=_REQUEST_TIMEOUT_MS,
        metadata_max_age_ms=_METADATA_MS,
        **await asyncio.to_thread(login),
        **options,
    )
    connecting = _Connecting(login)
    before = _connecting.set(connecting)
    try:
        await producer.start()
        yield producer
    finally:
        _connecting.reset(before)
        await _close(producer, connecting)


async def _close(producer: AIOKafkaProducer, connecting: _Connecting) -> None:
    """Send what is left, if brokers take it soon. A `stop` that is cut short leaves tasks behind, which would
    log in, and send what a later producer sends again, for ever."""
    try:
        async with asyncio.timeout(_CLOSE_S):
            await producer.stop()
    except (KafkaError, TimeoutError):
        connecting.end()
        producer._message_accumulator.fail_all(KafkaConnectionError("closed"))
        if (sender := producer._sender.sender_task) is not None:
            sender.cancel()
            await asyncio.wait([sender], timeout=_CLOSE_S / 2)  # later it would wait for ever for metadata
        with suppress(KafkaError, TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await producer.client.close()


async def partitions_of(producer: AIOKafkaProducer, topic: str) -> int:
    """The topic's number of partitions, by what brokers said some seconds ago at most. Raises TimeoutError if
    they do not know the topic."""
    try:
        async with asyncio.timeout(_CLOSE_TIMEOUT_S):
            return len(await producer.partitions_for(topic))
    except TimeoutError:
        raise TimeoutError("brokers do not know the topic") from None


def read_error(future: "asyncio.Future[object]") -> None:
    """Read the error of a record, so that asyncio does not log it: at the end nobody waits for this future
    any more."""
    if not future.cancelled():
        future.exception()
