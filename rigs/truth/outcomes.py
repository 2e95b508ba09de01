"""The table of outcomes: how each is provoked, and what log and report say of it.

The codes of Produce answers to a real client, and where each is tried ("changes" is `changes.py`,
"repetitions" `tests/e2e/cluster/test_truth_of_repetitions.py`):

    3 UNKNOWN_TOPIC_OR_PARTITION           changes: the topic is deleted
    10 MESSAGE_TOO_LARGE                   here: too-large-batch, too-large-record
    17 INVALID_TOPIC_EXCEPTION             here: INTERNAL
    19 NOT_ENOUGH_REPLICAS                 repetitions: a broker goes
    29 TOPIC_AUTHORIZATION_FAILED          changes: the right to write is taken away
    32 INVALID_TIMESTAMP                   here: rejected-here, rejected-there, limit-of-topic, dead-letters
    45 OUT_OF_ORDER_SEQUENCE_NUMBER        here: BEHIND_A_REJECTED_ONE
    47 INVALID_PRODUCER_EPOCH              changes: another producer takes the transactional id
    53 TRANSACTIONAL_ID_AUTHORIZATION_FAILED   changes: the right to the id is taken away
    87 INVALID_RECORD                      here: no-key
    100 UNKNOWN_TOPIC_ID                   changes: the topic is deleted, and the client names it by id

Clients in Go and JavaScript try 10 and 87 (`tests/clients/test_counts.py`).

By which code a broker answers while a leader is killed (6, 7, 20 or none) is chance. Not tried with clients:
56 KAFKA_STORAGE_ERROR (a disk that fails). Unit tests hold what is booked for a code
(`tests/session/test_produce.py`, `tests/model/test_sent_again.py`).

These clients cannot bring a broker to:

    2 CORRUPT_MESSAGE                      each computes the checksum
    21 INVALID_REQUIRED_ACKS               each rejects such a setting itself
    46 DUPLICATE_SEQUENCE_NUMBER           brokers answer a repetition with success
    48 INVALID_TXN_STATE, 120 TRANSACTION_ABORTABLE   a transaction that the broker ended is answered 47
    59 UNKNOWN_PRODUCER_ID                 no class of a 4.3.1 broker throws it
    76 UNSUPPORTED_COMPRESSION_TYPE        for zstd below Produce 7; each asks for a newer version
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tsproxy.testing.kafka_cluster import KafkaCluster

HOUR_MS = 3_600_000
RECORDS = 20
ANY_TIME = {"message.timestamp.after.max.ms": str(2**63 - 1)}
"""The broker stores any timestamp: only tsproxy keeps a wrong one out of such a topic."""

ACCEPTED, REPAIRED = "accepted", "repaired"
HERE, THERE = "rejected", "broker_rejected"
REJECTED = "rejected by either"
"""By the broker, until tsproxy knows the limits of the topic."""
OPEN, AGAIN = "unconfirmed", "sent again"


@dataclass(frozen=True)
class Row:
    """One outcome. The name of a topic begins with the name of its row."""

    said: dict
    """The counters: by client (`*`: each other one), pairs of how and by which code."""
    config: dict = field(default_factory=dict)
    ahead_ms: int = 0
    unit: int = 1
    """The times are in this unit: 1000 for microseconds."""
    every: int = 1
    """Each n-th record has such a time. The others are in order."""
    value_bytes: int = 300
    has_key: bool = True
    count: int = RECORDS
    would_reject: tuple = ()
    """The mode and the waiver with which the report lists all of the records as `would_reject`."""
    meanwhile: Callable[[KafkaCluster, str], Awaitable[None]] | None = None
    """The change to the topic between its first record and the others."""
    has_transaction: bool = False

    def is_about(self, number):
        """Whether the record is one of those with such a time."""
        return number % self.every == self.every - 1

    def record(self, number, now_ms, name=b"v"):
        """Key, value and time of one record. The value begins with `name` and is different for each."""
        time = (now_ms + self.ahead_ms) * self.unit if self.is_about(number) else now_ms
        value = (b"%s-%d-" % (name, number)).ljust(self.value_bytes, b"v")
        return (b"k%d" % number if self.has_key else None, value, time)

    def records(self, now_ms):
        return [self.record(number, now_ms) for number in range(self.count)]

    def said_of(self, client):
        return set(self.said.get(client, self.said.get("*", ())))

    def is_sent_again_for_ever(self, client):
        """Whether nobody but the client knows when it gives up: each of its tries is a repetition."""
        return self.meanwhile is not None and AGAIN in dict(self.said_of(client))


def each(*said):
    return {"*": set(said)}


SPLITS = {(AGAIN, 10), (ACCEPTED, 0)}
TABLE = {
    "fine": Row(each((ACCEPTED, 0))),
    "stamped": Row(each((ACCEPTED, 0)), {"message.timestamp.type": "LogAppendTime"}, ahead_ms=5 * HOUR_MS),
    "rejected-here": Row(each((HERE, 32)), ANY_TIME, ahead_ms=2 * HOUR_MS),
    "rejected-there": Row(
        each((THERE, 32)), {"message.timestamp.after.max.ms": str(HOUR_MS)}, ahead_ms=2 * HOUR_MS
    ),
    "limit-of-topic": Row(
        each((REJECTED, 32)), {"message.timestamp.after.max.ms": str(HOUR_MS)}, ahead_ms=2 * HOUR_MS
    ),
    "no-key": Row(each((REJECTED, 87)), {"cleanup.policy": "compact"}, has_key=False),
    "too-large-batch": Row(
        {
            "java": SPLITS,
            "kafka-python": SPLITS,
            "librdkafka": {(REJECTED, 10)},
            "aiokafka": {(OPEN, 10)},
        },
        {"max.message.bytes": "2000"},
    ),
    "too-large-record": Row(each((REJECTED, 10)), {"max.message.bytes": "2000"}, value_bytes=5_000, count=1),
    "repaired": Row(each((REPAIRED, 0)), ANY_TIME, unit=1_000),
    "dead-letters": Row(each((HERE, 32)), ANY_TIME, ahead_ms=2 * HOUR_MS, every=2),
    "waived": Row(
        each((ACCEPTED, 0)), ANY_TIME, ahead_ms=2 * HOUR_MS, would_reject=("audit", "until-repaired")
    ),
    "audited": Row(each((ACCEPTED, 0)), ANY_TIME, ahead_ms=2 * HOUR_MS, would_reject=("audit", None)),
}

LETTERS = "letters"
"""The topic of dead letters."""
POLICY = """
policy:
  rules:
    - { name: left-to-brokers, match: { topics: ["rejected-there-*"] }, mode: off }
    - { name: here, match: { topics: ["rejected-here-*"] }, message.timestamp.after.max.ms: 1h }
    - name: copied
      match: { topics: ["dead-letters-*"] }
      message.timestamp.after.max.ms: 1h
      dead_letters: yes
    - name: repaired
      match: { topics: ["repaired-*"] }
      message.timestamp.after.max.ms: 1h
      on_violation: repair
    - { name: waived, match: { topics: ["waived-*"] }, message.timestamp.after.max.ms: 1h }
    - name: audited
      match: { topics: ["audited-*"] }
      message.timestamp.after.max.ms: 1h
      mode: audit
  waivers:
    - name: until-repaired
      match: { topics: ["waived-*"] }
      until: 2199-12-01T00:00:00Z
      owner: shop
      reason: their clock is repaired next week
"""


BROKER_PORTS = 2
"""The ports for brokers. The default is 200, one of which another program of the run would often have."""


def config_of(kafka, login=""):
    """A configuration file with these rules. The proxy's own user logs in with `login`, if there is one."""
    admin = f", admin: {{ sasl: {login} }}" if login else ""
    return (
        f"upstream: {{ bootstrap_servers: ['{kafka.bootstrap_servers}']{admin} }}\n"
        f"listeners: [{{ bind: '127.0.0.1:0', brokers: {{ count: {BROKER_PORTS} }} }}]\n"
        f"{POLICY}dead_letters: {{ topic: {LETTERS}, unproven: copy }}\n"
        f"limits: {{ drain_timeout: {1 if login else 30}s }}\n"
    )
