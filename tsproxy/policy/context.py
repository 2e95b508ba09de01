"""Everything that a verdict depends on: `BatchContext`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from tsproxy.model.custom_rule import RuleAnswer, RuleContext, StreamTime
from tsproxy.model.outcome import Peer
from tsproxy.model.policy import TopicPolicy
from tsproxy.model.records import Culprits, Outside, RecordBatch, RecordFacts, Records, RecordSet, Suspects
from tsproxy.model.verdict import TopicLimits
from tsproxy.policy.custom_rules import consult


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The request that a batch came in, as far as a check depends on it. `now_ms` is the proxy's clock when
    the request was whole."""

    api_version: int
    acks: int
    has_transactional_id: bool
    now_ms: int
    peer: Peer


class BatchReader(Protocol):
    """Reads one batch, step by step: only a batch that is rejected, or would be, is read beyond its facts."""

    def crc_is_valid(self) -> bool: ...

    def read_records(self) -> Records:
        """The batch as columns."""
        ...

    def find_outside(self, lowest_ms: int, highest_ms: int, most: int) -> Outside:
        """The records outside these bounds, `most` of them listed, in a batch without a fault. It costs a
        hundredth of `read_records`."""
        ...

    def find_culprits(self, suspects: Suspects, most: int) -> Culprits | None:
        """Any other culprits, at the same cost; None if all records have to be read for that."""
        ...


class OtherBatches(Protocol):
    """The batches behind the first: below v3 a partition may hold any number of them, and a set may hold
    millions of bare messages. So those that no check rejects are skipped in native code."""

    def that_may_be_rejected(self) -> Iterator["BatchContext"]: ...

    def odd(self) -> Iterator["BatchContext"]:
        """Only those that are not bare messages, or are damaged."""
        ...

    def facts(self) -> Sequence[RecordFacts]:
        """The facts of them all."""
        ...


class _NoOthers:
    def that_may_be_rejected(self) -> Iterator["BatchContext"]:
        return iter(())

    odd = that_may_be_rejected

    def facts(self) -> Sequence[RecordFacts]:
        return ()


NO_OTHERS: Final = _NoOthers()


@dataclass(frozen=True, slots=True)
class BatchContext:
    """One batch as read, and what to judge it by. It is the first of its partition, and stands for the
    partition, unless it is a `later_batch` below v3.

    `facts` is None if the partition has no batch to read. `culprits_listed` bounds how many violations a
    rejection names; all are counted. `is_extended`: facts and records are those of KIP-228's other reading
    (`extended`), and the batch is forwarded only if it is rewritten.
    """

    request: RequestContext
    topic: str
    partition: int
    policy: TopicPolicy
    record_set: RecordSet
    reader: BatchReader
    facts: RecordFacts | None
    culprits_listed: int
    others: OtherBatches = NO_OTHERS
    later_batch: RecordBatch | None = None
    stream_time: StreamTime | None = None
    is_extended: bool = False
    _answers: list[RuleAnswer] = field(default_factory=list, repr=False, compare=False)
    """Kept from the first call of `answers_of_rules`; shared with what `listing` returns."""

    @property
    def batch(self) -> RecordBatch:
        return self.record_set.batches[0] if self.later_batch is None else self.later_batch

    @property
    def now_ms(self) -> int:
        return self.request.now_ms

    @property
    def limits(self) -> TopicLimits | None:
        """The limits in force. None if they are not known: the broker then judges timestamps alone."""
        return self.policy.limits

    @property
    def topic_partition(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def is_readable(self) -> bool:
        return self.facts is not None and self.facts.fault is None

    def answers_of_rules(self) -> Sequence[RuleAnswer]:
        """The answers of the custom rules, which are asked once; none about a batch that cannot be read."""
        rules = self.policy.custom_rules
        if rules and self.is_readable and not self._answers:
            peer = self.request.peer
            about = RuleContext(
                topic=self.topic,
                partition=self.partition,
                now_ms=self.now_ms,
                limits=self.limits,
                client_id=peer.client_id,
                principal=peer.principal,
                client_address=peer.client_address,
                client_software=peer.client_software,
                stream_time=self.stream_time,
            )
            times_ms = self.reader.read_records().timestamps_ms
            self._answers.extend(consult(rule, times_ms, about) for rule in rules)
        return self._answers

    def listing(self, most: int) -> "BatchContext":
        """The same with at most so many culprits listed."""
        return self if most == self.culprits_listed else replace(self, culprits_listed=most)

    def each_batch(self) -> Iterator["BatchContext"]:
        """This one and those behind it that may be rejected; none where the partition has no batch."""
        if self.record_set.batches:
            yield self
            yield from self.others.that_may_be_rejected()

    def each_odd_batch(self) -> Iterator["BatchContext"]:
        """This one and the odd ones behind it: those with which something else than a timestamp or a key may
        be wrong."""
        if self.record_set.batches:
            yield self
            yield from self.others.odd()

    @property
    def is_recompressed(self) -> bool:
        """True if the topic's `compression.type` makes the broker rewrite the batch."""
        return is_recompressed(self.batch.codec_id, self.limits)


def is_recompressed(codec_id: int, limits: TopicLimits | None) -> bool:
    """True if the broker compresses a batch of that codec anew, with the codec that the topic asks for."""
    return limits is not None and limits.codec is not None and limits.codec != codec_id
