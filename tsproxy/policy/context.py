"""All facts that a verdict depends on: `BatchContext`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from tsproxy.model.custom_rule import RuleAnswer, RuleContext
from tsproxy.model.outcome import Peer
from tsproxy.model.policy import TopicPolicy
from tsproxy.model.records import Culprits, Outside, RecordBatch, RecordFacts, Records, RecordSet, Suspects
from tsproxy.model.verdict import TopicLimits
from tsproxy.policy.custom_rules import consult


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The facts of the batch's request that checks depend on.

    `now_ms` is the proxy's clock when the request was complete and its turn had come: a connection's requests
    are judged one after the other, as at a broker. While the request then waits for names, for limits or for
    a thread, this clock stands still. Without the proxy, the broker would have had the batch then. A good
    batch does not become too old because the proxy waits, and one too far ahead does not become good:
    otherwise it would matter whether limits were known. The broker that gets the batch judges it by its own
    clock anyway.
    """

    api_version: int
    acks: int
    has_transactional_id: bool
    now_ms: int
    peer: Peer


class BatchReader(Protocol):
    """Reads one batch in steps. A batch is read beyond its facts only if it is or would be rejected, or if
    its policy has custom rules or may rewrite it."""

    def crc_is_valid(self) -> bool: ...

    def read_records(self) -> Records:
        """The batch as columns."""
        ...

    def find_outside(self, lowest_ms: int, highest_ms: int, most: int) -> Outside:
        """The records outside these bounds in a batch without a fault. At most `most` of them are listed.
        This method takes a hundredth of the time of `read_records`."""
        ...

    def find_culprits(self, suspects: Suspects, most: int) -> Culprits | None:
        """The suspect records, in about the time of `find_outside`; None if only `read_records` can find
        them."""
        ...


class OtherBatches(Protocol):
    """The batches after the first one. Below v3 a partition may hold any number of them, and a set may hold
    millions of bare messages. So native code skips the messages that no check rejects."""

    def that_may_be_rejected(self) -> Iterator["BatchContext"]: ...

    def odd(self) -> Iterator["BatchContext"]:
        """Only the batches that are damaged, or are not bare messages."""
        ...

    def facts(self) -> Sequence[RecordFacts]:
        """The facts of all these batches."""
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
    """One batch and all facts that matter for its verdict. The batch is the first of its partition and
    represents the partition, unless it is a `later_batch` below v3.

    `facts` is None if the partition has no batch to read. A rejection lists at most `culprits_listed`
    violations, and counts all. With `is_extended`, facts and records are read as KIP-228 proposed
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
    is_extended: bool
    others: OtherBatches = NO_OTHERS
    later_batch: RecordBatch | None = None
    _answers: list[RuleAnswer] = field(default_factory=list, repr=False, compare=False)
    """The result of `answers_of_rules`. The contexts that `listing` returns share it."""

    @property
    def batch(self) -> RecordBatch:
        return self.record_set.batches[0] if self.later_batch is None else self.later_batch

    @property
    def now_ms(self) -> int:
        return self.request.now_ms

    @property
    def limits(self) -> TopicLimits | None:
        """The limits in force; None if they are not known. Then only the broker judges the range of
        timestamps."""
        return self.policy.limits

    @property
    def topic_partition(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def is_readable(self) -> bool:
        return self.facts is not None and self.facts.fault is None

    def answers_of_rules(self) -> Sequence[RuleAnswer]:
        """The answers of the custom rules, which are called once; none for a batch that cannot be read."""
        rules = self.policy.custom_rules
        if rules and self.is_readable and not self._answers:
            peer = self.request.peer
            context = RuleContext(
                topic=self.topic,
                partition=self.partition,
                now_ms=self.now_ms,
                limits=self.limits,
                client_id=peer.client_id,
                principal=peer.principal,
                client_address=peer.client_address,
                client_software=peer.client_software,
            )
            times_ms = self.reader.read_records().timestamps_ms
            self._answers.extend(consult(rule, times_ms, context) for rule in rules)
        return self._answers

    @property
    def failures(self) -> Sequence[RuleAnswer]:
        """The custom rules that were asked and failed. None is asked about a batch with another fault."""
        return [answer for answer in self._answers if answer.failure is not None]

    def listing(self, most: int) -> "BatchContext":
        """The same context, but with at most `most` culprits listed. There is no `dataclasses.replace`: each
        batch behind a rejected one in a request gets such a context, and it costs three times as much."""
        if most == self.culprits_listed:
            return self
        return BatchContext(
            request=self.request,
            topic=self.topic,
            partition=self.partition,
            policy=self.policy,
            record_set=self.record_set,
            reader=self.reader,
            facts=self.facts,
            culprits_listed=most,
            is_extended=self.is_extended,
            others=self.others,
            later_batch=self.later_batch,
            _answers=self._answers,
        )

    def each_batch(self) -> Iterator["BatchContext"]:
        """This batch and the later ones that may be rejected; none if the partition has no batch."""
        if self.record_set.batches:
            yield self
            yield from self.others.that_may_be_rejected()

    def each_odd_batch(self) -> Iterator["BatchContext"]:
        """This batch and the later odd ones, which may have other faults than a timestamp or a missing
        key."""
        if self.record_set.batches:
            yield self
            yield from self.others.odd()

    @property
    def is_recompressed(self) -> bool:
        """True if the broker rewrites the batch because of the topic's `compression.type`."""
        return is_recompressed(self.batch.codec_id, self.limits)


def is_recompressed(codec_id: int, limits: TopicLimits | None) -> bool:
    """True if the broker compresses a batch with this codec again, since the topic has another codec."""
    return limits is not None and limits.codec is not None and limits.codec != codec_id
