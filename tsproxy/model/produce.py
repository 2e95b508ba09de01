"""The Produce messages (`ProduceRequest.json`, `ProduceResponse.json`), versions 0 to 13.

From version 13 on a topic is named by its id alone (KIP-516). `name` is then the name that the reader was
given for the id.

`tags` are tagged-field sections (with their count), kept byte for byte. They are empty before the
flexible versions (9+). Field names are Kafka's. Timestamps are in ms.
"""

from dataclasses import dataclass

from tsproxy.model.kafka import ErrorCode
from tsproxy.model.verdict import RecordError

TopicKey = str | bytes
"""The key of a topic in one request and its answer: its name, or from version 13 on the 16 bytes of its id.
Two ids have the same name if a topic was deleted and created again."""


@dataclass(frozen=True, slots=True)
class PartitionProduceData:
    index: int
    records: memoryview | None
    tags: bytes = b""


@dataclass(frozen=True, slots=True)
class TopicProduceData:
    name: str
    partitions: tuple[PartitionProduceData, ...]
    tags: bytes = b""
    topic_id: bytes | None = None

    @property
    def key(self) -> TopicKey:
        return self.topic_id or self.name


@dataclass(frozen=True, slots=True)
class ProduceRequest:
    transactional_id: str | None
    acks: int
    timeout_ms: int
    topics: tuple[TopicProduceData, ...]
    tags: bytes = b""


@dataclass(frozen=True, slots=True)
class WrittenErrors:
    """`count` record errors, encoded for the version of the answer.

    `lowest_ms` and `highest_ms` span the timestamps in a broker's error texts, if the reader searched for
    them.
    """

    count: int
    data: bytes | memoryview
    lowest_ms: int | None = None
    highest_ms: int | None = None


@dataclass(frozen=True, slots=True)
class PartitionProduceResponse:
    """`record_errors` and `error_message` are sent from v8 on. `tags` holds CurrentLeader (v10+)."""

    index: int
    error_code: int = ErrorCode.NONE
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: tuple[RecordError, ...] = ()
    error_message: str | None = None
    tags: bytes = b""
    written_errors: WrittenErrors | None = None
    """If present, they are sent instead of `record_errors`. That field then has no error, or only the first
    ones."""

    @property
    def error_count(self) -> int:
        return self.written_errors.count if self.written_errors else len(self.record_errors)


@dataclass(frozen=True, slots=True)
class TopicProduceResponse:
    name: str
    partitions: tuple[PartitionProduceResponse, ...]
    tags: bytes = b""
    topic_id: bytes | None = None

    @property
    def key(self) -> TopicKey:
        return self.topic_id or self.name


@dataclass(frozen=True, slots=True)
class NodeEndpoint:
    """A broker's address in a Produce answer, from v10 on (KIP-951)."""

    node_id: int
    host: str
    port: int
    rack: str | None
    tags: bytes = b""


@dataclass(frozen=True, slots=True)
class ProduceResponse:
    """`node_endpoints` is the decoded top-level tag 0. `tags` are the other top-level tags."""

    topics: tuple[TopicProduceResponse, ...]
    throttle_time_ms: int = 0
    node_endpoints: tuple[NodeEndpoint, ...] | None = None
    tags: tuple[tuple[int, bytes], ...] = ()
