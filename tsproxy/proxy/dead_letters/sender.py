"""Takes rejected batches, and sends copies of their culprits to a topic.

A producer of the proxy's own sends one chunk after another and waits for each, so that the dead letters of a
partition keep their order. Delivery is at least once: after a failure the last chunk is sent again.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from aiokafka import AIOKafkaProducer
from aiokafka.errors import BrokerResponseError, KafkaError
from aiokafka.producer.message_accumulator import BatchBuilder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from tsproxy.clock import Clock
from tsproxy.cluster.conversation import Pause, keep_conversing
from tsproxy.cluster.kafka_producer import TOO_LARGE, connected_producer, partitions_of, read_error
from tsproxy.config.settings import Config, Upstream
from tsproxy.decisions.privacy import Privacy
from tsproxy.decisions.totals import Totals
from tsproxy.log_events.catalogue import DEAD_LETTERS_FAILED, DEAD_LETTERS_RESUMED
from tsproxy.model.outcome import Outcome, RejectedBatch
from tsproxy.proxy.daemon_threads import DaemonThreads
from tsproxy.proxy.dead_letters.drops import DropReason, Drops
from tsproxy.proxy.dead_letters.proven import Proven
from tsproxy.proxy.dead_letters.records import CHUNK_BYTES, DeadLetterRecord, chunks_of
from tsproxy.proxy.metrics.catalogue import (
    DEAD_LETTERS,
    DEAD_LETTERS_LOST,
    DEAD_LETTERS_UP,
    DEAD_LETTERS_WAITING,
)
from tsproxy.proxy.notes import Trouble
from tsproxy.proxy.wait import cancelled, wait_at_most
from tsproxy.tls.contexts import CurrentTls

CLIENT_ID: Final = "tsproxy-dead-letters"
POLL_INTERVAL_S: Final = 1.0
"""How often to see whether the topic is still there, while nothing is rejected."""
RETRY_MS: Final = 1_000
SEND_WARN_S: Final = 5.0
REJECTIONS: Final = 3
"""The copies are dropped after this many errors that no retry will change."""
REST: Final = 3
"""The pause after a chunk, as a multiple of the time that the chunk took. So the copies for a client in a
loop take at most a quarter of this process's time."""


@dataclass(slots=True)
class _Sending:
    """The batch that is being sent. `left` counts its dead letters that are neither sent nor dropped. `due`
    are chunks that were read from it; the last chunk is sent next."""

    dead: RejectedBatch
    chunks: Iterator[Sequence[DeadLetterRecord]]
    left: int
    due: list[Sequence[DeadLetterRecord]] = field(default_factory=list)
    rejections: int = 0

    def finish(self, records: Sequence[DeadLetterRecord]) -> None:
        self.due.pop()
        self.left -= len(records)
        self.rejections = 0

    def split(self, records: Sequence[DeadLetterRecord], first: int) -> None:
        """Send the `first` of the records, then the others."""
        self.due[-1:] = [records[first:], records[:first]]


class DeadLetters(Collector):
    """Sends dead letters. It exists even if the configuration has none, since a reload may add them."""

    def __init__(
        self,
        config: Config,
        tls: CurrentTls | None,
        privacy: Privacy,
        clock: Clock,
        has_authorizer: Callable[[], bool],
    ) -> None:
        self.sent = 0
        self.drops = Drops(clock)
        self.waiting = Waiting()
        self._clock = clock
        self._config = config
        self._ending = asyncio.Event()
        self._has_authorizer = has_authorizer
        self._has_failed_copy = False
        """True if the last copy was not accepted. Then a topic that can be found proves nothing."""
        self._sending: _Sending | None = None
        self._changed = asyncio.Event()
        """Set at a new batch, at another configuration, or at the stop."""
        self._privacy = privacy
        self._proven = Proven(has_login=config.upstream.sasl is not None)
        self._task: asyncio.Task[None] | None = None
        self._thread = DaemonThreads(1, "dead-letters")
        self._tls = tls
        self._topic = config.dead_letters.topic if config.dead_letters else ""
        """The topic that was configured last. Waiting batches still go there."""
        self._trouble = Trouble(DEAD_LETTERS_FAILED, DEAD_LETTERS_RESUMED)

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    def apply(self, config: Config) -> None:
        """A reload. The next connection uses the new brokers and user."""
        topic = config.dead_letters.topic if config.dead_letters else self._topic
        if (topic, config.upstream) != (self._topic, self._config.upstream):
            self._has_failed_copy = False
        self._config, self._topic = config, topic
        self._changed.set()

    def booked(self, booked: Outcome | Totals) -> None:
        """Learn from what is booked which clients may write to which topics."""
        if self._config.needs_proofs:
            self._proven.booked(booked, self._clock.monotonic_ms())

    def enqueue(self, dead: RejectedBatch) -> None:
        """Queue a rejected batch. This only checks and counts; reading and sending happen later."""
        settings, named = self._config.dead_letters, len(dead.rejection.violations)
        if settings is None:  # a reload has just removed the section and the rules that use it
            return
        if dead.rejection.bad_records is None:
            self.drops.count(DropReason.WHOLE_BATCH, max(1, dead.bad_records))
            return
        if self._config.needs_proofs and self._has_authorizer() and not self._is_proven(dead):
            self.drops.count(DropReason.NOT_PROVEN, dead.bad_records)
            return
        self.drops.count(DropReason.NOT_LISTED, dead.bad_records - named)
        share = settings.share(self._config.workers)
        if dead.topic == settings.topic:
            self.drops.count(DropReason.OWN_TOPIC, named)
        elif self.waiting.put(dead, share.max_in_flight_bytes, share.max_records):
            self._changed.set()
        else:
            self.drops.count(DropReason.QUEUE_FULL, named)

    def _is_proven(self, dead: RejectedBatch) -> bool:
        return self._proven.holds(dead.peer, dead.topic, self._clock.monotonic_ms())

    async def stop(self, patience_s: float, stop_now: asyncio.Event) -> None:
        """Send the queue within the time limit. Drop and count the rest."""
        self._ending.set()
        self._changed.set()
        if self._task is not None:
            hurried = asyncio.ensure_future(stop_now.wait())
            ends = (self._task, hurried)
            if self.waiting.first is not None:
                await asyncio.wait(ends, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
            await cancelled(*ends)
        self._thread.shutdown(wait=False, cancel_futures=True)
        self.drops.count(DropReason.STOPPED, self._waited)
        self.drops.log_now()

    @property
    def _waited(self) -> int:
        """The records that wait, without those of the batch being sent that are done."""
        sending = self._sending
        finished = len(sending.dead.rejection.violations) - sending.left if sending else 0
        return self.waiting.records - finished

    async def _run(self) -> None:
        while self._config.dead_letters is None and not self._ending.is_set():
            await self._wait_for_changes()
        await keep_conversing(self._connect_and_send, self._failed)

    async def _connect_and_send(self) -> None:
        """Send all batches, with one producer for each `upstream`."""
        is_finished = False
        while not is_finished:
            upstream = self._config.upstream
            # Not idempotent: after a rejection, the producer's sequence numbers would not be those that
            # brokers expect.
            async with connected_producer(
                upstream, self._tls, CLIENT_ID, acks="all", max_batch_size=2 * CHUNK_BYTES
            ) as producer:
                is_finished = await self._send_all(producer, upstream)

    def _failed(self, error: Exception) -> Pause:
        """The queue is kept, within its bounds."""
        self._trouble.failed(error, topic=self._topic)
        return Pause(RETRY_MS)

    async def _send_all(self, producer: AIOKafkaProducer, upstream: Upstream) -> bool:
        """Send until the queue is empty and the proxy stops (True), or the upstream has changed."""
        await self._find_topic(producer)
        while self._config.upstream == upstream:
            sending = self._sending = self._sending or self._next_batch()
            if sending is not None:
                await self._send_batch(producer, sending)
                self.drops.count(DropReason.UNREADABLE, sending.left)
                self._sending = None
                self.waiting.done()
            elif self._ending.is_set():
                return True
            else:
                self._changed.clear()
                await wait_at_most(POLL_INTERVAL_S, self._changed)
                await self._find_topic(producer)
        return False

    async def _find_topic(self, producer: AIOKafkaProducer) -> None:
        """Notice a missing topic before a copy does."""
        await partitions_of(producer, self._topic)
        if not self._has_failed_copy:
            self._trouble.over(topic=self._topic)

    def _next_batch(self) -> _Sending | None:
        dead = self.waiting.first
        if dead is None:
            return None
        chunks = chunks_of(dead, self._config.session_limits, self._privacy)
        return _Sending(dead, chunks, len(dead.rejection.violations))

    async def _send_batch(self, producer: AIOKafkaProducer, sending: _Sending) -> None:
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            if not sending.due:
                chunk = await loop.run_in_executor(self._thread, next, sending.chunks, None)
                if chunk is None:
                    return
                sending.due.append(chunk)
            await self._send(producer, sending)
            await wait_at_most(REST * (loop.time() - began), self._ending)

    async def _send(self, producer: AIOKafkaProducer, sending: _Sending) -> None:
        """Send the next chunk: it is accepted, dropped or split. Raises errors after which a retry makes
        sense."""
        records = sending.due[-1]
        try:
            accepted = await self._accepted(producer, records, sending.dead.partition)
        except Exception as error:
            self._has_failed_copy = True
            sending.rejections += _is_lasting(error)
            if sending.rejections < REJECTIONS:
                raise
            self.drops.count(DropReason.REJECTED, len(records))
        else:
            if accepted < len(records) and len(records) > 1:
                sending.split(records, max(1, accepted))
                return
            self.sent += accepted
            self.drops.count(DropReason.TOO_LARGE, len(records) - accepted)
            if accepted:
                self._has_failed_copy = False
                self._trouble.over(topic=self._topic)
        sending.finish(records)

    async def _accepted(
        self, producer: AIOKafkaProducer, records: Sequence[DeadLetterRecord], partition: int
    ) -> int:
        """Send the records. Returns their number, or the smaller number that may be sent together."""
        topic, loop = self._topic, asyncio.get_running_loop()  # a reload may name another one meanwhile
        partitions = await partitions_of(producer, topic)
        batch = producer.create_batch()
        packed = await loop.run_in_executor(self._thread, _packed, batch, records)
        if packed == len(records):
            try:
                sent = await producer.send_batch(batch, topic, partition=partition % partitions)
                await self._acknowledged(sent)
            except TOO_LARGE:
                return len(records) // 2
        return packed

    async def _acknowledged(self, future: "asyncio.Future[object]") -> None:
        """Wait for the answer, and log a line if this takes long. Raises the error that the answer holds."""
        future.add_done_callback(read_error)
        while not (await asyncio.wait([future], timeout=SEND_WARN_S))[0]:
            text = f"no broker has taken them for {SEND_WARN_S:g} s"
            self._trouble.failed(text, topic=self._topic)
        future.result()

    async def _wait_for_changes(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def warnings(self) -> list[str]:
        """The reason why copies cannot be sent now; empty if there is no problem."""
        if self._trouble.text is None or self._config.dead_letters is None:
            return []
        return [f"dead letters cannot be sent to the topic {self._topic}: {self._trouble.text}"]

    def collect(self) -> Iterable[Metric]:
        if self._config.dead_letters is None:
            return
        yield DEAD_LETTERS.counts(self.sent)
        lost = DEAD_LETTERS_LOST.counts()
        for loss, records in self.drops.counts.items():
            lost.add_metric([loss.value], records)
        yield lost
        yield DEAD_LETTERS_WAITING.levels(self.waiting.records)
        yield DEAD_LETTERS_UP.levels(self._trouble.is_up)


def _packed(batch: BatchBuilder, records: Sequence[DeadLetterRecord]) -> int:
    """The number of records that the batch takes. It takes any first record but one with too many headers."""
    packed = 0
    for record in records:
        if record.headers is None or not batch.append(
            timestamp=record.timestamp_ms, key=record.key, value=record.value, headers=record.headers
        ):
            break
        packed += 1
    batch.close()
    return packed


def _is_lasting(error: Exception) -> bool:
    """True if a retry of the same records will fail again: a broker rejects them, or our own code fails."""
    if isinstance(error, BrokerResponseError):
        return not error.retriable
    return not isinstance(error, KafkaError | OSError)


class Waiting:
    """A bounded queue. The first batch stays, and counts, until `done`."""

    def __init__(self) -> None:
        self.bytes = 0
        self.records = 0
        self._batches: deque[RejectedBatch] = deque()

    @property
    def first(self) -> RejectedBatch | None:
        return self._batches[0] if self._batches else None

    def put(self, batch: RejectedBatch, most_bytes: int, most_records: int) -> bool:
        """Add a batch. False if the queue is full."""
        size, records = len(batch.records), len(batch.rejection.violations)
        if self.bytes + size > most_bytes or self.records + records > most_records:
            return False
        self.bytes += size
        self.records += records
        self._batches.append(batch)
        return True

    def done(self) -> None:
        batch = self._batches.popleft()
        self.bytes -= len(batch.records)
        self.records -= len(batch.rejection.violations)
