"""All that a verdict depends on, in one frozen value."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tsproxy.model.own_rule import Consulted
from tsproxy.model.policy import NO_TOPIC_POLICY, TopicPolicy
from tsproxy.model.records import Culprits, Outside, RecordBatch, RecordFacts, Records, RecordSet, Suspects
from tsproxy.model.verdict import Reject, TopicLimits


def _none_follow() -> Iterator["Case"]:
    return iter(())


@dataclass(frozen=True, slots=True)
class Case:
    """One partition's records as read, and what to judge them by.

    `facts` is None where the set has no batch to read. `limits` is None where they are not known:
    then times are left to the broker. `policy` is what they come from, and holds what an operator asks
    for beyond them; `consulted` is what operators' own rules say. `crc_is_valid`, `read_records`, which
    reads the batch as columns, and `find_outside` (lowest_ms, highest_ms, how many to list), which finds
    those outside in a batch without a fault and costs a hundredth, are asked only of what is rejected or
    would be. `find_culprits` (whom, how many to list) finds any others as cheaply; None where all records are
    to be read for that.
    `culprits_listed` bounds how many violations a rejection names; all are counted.

    `is_extended`: facts and records are those of KIP-228's other reading (`extended`), and the batch goes
    on only if it is written anew.

    Below v3 a partition may hold any number of batches: this case is about the first, and
    `following` gives a case for each of the others that may be rejected, `later_batch` being the batch it is
    about. Bare messages that no check here rejects are passed over natively: a set may hold millions. `odd`
    gives only those of them that are not bare, or damaged; `set_facts` what all batches come to.
    """

    api_version: int
    acks: int
    has_transactional_id: bool
    topic_partition: str
    record_set: RecordSet
    facts: RecordFacts | None
    limits: TopicLimits | None
    now_ms: int
    crc_is_valid: Callable[[], bool]
    read_records: Callable[[], Records]
    find_outside: Callable[[int, int, int], Outside]
    culprits_listed: int
    find_culprits: Callable[[Suspects, int], Culprits] | None = None
    later_batch: RecordBatch | None = None
    following: Callable[[], Iterator["Case"]] = _none_follow
    odd: Callable[[], Iterator["Case"]] = _none_follow
    set_facts: Callable[[], Sequence[RecordFacts]] = tuple
    policy: TopicPolicy = NO_TOPIC_POLICY
    consulted: Callable[[], Sequence[Consulted]] = lambda: ()
    is_extended: bool = False

    @property
    def batch(self) -> RecordBatch:
        return self.record_set.batches[0] if self.later_batch is None else self.later_batch

    def each_batch(self) -> Iterator["Case"]:
        """This case and the following ones; none where the set has no batch."""
        if self.record_set.batches:
            yield self
            yield from self.following()

    def each_odd_batch(self) -> Iterator["Case"]:
        """This case, and those of the following ones that something else than a time or a key may be wrong
        with; none where the set has no batch."""
        if self.record_set.batches:
            yield self
            yield from self.odd()

    @property
    def is_rebuilt(self) -> bool:
        """True where the topic's `compression.type` makes the broker write the batch anew."""
        return is_rebuilt(self.batch.codec_id, self.limits)


def is_rebuilt(codec_id: int, limits: TopicLimits | None) -> bool:
    """True where the broker writes a batch of that codec anew, in the one that the topic asks for."""
    return limits is not None and limits.codec is not None and limits.codec != codec_id


Check = Callable[[Case], Reject | None]
"""The broker's rejection, or None where the records pass."""
