"""aiokafka's connection, with an end to the size of an answer: `open_connection`.

aiokafka collects whatever a broker announces, up to 2 GiB.
"""

import asyncio
from typing import Any, Final

from aiokafka.conn import AIOKafkaConnection

MAX_ANSWER_BYTES: Final = 64 << 20
"""A Metadata answer about 200,000 partitions has 10 MiB."""


class _BoundedReader:
    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    async def readexactly(self, size: int) -> bytes:
        if not 0 <= size <= MAX_ANSWER_BYTES:
            raise ConnectionError(f"an answer of {size} bytes")
        return await self._reader.readexactly(size)

    def at_eof(self) -> bool:
        return self._reader.at_eof()


class _Connection(AIOKafkaConnection):  # type: ignore[misc]  # aiokafka carries no types
    def _create_reader_task(self) -> Any:
        self._reader: Any = _BoundedReader(self._reader)
        return super()._create_reader_task()


async def open_connection(host: str, port: int, **options: Any) -> AIOKafkaConnection:
    """As `aiokafka.conn.create_conn`."""
    connection = _Connection(host, port, **options)
    await connection.connect()
    return connection
