"""A hostile client: all that the table of authority gives into a client's hands, on the whole shell.

It sends what `tests.authority.attempts` make up (client ids, libraries, invented topics and ids, topics that
only brokers write, odd headers, tags, pieces), and garbage between. It shares its address with other clients,
connects when the others do, and breaks off like them. The invariants of the other clients hold beside it. Its
own broker sees nothing forbidden, and nothing before the login.
"""

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from random import Random

from aiokafka.errors import KafkaError
from aiokafka.record.memory_records import MemoryRecords

from rigs.simulated.client import Client
from rigs.simulated.history import BEFORE_LOGIN, LEAK, History
from rigs.simulated.requests import KNOWN, PLANTED, Asked, Batch, Kind
from rigs.simulated.violations import ViolationError
from tests.authority.inputs import INPUTS
from tests.authority.talk import NAMES as NAMES_BY_ID
from tests.planted import traces
from tests.session.conversation import DAY_MS, HOUR_MS, NOW_MS
from tests.session.messages import PRODUCE
from tsproxy.fastpath.adaptive import TRUSTED_AFTER
from tsproxy.model.kafka import TOPICS_OF_BROKERS
from tsproxy.wire import k00_produce
from tsproxy.wire.frames import SIZE_BYTES
from tsproxy.wire.headers import read_request_header
from tsproxy.wire.primitives import DecodeError
from tsproxy.wire.record_set import ATTRIBUTES_OFFSET

FIRST = 100
"""The number of a world's first hostile client."""

CLOCK_STEPS_MS = HOUR_MS // 4
"""A world's clock steps by less. So whatever is forbidden by this margin is forbidden at any moment."""

_CODEC_BITS = 0b111
_LOWEST_MS, _HIGHEST_MS = NOW_MS - DAY_MS - CLOCK_STEPS_MS, NOW_MS + HOUR_MS + CLOCK_STEPS_MS
_ATTEMPTS = [each.attempt for each in INPUTS if each.attempt is not None]


def _is_forbidden(topic: str, records: bytes) -> bool:
    """Whether no client may ever store this, read by aiokafka and without the product's own judge. A batch
    that aiokafka cannot read is the broker's business."""
    if topic in TOPICS_OF_BROKERS:
        return True
    if topic not in KNOWN:
        return False  # the proxy may not know its limits yet
    try:
        batch = MemoryRecords(records).next_batch()
        times_ms = [] if batch is None else [record.timestamp for record in batch]
    except (KafkaError, ValueError, OSError):
        return False
    return any(not _LOWEST_MS <= time_ms <= _HIGHEST_MS for time_ms in times_ms if time_ms != -1)


@dataclass
class OddHistory(History):
    """The events of a hostile connection. Nobody knows beforehand what it asks."""

    def forwarded(self, frame: bytes, enforced_since_s: float | None) -> Asked:
        payload = memoryview(frame)[SIZE_BYTES:]
        header = read_request_header(payload)
        one = Asked(frame, header.correlation_id, header.api_key, header.api_version)
        if self.must_log_in and not self.has_login and header.api_key not in BEFORE_LOGIN:
            raise ViolationError("forwarded_before_login", str(one))
        if header.api_key == PRODUCE:
            was_enforced = enforced_since_s is not None and (self.began_s or 0.0) >= enforced_since_s
            self._read_produce(one, payload, was_enforced)
        self.at_broker.append(one)
        return one

    must_log_in = False
    compressed: Counter[str] = field(default_factory=Counter)
    """How many compressed batches of each topic came to the broker."""
    began_s: float | None = None
    """When it sent its first byte."""

    def _read_produce(self, one: Asked, payload: memoryview, was_enforced: bool) -> None:
        header = read_request_header(payload)
        try:
            asked = k00_produce.read_request(one.api_version, payload[header.body_start :], names=NAMES_BY_ID)
        except DecodeError as error:
            raise ViolationError("forwarded_unreadable", str(error)) from None
        one.acks = asked.acks
        sent = [(topic.name, each) for topic in asked.topics for each in topic.partitions]
        for topic, data in sent:
            one.batches[topic, data.index] = Batch(b"", Kind.EITHER)
            records = bytes(data.records or b"")
            if was_enforced and not self._may_stay_unread(topic, records) and _is_forbidden(topic, records):
                raise ViolationError("forbidden_forwarded", f"{topic}-{data.index} of {one}")

    def _may_stay_unread(self, topic: str, records: bytes) -> bool:
        """Whether the proxy may leave this batch to the broker (`inspect.compressed: auto`): it and enough
        batches of its topic before are compressed."""
        if len(records) <= ATTRIBUTES_OFFSET + 1 or not records[ATTRIBUTES_OFFSET + 1] & _CODEC_BITS:
            return False
        self.compressed[topic] += 1
        return self.compressed[topic] > TRUSTED_AFTER

    def received(self, frame: bytes) -> None:
        if LEAK in frame:
            raise ViolationError("address_leaked", f"in an answer of {len(frame)} bytes")
        if found := traces(frame, PLANTED):
            raise ViolationError("secret_told", f"{found[0]}, in an answer")


class Adversary(Client):
    is_hostile = True

    def made_history(self, number: int) -> History:
        return OddHistory(number, "")

    def _script(self, number: int) -> bytes:
        stream, history = bytearray(), self.history
        history.must_log_in = self._world.needs_sasl
        self._logins = 0
        for n in range(self.draws.randint(1, 3)):
            attempt = self.draws.randrange(len(_ATTEMPTS))
            if self.draws.has(0.95, f"tries {n}: {_ATTEMPTS[attempt].__name__}"):
                stream += self.draws.choice(_steps(attempt, self.draws.randrange(200)))
            if self.draws.has(0.1, f"sends garbage {n}"):
                stream += self.draws.randbytes(self.draws.randint(1, 300))
        return bytes(stream)

    def _sends(self) -> None:
        if self.history.began_s is None:
            self.history.began_s = self._world.loop.now_s
        super()._sends()

    def _leaves(self) -> None:
        """It waits a while for answers that nobody owes it."""
        self._fault_at = -1
        self._world.loop.after(self.draws.choice((0.0, 0.1, 3.0)), super()._leaves)

    def broken(self) -> None:
        self._closes()


@cache
def _steps(attempt: int, seed: int) -> tuple[bytes, ...]:
    """The bytes of each connection of an attempt. They are kept, since worlds try them again and again."""
    steps = [bytearray()]
    for step in _ATTEMPTS[attempt](Random(f"{attempt}/{seed}")):
        if step:
            steps[-1] += step
        else:
            steps.append(bytearray())
    return tuple(map(bytes, filter(None, steps)))
