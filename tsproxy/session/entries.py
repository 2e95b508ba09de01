"""One partition's entry in a ProduceRequest, and all that it is judged by: `Entry`.

Here bytes meet rules: `wire` opens what `policy` judges, lazily, since what proves a batch innocent is far
cheaper to read than what tells its culprits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from typing import Final

from tsproxy.model.outcome import Peer
from tsproxy.model.own_rule import Consulted, OwnRule, RuleContext, StreamTime
from tsproxy.model.policy import TopicPolicy
from tsproxy.model.produce import PartitionProduceData, ProduceRequest
from tsproxy.model.records import Outside, RecordBatch, RecordFacts, Records, RecordSet
from tsproxy.model.verdict import TopicLimits
from tsproxy.model.view import SessionLimits, View
from tsproxy.policy import extended
from tsproxy.policy.case import Case, is_rebuilt
from tsproxy.policy.own_rules import consult
from tsproxy.policy.request_checks import ONE_BATCH_FROM
from tsproxy.session.policies import NOBODY, of_anybody
from tsproxy.session.purse import Purse
from tsproxy.wire import message_set, record_batch, record_set
from tsproxy.wire.headers import RequestHeader

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
    policy: TopicPolicy | None = None
    peer: Peer = NOBODY
    purse: Purse | None = None
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
        to refuse, and would be lost here."""
        if self.policy is None or not self.policy.rewrites:
            return False
        return len(found.batches) == 1 and found.batches[0].size_in_bytes == len(
            self.partition.records or b""
        )

    def _case_of(self, found: RecordSet, later_batch: RecordBatch | None = None) -> Case:
        batch = later_batch or (found.batches[0] if found.batches else None)
        policy = self.policy or of_anybody(self.view).of(self.topic, self.now_ms)
        is_extended = batch is not None and self.may_be_rewritten(found) and extended.is_meant(batch, policy)
        opened = _Opened(batch, policy.limits, self.view.limits, self.purse, is_extended)
        facts = opened.facts()
        is_readable = facts is not None and facts.fault is None

        def following() -> Iterator[Case]:
            if self._may_be_many and self.partition.records is not None:
                for later in islice(record_set.each_batch(self.partition.records), 1, None):
                    yield self._case_of(found, later)

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
            later_batch=later_batch,
            following=following,
            policy=policy,
            consulted=cache(partial(self._consult, policy.own if is_readable else (), policy, opened)),
            is_extended=is_extended,
        )

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
    purse: Purse | None
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
        if batch.magic != 2:
            return message_set.read_facts(batch, self.bounds)
        is_written_anew = is_rebuilt(batch.codec_id, self.limits)
        if self.purse is None:
            return record_batch.read_facts(batch, self.bounds, is_written_anew)
        return record_batch.read_facts(batch, self.bounds, is_written_anew, self.purse.spend)

    def records(self) -> Records:
        assert self.batch is not None, "asked only for what was found"
        if self.batch.magic == 2:
            is_written_anew = is_rebuilt(self.batch.codec_id, self.limits)
            found = record_batch.read_records(self.batch, self.bounds, is_written_anew)
            return extended.meant(found, self.limits) if self.is_extended else found
        return message_set.read_messages(self.batch, self.bounds)

    def find_outside(self, lowest_ms: int, highest_ms: int, most: int) -> Outside:
        assert self.batch is not None, "asked only for what was found"
        if self.batch.magic == 2 and not self.is_extended:
            return record_batch.find_outside(self.batch, self.bounds, lowest_ms, highest_ms, most)
        found = self.records()
        return Outside.among(found.timestamps_ms, found.offset_deltas, lowest_ms, highest_ms, most)

    def crc_is_valid(self) -> bool:
        assert self.batch is not None, "asked only for what was found"
        if self.batch.magic == 2:
            return record_batch.crc_is_valid(self.batch)
        return message_set.crc_is_valid(self.batch)
