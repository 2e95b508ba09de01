"""Why one timestamp is taken or rejected: `explain`.

The judge itself is asked, about a batch of one record that holds the timestamp and is right otherwise.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from tsproxy.model.outcome import Peer
from tsproxy.model.own_rule import RuleContext, StreamTime
from tsproxy.model.policy import Mode, Policy, Rule, TopicPolicy, Waiver
from tsproxy.model.records import DELETE_HORIZON, Outside, RecordBatch, Records, RecordSet
from tsproxy.model.verdict import Reject, TopicLimits
from tsproxy.policy import extended
from tsproxy.policy.candidate import judge_candidate
from tsproxy.policy.case import Case
from tsproxy.policy.judge import judge
from tsproxy.policy.own_rules import consult
from tsproxy.policy.repair import repaired_times
from tsproxy.policy.resolve import active_waiver, first_rule, resolve
from tsproxy.policy.units import unit_hint


@dataclass(frozen=True, slots=True)
class Explanation:
    """`rejection` is what the limits in force say of the timestamp, whatever the mode makes of it;
    `candidate` what the candidate limits say of one that is let pass. `rule` is None where the topic's own
    limits decide, or it is an internal topic (`policy.rule` says which). `unit_hint` is there for
    whatever looks like another unit, let pass or not. `mended_ms` is the time that such
    a record gets where its rule puts it right; `is_extended`: it was read as KIP-228 would have had it."""

    policy: TopicPolicy
    rule: Rule | None
    waiver: Waiver | None
    rejection: Reject | None
    candidate: Reject | None
    unit_hint: str | None
    mended_ms: int | None = None
    is_extended: bool = False

    @property
    def is_forwarded(self) -> bool:
        is_rejected = self.rejection is not None and self.policy.mode is Mode.ENFORCE
        return not is_rejected or self.mended_ms is not None


def explain(
    policy: Policy,
    peer: Peer,
    topic: str,
    known: TopicLimits | None,
    on_kafka_4: TopicLimits | None,
    timestamp_ms: int,
    now_ms: int,
    has_bit_6: bool = False,
    stream_time: StreamTime | None = None,
) -> Explanation:
    """`known` are the topic's own limits, None where nobody knows them; as `resolve`. `has_bit_6`: the
    record's batch has that attribute bit set, and its rule may read it as KIP-228 would have had it.
    `stream_time` of the record's partition, for rules that ask for it."""
    found = resolve(policy, peer, topic, known, on_kafka_4, now_ms)
    context = RuleContext(
        topic=topic,
        partition=0,
        now_ms=now_ms,
        limits=found.limits,
        client_id=peer.client_id,
        principal=peer.principal,
        client_address=peer.client_address,
        client_software=peer.client_software,
        stream_time=stream_time,
    )

    def case_of(time_ms: int, attributes: int = 0) -> Case:
        case = _case(topic, found, time_ms, now_ms, attributes)
        times_ms = case.read_records().timestamps_ms
        consulted = tuple(consult(own, times_ms, context) for own in found.own)
        return replace(case, consulted=lambda: consulted)

    case = case_of(timestamp_ms, DELETE_HORIZON if has_bit_6 else 0)
    is_judged = found.mode is not Mode.OFF
    verdict = judge(case) if is_judged else None
    rejection = verdict if isinstance(verdict, Reject) else None
    candidate = judge_candidate(case) if is_judged and rejection is None else None
    return Explanation(
        policy=found,
        rule=first_rule(policy, peer, topic),
        waiver=active_waiver(policy, peer, topic, now_ms) if found.waiver else None,
        rejection=rejection,
        candidate=candidate,
        unit_hint=unit_hint(timestamp_ms, now_ms),
        mended_ms=_mended_ms(case, case_of),
        is_extended=case.is_extended,
    )


def _mended_ms(case: Case, case_of: Callable[[int], Case]) -> int | None:
    """None where the record stays as it is, or cannot be put right."""
    repair = repaired_times(case) if case.policy.rewrites else None
    if repair is None or not repair.changed:
        return None
    (mended_ms,) = repair.times_ms
    return None if isinstance(judge(case_of(mended_ms)), Reject) else mended_ms


def _case(topic: str, policy: TopicPolicy, timestamp_ms: int, now_ms: int, attributes: int) -> Case:
    batch, records = _batch(timestamp_ms, attributes), Records([timestamp_ms], [0], [1], [1])
    is_extended = extended.is_meant(batch, policy)
    if is_extended:
        records = extended.meant(records, policy.limits)
    return Case(
        api_version=9,
        acks=-1,
        has_transactional_id=False,
        topic_partition=f"{topic}-0",
        record_set=RecordSet(is_null=False, batches=(batch,)),
        facts=extended.facts_of(records),
        limits=policy.limits,
        now_ms=now_ms,
        crc_is_valid=lambda: True,
        read_records=lambda: records,
        find_outside=partial(Outside.among, records.timestamps_ms, [0]),
        culprits_listed=1,
        policy=policy,
        is_extended=is_extended,
    )


def _batch(timestamp_ms: int, attributes: int) -> RecordBatch:
    return RecordBatch(
        base_offset=0,
        size_in_bytes=70,
        magic=2,
        crc=0,
        attributes=attributes,
        last_offset_delta=0,
        base_timestamp=timestamp_ms,
        max_timestamp=timestamp_ms,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        records_count=1,
        data=memoryview(b""),
    )
