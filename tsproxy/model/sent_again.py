"""`fate_of`: how a producer handles a batch that was answered with an error.

The table has the fates by error code. A code that is not in the table is a final rejection. Sources: Kafka's
`Errors` and `RetriableException` (a test checks the classes of several releases), and the code of its Java
producer (`Sender.completeBatch`, `TransactionManager.canRetry`).

    code                            fate       reason
    any RetriableException          SENT_AGAIN Sender.canRetry
    10 MESSAGE_TOO_LARGE            REJECTED   unless the batch can be split:
      a client that splits          SENT_AGAIN Java, and kafka-python from 3 on, send each half again
      a client that does not split  REJECTED   librdkafka and clients built on it fail each record
      any other client              OPEN       it does not name itself, or its behaviour is unknown
    45 OUT_OF_ORDER_SEQUENCE_NUMBER
      idempotent                    SENT_AGAIN producer renumbers the batch, or waits for the one before it
      transactional                 OPEN       the next in order fails; others are sent again, or aborted
    46 DUPLICATE_SEQUENCE_NUMBER    SENT_AGAIN the client counts it as success: the broker has the batch
    59 UNKNOWN_PRODUCER_ID
      idempotent                    SENT_AGAIN with a new epoch
      transactional                 OPEN       sent again only if the log was truncated meanwhile
"""

from enum import Enum, auto
from typing import Final

from tsproxy.model.kafka import ErrorCode
from tsproxy.model.records import BatchFacts

RETRIABLE: Final = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.LISTENER_NOT_FOUND,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        ErrorCode.ELECTION_NOT_NEEDED,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
        ErrorCode.SHARE_SESSION_NOT_FOUND,
        ErrorCode.INVALID_SHARE_SESSION_EPOCH,
        ErrorCode.SHARE_SESSION_LIMIT_REACHED,
    }
)
"""All codes whose exception is a RetriableException, the same from 3.9 to 4.4. The Java producer checks only
the class, so codes that no Produce answer should have are included."""

_BY_PRODUCER: Final = frozenset({ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID})

_SPLIT: Final = ("apache-kafka-java/",)
_DO_NOT_SPLIT: Final = ("librdkafka/", "confluent-kafka-")
_PYTHON: Final = "kafka-python/"
_PYTHON_SPLITS_FROM: Final = 3


class Fate(Enum):
    """How the client continues with the records of a batch that was answered with an error."""

    REJECTED = auto()
    """The client does not send them again."""
    SENT_AGAIN = auto()
    """The client sends them again by itself, or knows that the broker has them."""
    OPEN = auto()
    """The proxy cannot know which of the two the client does."""


def fate_of(
    error_code: int, batch: BatchFacts, transactional_id: str | None, client_software: str | None
) -> Fate:
    """The fate of a batch that was answered with `error_code`. `client_software` is `name/version` as the
    client reported it (KIP-511), or None."""
    if error_code in RETRIABLE or error_code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
        return Fate.SENT_AGAIN
    if error_code in _BY_PRODUCER:
        return Fate.SENT_AGAIN if transactional_id is None else Fate.OPEN
    if error_code == ErrorCode.MESSAGE_TOO_LARGE and _can_be_split(batch):
        return _of_too_large(client_software or "")
    return Fate.REJECTED


def _can_be_split(batch: BatchFacts) -> bool:
    """True for a batch of several records that is of magic 2 or compressed, as in `Sender.completeBatch`."""
    return batch.records > 1 and (batch.magic >= 2 or batch.codec != "none")


def _of_too_large(software: str) -> Fate:
    if software.startswith(_SPLIT):
        return Fate.SENT_AGAIN
    if software.startswith(_DO_NOT_SPLIT):
        return Fate.REJECTED
    if software.startswith(_PYTHON):
        major = software.removeprefix(_PYTHON).partition(".")[0]
        if major.isdecimal() and int(major) >= _PYTHON_SPLITS_FROM:
            return Fate.SENT_AGAIN
    return Fate.OPEN
