"""Kafka's own Java producer, driven record by record from Python.

    options = kafka.client_options().java() | {"linger.ms": "60000", "batch.size": "16384"}
    async with JavaProducer(options) as producer:
        results = await producer.send_all(
            JavaRecord("orders", b"...", timestamp_ms=1767225600000) for _ in range(1000)
        )

It is the reference client, from the same jars as the brokers. The results are those that a Java application
sees in its callback. With a long `linger.ms`, only `batch.size` and the end of `send_all` end a batch, so
batches do not depend on the speed of the machine.

`RecordSender.java`, beside this file, does the work in a process that ends with this one. Only one caller may
use it at a time, because each command is answered before the next one is sent.
"""

import asyncio
from asyncio.subprocess import PIPE, Process
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from tsproxy.testing.guard import guarded_folder
from tsproxy.testing.jars import fetch_kafka_jars
from tsproxy.testing.java import source_command
from tsproxy.testing.kafka_cluster import DEFAULT_VERSION

_SOURCE: Final = Path(__file__).with_name("RecordSender.java")
_LONGEST_LINE_BYTES: Final = 4 * 1024 * 1024
_WRITE_BYTES: Final = 64 * 1024
_TAIL_BYTES: Final = 4096
_NULL: Final = "-"


@dataclass(frozen=True, slots=True)
class JavaRecord:
    """One ProducerRecord. None means that the producer chooses the partition, or uses its own clock.

    Java rejects a negative timestamp before it sends, with an IllegalArgumentException.
    """

    topic: str
    value: bytes | None = None
    key: bytes | None = None
    timestamp_ms: int | None = None
    partition: int | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """RecordMetadata. `offset` is -1 if it is unknown (acks=0)."""

    partition: int
    offset: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """The exception of the callback: its class, without the package, and its message."""

    exception: str
    message: str | None


SendResult = Acknowledged | Rejected


class JavaProducerError(RuntimeError):
    """A command failed (`exception` is Java's class), or the process ended (`exception` is None)."""

    def __init__(self, text: str, exception: str | None = None) -> None:
        super().__init__(text)
        self.exception = exception


class JavaProducer:
    """A KafkaProducer of Kafka `version` with `options` (Kafka's own names).

    If the options have a `transactional.id`, it is ready for `begin`.
    """

    def __init__(
        self, options: Mapping[str, str], version: str = DEFAULT_VERSION, *, heap: str = "256m"
    ) -> None:
        self._options = dict(options)
        self._version = version
        self._heap = heap
        self._closing = AsyncExitStack()

    async def __aenter__(self) -> Self:
        command = await self._command()
        async with AsyncExitStack() as stack:
            folder, group = await stack.enter_async_context(guarded_folder("tsproxy-java-"))
            self._log = stack.enter_context((folder / "java.log").open("w+b"))
            self._process = await stack.enter_async_context(_process(command, self._log, group))
            options = (f"option\t{name}\t{_encoded(value.encode())}" for name, value in self._options.items())
            await self._write_lines(options)
            await self._do("start")
            self._closing = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async with self._closing:
            if error is None:
                await self._do("close")

    @property
    def pid(self) -> int:
        return self._process.pid

    async def send_all(self, records: Iterable[JavaRecord]) -> list[SendResult]:
        """Sends the records and flushes. Returns the result of each record, in order, when all have one."""
        results: dict[int, SendResult] = {}
        lines = chain((_send_line(record) for record in records), ["flush"])
        # Write and read at the same time: each side may send more than the pipes hold.
        await asyncio.gather(self._write_lines(lines), self._settle("flush", results))
        return [results[number] for number in sorted(results)]

    async def begin(self) -> None:
        await self._do("begin")

    async def commit(self) -> None:
        """Commits the transaction. Raises JavaProducerError if that fails."""
        await self._do("commit")

    async def abort(self) -> None:
        await self._do("abort")

    async def _command(self) -> Sequence[str | Path]:
        jars = await asyncio.to_thread(fetch_kafka_jars, self._version)
        return await asyncio.to_thread(source_command, [jars / "*"], self._heap, _SOURCE)

    async def _do(self, command: str) -> None:
        await self._write_lines([command])
        await self._settle(command, {})

    async def _write_lines(self, lines: Iterable[str]) -> None:
        """Writes the lines, and waits while the other side does not read."""
        assert self._process.stdin is not None
        pending = bytearray()
        for line in lines:
            pending += line.encode() + b"\n"
            if len(pending) >= _WRITE_BYTES:
                await self._write(bytes(pending))
                pending.clear()
        await self._write(bytes(pending))

    async def _write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
            await self._process.stdin.drain()
        except ConnectionError as error:
            raise self._ended() from error

    async def _settle(self, command: str, results: dict[int, SendResult]) -> None:
        """Reads results until the command itself is answered. Raises JavaProducerError if it failed."""
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            match line.decode().rstrip("\n").split("\t"):
                case ["ack", number, partition, offset, timestamp_ms]:
                    results[int(number)] = Acknowledged(int(partition), int(offset), int(timestamp_ms))
                case ["error", number, exception, message]:
                    results[int(number)] = Rejected(exception, _decoded(message))
                case ["done", done] if done == command:
                    return
                case ["failed", failed, exception, message] if failed == command:
                    text = f"{command}: {exception}: {_decoded(message)}"
                    raise JavaProducerError(text, exception)
                case _:
                    raise JavaProducerError(f"the sender said {line!r} while {command} was under way")
        raise self._ended()

    def _ended(self) -> JavaProducerError:
        end = self._log.seek(0, 2)
        self._log.seek(max(0, end - _TAIL_BYTES))
        tail = self._log.read().decode(errors="replace")
        return JavaProducerError(f"the Java producer has ended; its log ends:\n{tail}")


@asynccontextmanager
async def _process(command: Sequence[str | Path], log: IO[bytes], group: int) -> AsyncIterator[Process]:
    """A process of the group that is killed when the block ends, if it has not ended by then."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=PIPE, stdout=PIPE, stderr=log, limit=_LONGEST_LINE_BYTES, process_group=group
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
        # wait() is not enough: the pipes must be closed before the event loop is.
        await process.communicate()


def _send_line(record: JavaRecord) -> str:
    fields = [
        "send",
        record.topic,
        _NULL if record.partition is None else str(record.partition),
        _NULL if record.timestamp_ms is None else str(record.timestamp_ms),
        _encoded(record.key),
        _encoded(record.value),
    ]
    for name, value in record.headers:
        fields += [name, _encoded(value)]
    return "\t".join(fields)


def _encoded(data: bytes | None) -> str:
    return _NULL if data is None else b64encode(data).decode()


def _decoded(field: str) -> str | None:
    return None if field == _NULL else b64decode(field).decode()
