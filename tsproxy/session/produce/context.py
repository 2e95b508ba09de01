"""The records of one partition, opened for the judge: `PartitionReader`.

`wire` reads what `policy` judges, step by step: the facts that prove that a batch is acceptable are far
cheaper to read than the culprits of a batch that is not acceptable.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from tsproxy.model.kafka import Codec
from tsproxy.model.policy import TopicPolicy
from tsproxy.model.records import (
    Culprits,
    Fault,
    Outside,
    RecordBatch,
    RecordFacts,
    Records,
    RecordSet,
    Suspects,
)
from tsproxy.model.verdict import TopicLimits
from tsproxy.model.view import SessionLimits
from tsproxy.policy import extended
from tsproxy.policy.checks.request import ONE_BATCH_FROM
from tsproxy.policy.context import NO_OTHERS, BatchContext, RequestContext, is_recompressed
from tsproxy.session.job import A_BARE_MESSAGE, AN_ODD_BATCH, BYTES_A_RECORD, UNLIMITED, Work
from tsproxy.session.produce.bare_messages import BareMessages, odd_only, rejected_by_none
from tsproxy.wire import message_set, record_batch, record_set
from tsproxy.wire.compression import ZSTD_WINDOW
from tsproxy.wire.readers import Bounds

_SCANNED: Final = 2
"""From v3 on, a set has one batch. A second batch is an error, and it is not necessary to find more than
two."""


@dataclass(frozen=True, slots=True)
class PartitionReader:
    """Reads the records of one partition of a request. `limits` bound what is read."""

    request: RequestContext
    topic: str
    partition: int
    policy: TopicPolicy
    limits: SessionLimits
    work: Work

    def read(self, records: memoryview | None) -> BatchContext:
        scanned = record_set.scan(records, _SCANNED, to_the_end=self._may_be_many)
        return self._context_of(records, scanned)

    def read_own(self, records: memoryview) -> BatchContext:
        """The same for a batch that the proxy has written from one that it has read. The limits are about
        what clients send, and added headers or another compressor make more of it."""
        window = max(self.limits.zstd_window, ZSTD_WINDOW)
        limits = replace(self.limits, decompressed_batch=UNLIMITED, zstd_window=window)
        with self.work.taking_nothing():
            return replace(self, limits=limits).read(records)

    def unread(self, records: memoryview | None) -> BatchContext:
        """The same once the request is too dear: no batch is read."""
        return replace(self.read(records), others=NO_OTHERS)

    def by(self, policy: TopicPolicy, context: BatchContext) -> BatchContext:
        """The same batches for another policy. If its limits differ, custom rules, which see them, are asked
        again, and a record is read again if only a broker that compresses it anew may find it malformed."""
        others, limits = context.others, context.limits
        if isinstance(others, _Others):
            others = replace(others, reader=replace(self, policy=policy))
        context = replace(context, policy=policy, others=others)
        if policy.limits == limits:
            return context
        context = replace(context, _answers=[])
        if context.facts is None or context.facts.fault is not Fault.MALFORMED_RECORD:
            return context
        opened = _Opened(context.batch, policy.limits, self.limits, self.work, context.is_extended)
        return replace(context, reader=opened, facts=opened.facts())

    def may_rewrite(self, scanned: RecordSet) -> bool:
        """True if the rule rewrites batches and the set is one batch. A broker must reject a set of more. A
        tail is not written anew: brokers trim it."""
        return self.policy.rewrites and len(scanned.batches) == 1 and scanned.fault is None

    @property
    def _may_be_many(self) -> bool:
        return self.request.api_version < ONE_BATCH_FROM

    def _context_of(
        self, records: memoryview | None, scanned: RecordSet, later_batch: RecordBatch | None = None
    ) -> BatchContext:
        batch = later_batch or (scanned.batches[0] if scanned.batches else None)
        is_kip_228 = batch is not None and extended.is_kip_228(batch, self.policy)
        is_extended = is_kip_228 and self.may_rewrite(scanned)
        many = BareMessages(records, scanned) if self._may_be_many else None
        opened = _Opened(batch, self.policy.limits, self.limits, self.work, is_extended)
        return BatchContext(
            request=self.request,
            topic=self.topic,
            partition=self.partition,
            policy=self.policy,
            record_set=scanned,
            reader=opened,
            facts=opened.facts(),
            culprits_listed=self.limits.culprits_listed,
            others=_Others(self, records, scanned, many) if many else NO_OTHERS,
            later_batch=later_batch,
            is_extended=is_extended,
        )


@dataclass(frozen=True, slots=True)
class _Others:
    """The batches behind the first (`OtherBatches`)."""

    reader: PartitionReader
    records: memoryview | None
    scanned: RecordSet
    many: BareMessages

    def that_may_be_rejected(self) -> Iterator[BatchContext]:
        return self._contexts(rejected_by_none(self.reader.policy, self.reader.request.now_ms))

    def odd(self) -> Iterator[BatchContext]:
        return self._contexts(odd_only(self.reader.policy))

    def facts(self) -> list[RecordFacts]:
        return self.many.facts(self._facts_of_odd, self.reader.work)

    def _contexts(self, bounds: Bounds | None) -> Iterator[BatchContext]:
        cost = A_BARE_MESSAGE if bounds is None else AN_ODD_BATCH
        for one in self.many.others(bounds):
            self.reader.work.take_odd(cost)
            yield self.reader._context_of(self.records, self.scanned, one)
            if self.reader.work.is_spent:  # this batch was rejected for it, or a broker judges the rest
                return

    def _facts_of_odd(self, batch: RecordBatch) -> RecordFacts:
        work, reader = self.reader.work, self.reader
        work.take_odd()
        facts = _Opened(batch, reader.policy.limits, reader.limits, work).facts()
        assert facts is not None, "there is a batch"
        return facts


@dataclass(frozen=True, slots=True)
class _Opened:
    """One batch with the readers for its magic (`BatchReader`)."""

    batch: RecordBatch | None
    limits: TopicLimits | None
    bounds: SessionLimits
    work: Work
    is_extended: bool = False

    def facts(self) -> RecordFacts | None:
        facts = self._facts()
        if facts is None or facts.fault is not None or not self.is_extended:
            return facts
        return replace(extended.facts_of(self.read_records()), largest_record=facts.largest_record)

    def _facts(self) -> RecordFacts | None:
        batch = self.batch
        if batch is None:
            return None
        recompressed = is_recompressed(batch.codec_id, self.limits)
        is_compressed = batch.codec_id != Codec.NONE
        # It may take long, and give nothing that is charged.
        if is_compressed and not self.work.is_too_dear:
            self.work.look(len(batch.data) // BYTES_A_RECORD)

        def read(bounds: SessionLimits) -> RecordFacts:
            if batch.magic != 2:
                return message_set.read_facts(batch, bounds, self.work.charge)
            return record_batch.read_facts(batch, bounds, recompressed, self.work.charge)

        return self.work.within(self.bounds, read, is_compressed=is_compressed)

    def read_records(self) -> Records:
        assert self.batch is not None, "asked only for what was found"
        self.work.read_again(self.batch.records_count)
        self.work.charge_objects(max(0, self.batch.records_count))
        if self.batch.magic == 2:
            recompressed = is_recompressed(self.batch.codec_id, self.limits)
            records = record_batch.read_records(self.batch, self.bounds, recompressed, self.work.charge_again)
            return extended.as_kip_228(records, self.limits) if self.is_extended else records
        return message_set.read_messages(self.batch, self.bounds, self.work.charge_again)

    def find_culprits(self, suspects: Suspects, most: int) -> Culprits | None:
        if self.batch is None or self.batch.magic != 2 or self.is_extended:
            return None
        self.work.read_again(self.batch.records_count)
        again = self.work.charge_again
        culprits = record_batch.find_culprits(self.batch, self.bounds, suspects, most, again)
        self.work.charge_objects(len(culprits.positions))
        return culprits

    def find_outside(self, lowest_ms: int, highest_ms: int, most: int) -> Outside:
        assert self.batch is not None, "asked only for what was found"
        if self.batch.magic == 2 and not self.is_extended:
            self.work.read_again(self.batch.records_count)
            again = self.work.charge_again
            return record_batch.find_outside(self.batch, self.bounds, lowest_ms, highest_ms, most, again)
        records = self.read_records()
        return Outside.among(records.timestamps_ms, records.offset_deltas, lowest_ms, highest_ms, most)

    def crc_is_valid(self) -> bool:
        assert self.batch is not None, "asked only for what was found"
        if self.batch.magic == 2:
            return record_batch.crc_is_valid(self.batch)
        return message_set.crc_is_valid(self.batch)
