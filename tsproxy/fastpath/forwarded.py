"""Requests that the fast path forwarded, as values for the session."""

from dataclasses import dataclass

from tsproxy.model.outcome import Peer
from tsproxy.model.records import BatchFacts
from tsproxy.model.verdict import TopicLimits
from tsproxy.wire.readers.streamed import Layout


@dataclass(frozen=True, slots=True)
class ForwardedBatch:
    """One batch of a forwarded Produce request, and the limits that it keeps."""

    topic: str
    partition: int
    limits: TopicLimits | None
    batch: BatchFacts
    topic_id: bytes | None = None


@dataclass(frozen=True, slots=True)
class ForwardedProduce:
    """A Produce request that was forwarded as it came and is not answered yet."""

    correlation_id: int
    api_version: int
    acks: int
    now_ms: int
    peer: Peer
    transactional_id: str | None
    batches: tuple[ForwardedBatch, ...]


@dataclass(frozen=True, slots=True)
class ForwardedFetch:
    """A forwarded Fetch or ShareFetch. Its answer is forwarded as it comes, but for an end that may name
    brokers."""

    correlation_id: int
    layout: Layout


@dataclass(frozen=True, slots=True)
class ForwardedRelay:
    """Any other forwarded request. Its answer is forwarded as it comes."""

    correlation_id: int
