"""One partition's entry in a ProduceRequest, and all that it is judged by: `Entry`.

Here bytes meet rules: `wire` opens what `policy` judges, lazily, since what proves a batch innocent is far
cheaper to read than what tells its culprits.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

from tsproxy.model.kafka import Codec
from tsproxy.model.outcome import Peer
from tsproxy.model.own_rule import Consulted, OwnRule, RuleContext, StreamTime
from tsproxy.model.policy import TopicPolicy
from tsproxy.model.produce import PartitionProduceData, ProduceRequest
from tsproxy.model.records import (
    Culprits,
    Outside,
    RecordBatch,
    RecordFacts,
    Records,
    RecordSet,
    Suspects,
)
from tsproxy.model.verdict import TopicLimits
from tsproxy.model.view import SessionLimits, View
from tsproxy.policy import extended
from tsproxy.policy.case import Case, is_rebuilt
from tsproxy.policy.own_rules import consult
from tsproxy.policy.request_checks import ONE_BATCH_FROM
from tsproxy.session.bare_messages import BareMessages, odd_only, rejected_by_none
from tsproxy.session.job import Work
from tsproxy.session.policies import NOBODY, of_anybody
from tsproxy.wire import message_set, record_batch, record_set
from tsproxy.wire.headers import RequestHeader
from tsproxy.wire.readers import Bounds

_SCANNED: Final = 2
"""From v3 on one batch is right; a second one is wrong, and more need not be found."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One partition's entry in a request, and all that it is judged by."""

    header: RequestHeader
    request: ProduceRequest
    topic: str
    partition: PartitionProduceData
    view: View
    now_ms: int
    work: Work
    policy: TopicPolicy | None = None
    peer: Peer = NOBODY
    stream_time: StreamTime | None = None

    def case(self) -> Case:
        records = self.partition.records
        found = record_set.scan(records, _SCANNED, to_the_end=self._may_be_many)
        return self._case_of(found)

    @property
    def _may_be_many(self) -> bool:
        return self.header.api_version < ONE_BATCH_FROM

    def may_be_rewritten(self, found: RecordSet) -> bool:
        """Only where the one batch is all that there is: whatever else a client put beside it is the broker's
        to reject, and would be lost here."""
        if self.policy is None or not self.policy.rewrites:
            return False
        return len(found.batches) == 1 and found.batches[0].size_in_bytes == len(
            self.partition.records or b""
        )

    def _case_of(self, found: RecordSet, later_batch: RecordBatch | None = None) -> Case:
        batch = later_batch or (found.batches[0] if found.batches else None)
        policy = self.policy or of_anybody(self.view).of(self.topic, self.now_ms)
        is_extended = batch is not None and self.may_be_rewritten(found) and extended.is_meant(batch, policy)
        opened = _Opened(batch, policy.limits, self.view.limits, self.work, is_extended)
        facts = opened.facts()
        is_readable = facts is not None and facts.fault is None
        many = BareMessages(self.partition.records, found) if self._may_be_many else None
        bounds = rejected_by_none(policy, self.now_ms) if many else None

        def later(bounds: Bounds | None) -> Iterator[Case]:
            for one in () if many is None else many.others(bounds):
                self.work.take_odd()
                yield self._case_of(found, one)
                if self.work.is_spent:  # this one was rejected for it, or whatever follows is the broker's
                    return

        def set_facts() -> list[RecordFacts]:
            of_others = [] if many is None else many.facts(self._facts_of_odd(policy))
            return ([] if facts is None else [facts]) + of_others

        return Case(
            api_version=self.header.api_version,
            acks=self.request.acks,
            has_transactional_id=self.request.transactional_id is not None,
            topic_partition=f"{self.topic}-{self.partition.index}",
            record_set=found,
            facts=facts,
            limits=opened.limits,
            now_ms=self.now_ms,
            crc_is_valid=opened.crc_is_valid,
            read_records=opened.records,
            find_outside=opened.find_outside,
            culprits_listed=self.view.limits.culprits_listed,
            find_culprits=opened.find_culprits if opened.is_found_natively else None,
            later_batch=later_batch,
            following=lambda: later(bounds),
            odd=lambda: later(odd_only(policy)),
            set_facts=set_facts,
            policy=policy,
            consulted=cache(partial(self._consult, policy.own if is_readable else (), policy, opened)),
            is_extended=is_extended,
        )

    def _facts_of_odd(self, policy: TopicPolicy) -> Callable[[RecordBatch], RecordFacts]:
        """What a batch comes to that is not passed over."""

        def facts(batch: RecordBatch) -> RecordFacts:
            if self.work.is_spent:  # then it is counted, and not read
                return RecordFacts(max(0, batch.records_count), None, None, 0)
            self.work.take_odd()
            found = _Opened(batch, policy.limits, self.view.limits, self.work).facts()
            assert found is not None, "there is a batch"
            return found

        return facts

    def _consult(
        self, rules: tuple[OwnRule, ...], policy: TopicPolicy, opened: "_Opened"
    ) -> tuple[Consulted, ...]:
        if not rules:
            return ()
        peer = self.peer
        context = RuleContext(
            topic=self.topic,
            partition=self.partition.index,
            now_ms=self.now_ms,
            limits=policy.limits,
            client_id=peer.client_id,
            principal=peer.principal,
            client_address=peer.client_address,
            client_software=peer.client_software,
            stream_time=self.stream_time,
        )
        times_ms = opened.records().timestamps_ms
        return tuple(consult(own, times_ms, context) for own in rules)


@dataclass(frozen=True, slots=True)
class _Opened:
    """One batch with the readers for its magic."""

    batch: RecordBatch | None
    limits: TopicLimits | None
    bounds: SessionLimits
    work: Work
    is_extended: bool = False

    def facts(self) -> RecordFacts | None:
        found = self._facts()
        if found is None or found.fault is not None or not self.is_extended:
            return found
        return extended.facts_of(self.records())

    def _facts(self) -> RecordFacts | None:
        batch = self.batch
        if batch is None:
            return None
        is_written_anew = is_rebuilt(batch.codec_id, self.limits)

        def read(bounds: SessionLimits) -> RecordFacts:
            if batch.magic != 2:
                return message_set.read_facts(batch, bounds, self.work.spend)
            return record_batch.read_facts(batch, bounds, is_written_anew, self.work.spend)

        return self.work.within(self.bounds, read, is_compressed=batch.codec_id != Codec.NONE)

    def records(self) -> Records:
        assert self.batch is not None, "asked only for what was found"
        self.work.look(max(0, self.batch.records_count))
        if self.batch.magic == 2:
            is_written_anew = is_rebuilt(self.batch.codec_id, self.limits)
            found = record_batch.read_records(self.batch, self.bounds, is_written_anew, self.work.read_again)
            return extended.meant(found, self.limits) if self.is_extended else found
        return message_set.read_messages(self.batch, self.bounds, self.work.read_again)

    @property
    def is_found_natively(self) -> bool:
        return self.batch is not None and self.batch.magic == 2 and not self.is_extended

    def find_culprits(self, suspects: Suspects, most: int) -> Culprits:
        assert self.batch is not None, "asked only for what was found"
        self.work.look(max(0, self.batch.records_count))
        return record_batch.find_culprits(self.batch, self.bounds, suspects, most, self.work.read_again)

    def find_outside(self, lowest_ms: int, highest_ms: int, most: int) -> Outside:
        assert self.batch is not None, "asked only for what was found"
        if self.batch.magic == 2 and not self.is_extended:
            self.work.look(self.batch.records_count)
            again = self.work.read_again
            return record_batch.find_outside(self.batch, self.bounds, lowest_ms, highest_ms, most, again)
        found = self.records()
        return Outside.among(found.timestamps_ms, found.offset_deltas, lowest_ms, highest_ms, most)

    def crc_is_valid(self) -> bool:
        assert self.batch is not None, "asked only for what was found"
        if self.batch.magic == 2:
            return record_batch.crc_is_valid(self.batch)
        return message_set.crc_is_valid(self.batch)
