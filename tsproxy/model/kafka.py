"""Kafka's own constants and its 64-bit arithmetic.

Sources: the message schemas (`clients/src/main/resources/common/message`), `Errors.java`,
`RecordBatch.java`. Names are Kafka's.
"""

import re
from base64 import urlsafe_b64encode
from enum import IntEnum
from typing import Final

NO_TIMESTAMP: Final = -1
"""The timestamp that means "no timestamp" (KIP-32). Brokers never check its range."""

LONG_MAX: Final = 2**63 - 1
LONG_MIN: Final = -(2**63)


def wrap64(value: int) -> int:
    """`value` as Java's `long` holds it: the low 64 bits in two's complement."""
    return ((value + 2**63) & (2**64 - 1)) - 2**63


_TOPIC_NAME: Final = re.compile(r"(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,249}")


def is_topic_name(name: str) -> bool:
    """True if a topic may have this name (`Topic.java`). A client may send any other name, too."""
    return _TOPIC_NAME.fullmatch(name) is not None


def unnamed_topic(topic_id: bytes) -> str:
    """A text in place of the name, for a topic whose name is not known: `id:` and the id as Kafka writes it
    (`Uuid.toString`). No topic may have such a name."""
    return "id:" + urlsafe_b64encode(topic_id).decode().rstrip("=")


class ApiKey(IntEnum):
    """The API keys that tsproxy names in code (`ApiKeys.java`)."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    FIND_COORDINATOR = 10
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    SASL_AUTHENTICATE = 36
    INCREMENTAL_ALTER_CONFIGS = 44
    DESCRIBE_QUORUM = 55
    DESCRIBE_CLUSTER = 60
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79


class ErrorCode(IntEnum):
    """The error codes that tsproxy reads or sends, and those after which clients send records again
    (`Errors.java`)."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    REPLICA_NOT_AVAILABLE = 9
    MESSAGE_TOO_LARGE = 10
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    TOPIC_AUTHORIZATION_FAILED = 29
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    KAFKA_STORAGE_ERROR = 56
    SASL_AUTHENTICATION_FAILED = 58
    UNKNOWN_PRODUCER_ID = 59
    FETCH_SESSION_ID_NOT_FOUND = 70
    INVALID_FETCH_SESSION_EPOCH = 71
    LISTENER_NOT_FOUND = 72
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    OFFSET_NOT_AVAILABLE = 78
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    THROTTLING_QUOTA_EXCEEDED = 89
    UNKNOWN_TOPIC_ID = 100
    INCONSISTENT_TOPIC_ID = 103
    TRANSACTIONAL_ID_NOT_FOUND = 105
    FETCH_SESSION_TOPIC_ID_ERROR = 106
    SHARE_SESSION_NOT_FOUND = 122
    INVALID_SHARE_SESSION_EPOCH = 123
    SHARE_SESSION_LIMIT_REACHED = 133


class TimestampType(IntEnum):
    """Attribute bit 3 of a batch, and the topic's `message.timestamp.type`."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1

    @property
    def config_value(self) -> str:
        """The value of `message.timestamp.type`."""
        return "CreateTime" if self is TimestampType.CREATE_TIME else "LogAppendTime"

    @classmethod
    def parse(cls, config_value: str) -> "TimestampType":
        """The type with this `config_value`. Raises KeyError if there is none."""
        return {each.config_value: each for each in cls}[config_value]


class Codec(IntEnum):
    """Attribute bits 0-2 of a batch. 5, 6 and 7 name no codec."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4
