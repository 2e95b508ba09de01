"""The clients that play, and what each of them meets.

Each sends one record after the other to a topic of its own, and waits for each acknowledgement. So the
longest wait between two acknowledgements is how long the client was without service.
"""

import asyncio
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count, pairwise

from confluent_kafka import KafkaError, Producer

from tests.clients.families import FAMILIES, Family
from tests.clients.program import Program, ProgramError
from tsproxy.clock import Clock

PARTITIONS = 3
PAUSE_S = 0.05
"""Between two records of one client."""
SETTLED_S = 3.0
"""A client whose records are acknowledged for this long without a wait of a second has recovered."""
_BRIEF_S = 1.5
_TRIES = 3
_RECOVERY = "metadata.recovery.strategy"
_TRIGGER = {"metadata.recovery.rebootstrap.trigger.ms": "5000"}
_BACKOFF = {"reconnect.backoff.ms": "2000", "reconnect.backoff.max.ms": "2000"}
_YEAR_MS = 365 * 86_400_000


@dataclass(frozen=True)
class Player:
    """A family with the version of its jars, and its name in the tables."""

    name: str
    family: Family
    version: str
    is_tuned: bool = False
    """Whether it differs from another one only in how it finds new addresses, when all that it knows fail."""

    def __str__(self):
        return self.name


def players():
    """A client of each family whose tools are here, and the recovery strategies of those that have one."""
    newest, before = "4.4.0", "3.9.1"
    found = []
    for family in FAMILIES:
        if family.takes_minutes or family.name == "java-share" or not all(map(shutil.which, family.needs)):
            continue  # java-share sends with Java's producer
        if family.name == "java":
            found += [
                Player(f"Java {newest}", family, newest),
                Player(f"Java {newest}, trigger 5 s", _with(family, _TRIGGER), newest, is_tuned=True),
                Player(f"Java {newest}, backoff 2 s", _with(family, _BACKOFF), newest, is_tuned=True),
                Player(f"Java {newest}, `none`", _with(family, {_RECOVERY: "none"}), newest, is_tuned=True),
                Player(f"Java {before}, `rebootstrap`", _with(family, {_RECOVERY: "rebootstrap"}), before),
                Player(f"Java {before}, `none` (its default)", family, before, is_tuned=True),
            ]
        elif family.name == "librdkafka":
            found += [
                Player(family.name, family, newest),
                Player(f"{family.name}, trigger 5 s", _with(family, _TRIGGER), newest, is_tuned=True),
                Player(f"{family.name}, `none`", _with(family, {_RECOVERY: "none"}), newest, is_tuned=True),
            ]
        else:
            found.append(Player(family.name, family, newest))
    return found


def _with(family, words):
    return replace(family, words=lambda options, version: family.words(options, version) | words)


@dataclass(eq=False)
class Actor:
    """One player with its program, and the record of what it met."""

    player: Player
    program: Program
    topic: str
    acknowledged: dict[str, float] = field(default_factory=dict)
    """The values in order, each with the time of its acknowledgement (monotonic seconds)."""
    failed: list[str] = field(default_factory=list)
    """The client's words about records that it gave up."""
    unread: int = 0
    """The acknowledged records that its consumer has not read in the end."""
    _numbers: count = field(default_factory=count)

    async def open(self):
        await self._begin("connect")
        await self._begin("join", f"group.{self.topic}", self.topic)
        for _ in range(PARTITIONS):
            await self.send()
        await self.read()

    async def _begin(self, *words):
        """On a machine that is overloaded a client may meet its own timeouts here: a second for kafkajs."""
        for _ in range(_TRIES - 1):
            with suppress(ProgramError):
                await self.program.do(*words)
                return
        await self.program.do(*words)

    async def send(self):
        """One record. A record that the client gives up is its failure, not the rig's."""
        number = next(self._numbers)
        value = f"{number:06}"
        try:
            await self.program.do("produce", self.topic, number % PARTITIONS, value)
        except ProgramError as error:
            self.failed.append(str(error))
        else:
            self.acknowledged[value] = time.monotonic()
        await asyncio.sleep(PAUSE_S)

    async def send_until(self, is_over):
        while not is_over():
            await self.send()

    async def read(self):
        read = set(await self.program.do("poll", len(self.acknowledged)))
        self.unread = len(self.acknowledged.keys() - read)

    def longest_wait_s(self, since):
        """The longest time between two acknowledgements, from the last one before this moment on."""
        times = [at for at in self.acknowledged.values() if at >= since]
        before = [at for at in self.acknowledged.values() if at < since]
        every = before[-1:] + times
        return max((after - at for at, after in pairwise(every)), default=0.0)

    def has_settled(self):
        """Whether it is served without a wait just now."""
        now = time.monotonic()
        lately = [at for at in self.acknowledged.values() if at >= now - SETTLED_S]
        every = [now - SETTLED_S, *lately, now]
        return all(after - at <= _BRIEF_S for at, after in pairwise(every))


class Offender:
    """A producer whose records are a year ahead, all the time. None may be stored."""

    def __init__(self, options, topic):
        self.rejected = 0
        self.topic = topic
        self._options = options.librdkafka() | {"message.timeout.ms": "5000"}

    async def send_until(self, is_over):
        producer = Producer(self._options)
        while not is_over():
            ahead_ms = Clock().now_ms() + _YEAR_MS
            producer.produce(self.topic, b"ahead", timestamp=ahead_ms, on_delivery=self._told)
            producer.poll(0)
            await asyncio.sleep(PAUSE_S)
        assert await asyncio.to_thread(producer.flush, 60) == 0

    def _told(self, error, _):
        self.rejected += error is not None and error.code() == KafkaError.INVALID_TIMESTAMP
