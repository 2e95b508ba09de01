"""A producer of the proxy's own: connections on which it writes what no client has sent."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from tsproxy.config.settings import Address, Upstream
from tsproxy.runtime.tls import CurrentTls

_REQUEST_TIMEOUT_MS: Final = 10_000
_CLOSE_S: Final = 2.0


@asynccontextmanager
async def own_producer(
    upstream: Upstream,
    tls: CurrentTls | None,
    client_id: str,
    servers: Sequence[Address] = (),
    **options: Any,
) -> AsyncIterator[AIOKafkaProducer]:
    """One that has found its brokers, closed at the end. `servers` stand in for upstream's, `options` are
    aiokafka's. Raises whatever aiokafka does: mostly a KafkaError."""
    sasl = upstream.sasl
    credentials = (
        {
            "sasl_mechanism": sasl.mechanism.value,
            "sasl_plain_username": sasl.username,
            "sasl_plain_password": sasl.password.reveal(),
        }
        if sasl
        else {}
    )
    producer = AIOKafkaProducer(
        bootstrap_servers=[str(server) for server in servers or upstream.bootstrap_servers],
        client_id=client_id,
        request_timeout_ms=_REQUEST_TIMEOUT_MS,
        security_protocol=("SASL_" if sasl else "") + ("SSL" if tls else "PLAINTEXT"),
        ssl_context=tls() if tls else None,
        **credentials,
        **options,
    )
    try:
        await producer.start()
        yield producer
    finally:
        with suppress(KafkaError, TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await producer.stop()
