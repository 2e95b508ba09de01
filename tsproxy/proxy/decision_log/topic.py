"""Sends the decision log to a Kafka topic as well: the same lines, at least once, each boot's in their order.

The lines are sent from the files, so that the topic never blocks anything and gets all lines even after an
outage (`unsent`). Each line is a record: the value is the JSON, the key is `proxy/boot`, the headers are
CloudEvents' (Kafka protocol binding 1.0, binary mode). The producer is idempotent and has connections of its
own.
"""

import asyncio
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

import orjson
from aiokafka import AIOKafkaProducer
from aiokafka.errors import ClusterAuthorizationFailedError, KafkaConnectionError

from tsproxy.cluster.conversation import Pause, keep_conversing
from tsproxy.cluster.kafka_producer import TOO_LARGE, connected_producer, partitions_of, read_error
from tsproxy.config.settings import Config, TopicSettings, Upstream
from tsproxy.log_events.catalogue import (
    DECISION_NOT_SENT,
    DECISION_TOPIC_FAILED,
    DECISION_TOPIC_RESUMED,
)
from tsproxy.proxy.daemon_threads import DaemonThreads
from tsproxy.proxy.decision_log.unsent import CHUNK_BYTES, Unsent
from tsproxy.proxy.notes import Trouble
from tsproxy.proxy.wait import cancelled, wait_at_most
from tsproxy.tls.contexts import CurrentTls

CLIENT_ID: Final = "tsproxy-decisions"
POLL_INTERVAL_S: Final = 1.0
SEND_WARN_S: Final = 5.0
RETRY_MS: Final = 2_000

Headers = list[tuple[str, bytes]]
P = ParamSpec("P")
T = TypeVar("T")


class DecisionTopic:
    """Sends lines to the topic. `name` is the boot's name in its files (`decision_folder.name_of`)."""

    def __init__(
        self, settings: TopicSettings, upstream: Upstream, tls: CurrentTls | None, directory: Path, name: str
    ) -> None:
        self.sent = 0
        self._begun_with = upstream
        """The upstream of the open connection."""
        self._directory = directory
        self._ending = asyncio.Event()
        self._most_bytes = CHUNK_BYTES
        """Lines sent together. It shrinks until the topic takes a batch of them."""
        self._name = name
        self._settings = settings
        self._task: asyncio.Task[None] | None = None
        self._thread = DaemonThreads(1, "decision-topic")
        """Reads lines, and stores positions: a disk that hangs must not block clients, nor the exit."""
        self._tls = tls
        self._trouble = Trouble(DECISION_TOPIC_FAILED, DECISION_TOPIC_RESUMED)
        self._unsent: list[Unsent] = []
        self._upstream = upstream

    @property
    def is_up(self) -> bool:
        return self._trouble.is_up

    def apply(self, config: Config) -> None:
        """A reload. The next connection uses the new user, token and addresses."""
        self._upstream = config.upstream

    def start(self, *, is_replacement: bool = False) -> None:
        """Begin to send. Raises OSError if the position cannot be stored in the folder. A replacement tries
        it again before each connection."""
        if not is_replacement:
            self._begin()
        sending = keep_conversing(self._connect_and_send, self._failed, self._ending)
        self._task = asyncio.get_running_loop().create_task(sending)

    def _begin(self) -> None:
        """Take what others have left, too. An attempt that fails can be repeated."""
        if not self._unsent:
            self._unsent.append(Unsent.begin(self._directory, self._name))
        self._store()  # first: a file of this process that was put back would be taken for another's
        self._unsent += Unsent.left_behind(self._directory)

    def _store(self) -> None:
        for unsent in self._unsent:
            unsent.store()

    async def stop(self, patience_s: float) -> bool:
        """Send the rest, after the files are closed. False if the next start has to send lines."""
        self._ending.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=patience_s)
            await cancelled(self._task)
        released = [asyncio.ensure_future(self._beside(unsent.release)) for unsent in self._unsent]
        if released:
            await asyncio.wait(released, timeout=POLL_INTERVAL_S)
        self._thread.shutdown(wait=False)
        return not self._unsent

    async def _beside(self, call: Callable[P, T], *args: P.args, **_: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *args)

    def warnings(self) -> list[str]:
        """The reasons why nothing can be sent now, or positions cannot be stored; empty if there is none."""
        problems = [unsent.problem for unsent in self._unsent]
        told = [f"the decision log cannot be written: {problem}" for problem in problems if problem]
        if self._trouble.text is not None:
            topic = self._settings.name
            told.append(f"the decision log cannot be sent to the topic {topic}: {self._trouble.text}")
        return told

    async def _connect_and_send(self) -> None:
        """Send all lines, with one producer for each `upstream`."""
        await self._beside(self._begin)
        is_finished = False
        while not is_finished:
            self._begun_with = self._upstream
            async with connected_producer(
                self._upstream,
                self._tls,
                CLIENT_ID,
                self._settings.bootstrap_servers,
                enable_idempotence=True,
                max_batch_size=CHUNK_BYTES,
            ) as producer:
                is_finished = await self._send_all(producer)

    def _failed(self, error: Exception) -> Pause | None:
        """The lines stay in the files and are sent later."""
        told: Exception | str = error
        if isinstance(error, ClusterAuthorizationFailedError):
            # An idempotent producer needs Write on a topic, or a right on the cluster. The error names that.
            told = f"{error}: needs Write on the topic"
        self._trouble.failed(told, topic=self._settings.name)
        return None if self._ending.is_set() else Pause(0, RETRY_MS)

    async def _send_all(self, producer: AIOKafkaProducer) -> bool:
        """Send until all lines are sent and the proxy stops (True), or the upstream has changed."""
        while self._unsent and self._upstream == self._begun_with:
            is_ending = self._ending.is_set()  # the files are closed then: what is read now is the rest
            chunks = [await self._send_chunk(producer, unsent) for unsent in self._unsent]
            await partitions_of(producer, self._settings.name)  # lines may be a minute apart
            self._trouble.over(topic=self._settings.name)
            if any(chunks):
                continue
            await self._beside(self._store)
            current, *others = self._unsent
            is_finished = is_ending and await self._beside(current.finish)
            left = [unsent for unsent in others if not await self._beside(unsent.finish)]
            self._unsent = [*([] if is_finished else [current]), *left]
            if is_ending:
                return True
            await wait_at_most(POLL_INTERVAL_S, self._ending)
        return not self._unsent

    async def _send_chunk(self, producer: AIOKafkaProducer, unsent: Unsent) -> bool:
        """Send some lines of one boot. False if there were none."""
        chunk = await self._beside(unsent.read, self._most_bytes)
        if chunk is None:
            return False
        acknowledgements = []
        for line in chunk.lines:
            try:
                key, headers = key_and_headers(line)
                sent = await producer.send(self._settings.name, line, key=key, headers=headers)
                sent.add_done_callback(read_error)
                acknowledgements.append(sent)
            except (*TOO_LARGE, ValueError) as error:  # ValueError: not a line of the log
                DECISION_NOT_SENT(error=type(error).__name__, bytes=len(line))
        try:
            await self._until_acknowledged(acknowledgements)
        except TOO_LARGE as error:
            if len(chunk.lines) > 1:  # sent again by a new connection: brokers do not skip sequence numbers
                self._most_bytes = sum(map(len, chunk.lines)) // 2
                raise
            DECISION_NOT_SENT(error=type(error).__name__, bytes=len(chunk.lines[0]))
            acknowledgements.clear()
        await self._beside(unsent.sent, chunk.after)
        self.sent += len(acknowledgements)
        return True

    async def _until_acknowledged(self, acknowledgements: list[asyncio.Future[object]]) -> None:
        """Wait for the answers without a time limit, and log a line if this takes long. An idempotent
        producer retries by itself, without duplicates: also for ever, at brokers of a former upstream."""
        waiting: Collection[asyncio.Future[object]] = acknowledgements
        while waiting:
            _, waiting = await asyncio.wait(waiting, timeout=SEND_WARN_S)
            if waiting:
                text = f"no broker has taken it for {SEND_WARN_S:g} s"
                self._trouble.failed(text, topic=self._settings.name)
                await self._beside(self._store)
                if self._upstream != self._begun_with:
                    raise KafkaConnectionError(text)
        await asyncio.gather(*acknowledgements)


def key_and_headers(line: bytes) -> tuple[bytes, Headers]:
    """The record's key and headers for a line of the log. Raises ValueError if `line` is no such line.

    The key keeps the lines of a boot together and in order. `ce_id` is unique within `ce_source`, as
    CloudEvents requires.
    """
    facts = orjson.loads(line)
    try:
        proxy, boot, seq = facts["proxy"], facts["boot"], facts["seq"]
        headers = {
            "ce_specversion": "1.0",
            "ce_type": f"tsproxy.{facts['event']}.v{facts['v']}",
            "ce_source": proxy,
            "ce_id": f"{boot}:{seq}",
            "ce_time": facts["ts"],
            "content-type": "application/json",
        }
        if "topic" in facts:
            headers["ce_subject"] = facts["topic"]
        return f"{proxy}/{boot}".encode(), [(name, value.encode()) for name, value in headers.items()]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("not a line of the decision log") from error
