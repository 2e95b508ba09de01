"""The slots of requests in flight: each says what is done with the answer. The slots wait in order.

Rules are synchronous, so a local answer is ready when its slot is made; the head of the queue is
always the request that the broker is answering now. That is why a FIFO is enough.
"""

from dataclasses import dataclass
from typing import Final, Self

from tsproxy.model.produce import TopicProduceResponse
from tsproxy.session.verdict import RequestVerdict
from tsproxy.wire.readers import Layout

SLOT_BYTES: Final = 100
"""Memory of a slot beside the bytes that it keeps. Measured: 65 to 80."""
_VERDICT_BYTES: Final = 512
"""Memory of the verdict on a request until the broker has answered, beside its partitions. Measured: 380."""
_PARTITION_BYTES: Final = 512
"""The same of each partition. Measured: 390, and up to 600 where allocations do not fit together."""


@dataclass(frozen=True, slots=True)
class PassThrough:
    """The answer is forwarded as it comes."""

    correlation_id: int


@dataclass(frozen=True, slots=True)
class BlankNodes:
    """Fetch from version 16 on, and ShareFetch: the answer is forwarded as it comes, except for its end,
    which may name brokers."""

    correlation_id: int
    layout: Layout


@dataclass(frozen=True, slots=True)
class Local:
    """The request is not forwarded: this frame is the answer."""

    answer: bytes


@dataclass(frozen=True, slots=True)
class RewriteAddresses:
    correlation_id: int
    api_key: int
    api_version: int


@dataclass(frozen=True, slots=True)
class MaskAddresses:
    """The answer may contain addresses that cannot be rewritten (`wire/masking.py`): they are left out."""

    correlation_id: int
    api_key: int
    api_version: int


@dataclass(frozen=True, slots=True)
class WatchTopics:
    """The answer may say that topics have changed (`wire/changed_topics.py`). It is forwarded as it came."""

    correlation_id: int
    api_key: int
    api_version: int


@dataclass(frozen=True, slots=True)
class NarrowVersions:
    """ApiVersions: offer only versions that tsproxy understands, and Produce up to `newest_produce`."""

    correlation_id: int
    api_version: int
    newest_produce: int


@dataclass(frozen=True, slots=True)
class WatchHandshake:
    correlation_id: int


@dataclass(frozen=True, slots=True)
class WatchToken:
    correlation_id: int
    api_version: int


@dataclass(frozen=True, slots=True)
class WatchRawToken:
    """A SASL token without header: its answer has no correlation id either."""


@dataclass(frozen=True, slots=True)
class BookProduce:
    """Produce: read the broker's answer, merge our rejections into it, and book the outcomes of the forwarded
    batches. `held_bytes` is the memory of the verdict, and of the texts of our rejections."""

    correlation_id: int
    verdict: RequestVerdict
    rejected_topics: tuple[TopicProduceResponse, ...] = ()
    """Our answer for the rejected partitions."""
    throttle_ms: int = 0
    """How long the client is throttled because of this request."""
    held_bytes: int = 0

    @classmethod
    def holding(
        cls, verdict: RequestVerdict, rejected_topics: tuple[TopicProduceResponse, ...], throttle_ms: int = 0
    ) -> Self:
        """The slot of a request that the session has judged."""
        partitions = len(verdict.forwarded) + len(verdict.rejected)
        written = (p.written_errors for topic in rejected_topics for p in topic.partitions)
        texts = sum(len(errors.data) for errors in written if errors is not None)
        held_bytes = _VERDICT_BYTES + partitions * _PARTITION_BYTES + texts
        return cls(verdict.header.correlation_id, verdict, rejected_topics, throttle_ms, held_bytes)


Held = (
    RewriteAddresses
    | MaskAddresses
    | WatchTopics
    | NarrowVersions
    | WatchHandshake
    | WatchToken
    | WatchRawToken
    | BookProduce
)
"""Slots whose answers are held until they are whole."""

Slot = PassThrough | BlankNodes | Local | Held
