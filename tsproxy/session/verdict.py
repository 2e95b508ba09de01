"""The verdict on one ProduceRequest: a `RequestVerdict` has a `PartitionVerdict` for each partition.

They say what was found. A `Judgement` says what is done about it. A slot keeps the verdict
until the broker has answered.
"""

from dataclasses import dataclass

from tsproxy.model.custom_rule import RuleAnswer
from tsproxy.model.kafka import is_unnamed
from tsproxy.model.outcome import Outcome, Peer, RejectedBatch
from tsproxy.model.policy import NO_TOPIC_POLICY, TopicPolicy
from tsproxy.model.produce import TopicKey, TopicProduceResponse
from tsproxy.model.records import BatchFacts
from tsproxy.model.verdict import Reject, TopicLimits, Verdict
from tsproxy.model.view import View
from tsproxy.policy.broker_reasons import Header
from tsproxy.wire.headers import RequestHeader
from tsproxy.wire.k00_produce import TOPIC_IDS_FROM


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The batch that is forwarded. `repair` says what was repaired, in the form of a rejection; None if
    nothing was repaired."""

    records: bytes
    repair: Reject | None


@dataclass(frozen=True, slots=True)
class PartitionVerdict:
    """The verdict on one partition's records, the facts of the records, and the limits and policy that were
    applied.

    `header` says why a broker may reject the first batch, since the bytes of that batch are not kept.
    `has_header_mismatch`: the first batch's maxTimestamp is not the maximum of its records. `would` is the
    rejection by a rule that only counts, and `would_rule` is the name of that rule."""

    topic: str
    partition: int
    batch: BatchFacts
    limits: TopicLimits | None
    verdict: Verdict
    header: Header = Header.RIGHT
    has_header_mismatch: bool = False
    policy: TopicPolicy = NO_TOPIC_POLICY
    would: Reject | None = None
    would_rule: str | None = None
    rewritten: Rewritten | None = None
    """The batch that is forwarded in place of the one that came."""
    dead: RejectedBatch | None = None
    """The batch, if it is rejected and its rule copies rejected batches."""
    failed: tuple[RuleAnswer, ...] = ()
    """The answers of custom rules that failed on the batch."""
    topic_id: bytes | None = None
    """The topic's id, if the request names topics by id."""
    needs_fresh_limits: bool = False
    """True if the batch is rejected or repaired, and would not be without the topic's own limits."""

    @property
    def topic_key(self) -> TopicKey:
        return self.topic_id or self.topic

    @property
    def is_bad(self) -> bool:
        """True if the batch is rejected, if a rule that only counts would reject it, or if its header does
        not fit its records."""
        return isinstance(self.verdict, Reject) or self.would is not None or self.has_header_mismatch

    @property
    def is_unnamed(self) -> bool:
        return is_unnamed(self.topic, self.topic_id)


@dataclass(frozen=True, slots=True)
class RequestVerdict:
    """The verdict on one request of `peer`, judged at `now_ms`: the partitions to forward, and the rejected
    ones, each in the request's order."""

    header: RequestHeader
    peer: Peer
    now_ms: int
    acks: int
    transactional_id: str | None
    forwarded: tuple[PartitionVerdict, ...]
    rejected: tuple[PartitionVerdict, ...]

    @property
    def unknown_topics(self) -> frozenset[str]:
        """The topics whose limits were unknown when they were judged."""
        partitions = (*self.forwarded, *self.rejected)
        return frozenset(p.topic for p in partitions if not (p.policy.is_known or p.is_unnamed))

    @property
    def unnamed_topics(self) -> tuple[bytes, ...]:
        """The ids of topics whose names were unknown when they were judged, in the request's order."""
        if self.header.api_version < TOPIC_IDS_FROM:
            return ()
        return tuple(dict.fromkeys(p.topic_id for p in self.rejected if p.topic_id and p.is_unnamed))


@dataclass(frozen=True, slots=True)
class Emit:
    """The effect that records the outcome of one batch in the decision log. It stands here, since a thread
    that judges a request makes these effects, too."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with all that follows from it. Everything that grows with the request is made where it is
    judged, so by a thread if it is large: 20,000 outcomes alone take the event loop 4 ms."""

    verdict: RequestVerdict
    to_broker: bytes | None
    """The frame to forward, or None."""
    answer: bytes
    """The whole answer without a throttle time, if nothing is forwarded and an answer is due."""
    rejected_topics: tuple[TopicProduceResponse, ...]
    """The answer for the rejected partitions, to be merged with the broker's."""
    outcomes: tuple[Emit, ...]
    """The outcomes of the rejected batches, as effects."""
    dead: tuple[RejectedBatch, ...]
    """The rejected batches whose rules copy rejected batches."""
    bad_topics: frozenset[str]
    """The topics with a bad batch."""
    needs_fresh: frozenset[str]
    """The topics whose own limits decided, so the judgement holds only if those of `view` are fresh."""
    view: View


@dataclass(frozen=True, slots=True)
class Malformed:
    """The bytes that a thread read are not a request; `text` says why."""

    text: str


Judged = Judgement | Malformed
"""The result for a request that is judged in a thread."""
