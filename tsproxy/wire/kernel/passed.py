"""What the kernel tells of requests that it let pass: the same values from both variants."""

from dataclasses import dataclass

from tsproxy.model.outcome import Peer
from tsproxy.model.records import BatchFacts
from tsproxy.model.verdict import TopicLimits


@dataclass(frozen=True, slots=True)
class PassedBatch:
    """One batch of a Produce request that went on as it came, and the limits it lies within."""

    topic: str
    partition: int
    limits: TopicLimits | None
    batch: BatchFacts


@dataclass(frozen=True, slots=True)
class PassedProduce:
    """A Produce request that went on as it came and is not answered yet."""

    correlation_id: int
    api_version: int
    acks: int
    now_ms: int
    peer: Peer
    transactional_id: str | None
    batches: tuple[PassedBatch, ...]


@dataclass(frozen=True, slots=True)
class PassedRelay:
    """A request of another API, whose answer streams."""

    correlation_id: int
