"""The verdict on each partition of one ProduceRequest: `judge_all`.

`policy` judges what each `Entry` holds; what a rule may write anew is judged again; what is let pass is
looked at by rules that only count.
"""

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from tsproxy.model.dead_letter import DeadBatch
from tsproxy.model.kafka import NO_TIMESTAMP, Codec
from tsproxy.model.own_rule import Consulted, StreamTime
from tsproxy.model.policy import CANDIDATE, NO_TOPIC_POLICY, Mode, TopicPolicy
from tsproxy.model.produce import ProduceRequest
from tsproxy.model.records import BatchFacts, Fault
from tsproxy.model.verdict import Reject, TopicLimits, Verdict
from tsproxy.model.view import View
from tsproxy.policy.broker_reasons import Header
from tsproxy.policy.candidate import judge_candidate
from tsproxy.policy.case import Case
from tsproxy.policy.faults import reject_fault
from tsproxy.policy.judge import ACCEPT, judge
from tsproxy.policy.stream_time import Advance, advanced
from tsproxy.policy.whole_request import reject_whole_request
from tsproxy.session.entries import Entry
from tsproxy.session.job import Work, in_one_go
from tsproxy.session.policies import Policies, of_anybody
from tsproxy.session.rewriting import Rewritten, rewritten
from tsproxy.wire import record_set
from tsproxy.wire.headers import RequestHeader

StreamTimesKnown = Mapping[tuple[str, int], StreamTime]
"""By topic and partition."""
NONE_KNOWN: Final[StreamTimesKnown] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Judged:
    """One partition's records with their verdict, and what it was judged by.

    `header` tells of the first batch, whose bytes are not kept, why a broker may reject it.
    `has_header_mismatch`: its maxTimestamp is not the records' maximum. `would` is why it would have
    been rejected where its rule did more than count, `would_rule` which.
    """

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
    """The batch that goes on in place of the one that came."""
    dead: DeadBatch | None = None
    """The batch, where its rule wants copies of what it rejects."""
    failed: tuple[Consulted, ...] = ()
    """Operators' own rules that could not say anything of it."""
    advance: Advance | None = None
    """What it does to its partition's stream time, where a rule asks for that, once it is accepted."""


def judge_all(
    header: RequestHeader,
    request: ProduceRequest,
    view: View,
    now_ms: int,
    policies: Policies | None = None,
    stream_times: StreamTimesKnown = NONE_KNOWN,
) -> list[Judged]:
    """All steps of `judging` in one go. Without `policies` what anybody's would be."""
    policies, work = policies or of_anybody(view), Work(view.limits)
    return in_one_go(judging(header, request, policies, now_ms, work, stream_times))


def judging(
    header: RequestHeader,
    request: ProduceRequest,
    policies: Policies,
    now_ms: int,
    work: Work,
    stream_times: StreamTimesKnown = NONE_KNOWN,
) -> Generator[None, None, list[Judged]]:
    """The verdict on each partition, in the request's order; one partition's share is a step. `policies`
    are the client's own, `stream_times` what is known of partitions whose rules ask for it.
    Raises DearError and StoppedError as `work` does.
    """
    view = policies.view
    entries: list[Entry] = []
    cases: list[Case] = []
    for topic, partition in ((each.name, part) for each in request.topics for part in each.partitions):
        entry = Entry(
            header,
            request,
            topic,
            partition,
            view,
            now_ms,
            work,
            policies.of(topic, now_ms),
            policies.peer,
            stream_time=stream_times.get((topic, partition.index)),
        )
        entries.append(entry)
        cases.append(entry.case())
        work.look()
        yield
    findings: list[_Finding] = []
    for entry, case, found in zip(entries, cases, _findings(cases, view), strict=True):
        is_rewritten = entry.may_be_rewritten(case.record_set)
        findings.append(_as_rewritten(entry, case, found) if is_rewritten else found)
        work.look()
        yield
    is_guilty = any(isinstance(found.verdict, Reject) for found in findings)
    whole = reject_whole_request(cases) if is_guilty else None
    judged: list[Judged] = []
    for entry, case, found in zip(entries, cases, findings, strict=True):
        judged.append(_judged(entry, case, found, whole or found.verdict))
        work.look()
        yield
    return judged


def _judged(entry: Entry, case: Case, found: "_Finding", verdict: Verdict) -> Judged:
    facts = _facts(entry.partition.records, case)
    return Judged(
        entry.topic,
        entry.partition.index,
        facts,
        case.limits,
        verdict,
        _header_of(entry.partition.records),
        _has_header_mismatch(case),
        case.policy,
        found.would,
        found.would_rule,
        found.rewritten,
        _dead(entry, case.policy, found.verdict, facts),
        tuple(each for each in case.consulted() if each.failure is not None),
        _advance(entry, case, found),
    )


def _dead(entry: Entry, policy: TopicPolicy, verdict: Verdict, facts: BatchFacts) -> DeadBatch | None:
    """`verdict` is the batch's own. A batch that is rejected because of another one has no culprits."""
    if not policy.dead_letters or not isinstance(verdict, Reject):
        return None
    return DeadBatch(
        now_ms=entry.now_ms,
        peer=entry.peer,
        topic=entry.topic,
        partition=entry.partition.index,
        rule=policy.rule,
        rejection=verdict,
        bad_records=facts.records if verdict.bad_records is None else verdict.bad_records,
        records=bytes(entry.partition.records or b"") if verdict.violations else b"",
    )


def _advance(entry: Entry, case: Case, found: "_Finding") -> Advance | None:
    """Of the times that go on, which are those put right where some are."""
    is_readable = case.facts is not None and case.facts.fault is None
    if not (case.policy.follows_stream_time and is_readable) or isinstance(found.verdict, Reject):
        return None
    if found.rewritten is not None:
        return advanced(found.rewritten.times_ms, entry.stream_time)
    return advanced(case.read_records().timestamps_ms, entry.stream_time)


@dataclass(frozen=True, slots=True)
class _Finding:
    verdict: Verdict
    would: Reject | None = None
    would_rule: str | None = None
    rewritten: Rewritten | None = None


EXAMPLES_KEPT: Final = 20
"""Of what is only counted: as many culprits as a decision lists, since its answer names none."""


def _findings(cases: list[Case], view: View) -> Iterator[_Finding]:
    """What is found of each case; `culprits_listed` bounds what one answer names, whatever it is made of."""
    listed = view.limits.culprits_listed
    for case in cases:
        policy = case.policy
        verdict: Verdict = ACCEPT
        if policy.mode is Mode.ENFORCE:
            verdict = judge(case if listed == case.culprits_listed else replace(case, culprits_listed=listed))
        if isinstance(verdict, Reject):
            listed -= len(verdict.violations)
            yield _Finding(verdict)
        elif policy.mode is Mode.OFF:
            yield _Finding(verdict)
        else:
            yield _only_counted(replace(case, culprits_listed=EXAMPLES_KEPT))


def _only_counted(case: Case) -> _Finding:
    """Forwarded whatever is found: by a rule in audit, or by the candidate."""
    if case.policy.mode is Mode.AUDIT:
        audited = judge(case)
        if isinstance(audited, Reject):
            return _Finding(ACCEPT, audited, case.policy.rule)
    by_candidate = judge_candidate(case)
    return _Finding(ACCEPT, by_candidate, CANDIDATE if by_candidate else None)


def _as_rewritten(entry: Entry, case: Case, found: _Finding) -> _Finding:
    """What becomes of a batch whose rule may write it anew; what it then is, is judged like any other."""

    def judge_again(records: memoryview) -> Verdict:
        again = replace(entry, partition=replace(entry.partition, records=records))
        return judge(again.case())

    result = rewritten(case, found.verdict, entry.view.limits, judge_again)
    if isinstance(result, Reject):
        return _Finding(result)
    if result is not None:
        return replace(found, verdict=ACCEPT, rewritten=result)
    if case.is_extended and not isinstance(found.verdict, Reject):  # never on with its bit
        return _Finding(reject_fault(Fault.MALFORMED_RECORD))
    return found


def _has_header_mismatch(case: Case) -> bool:
    """A broker's maximum begins at NO_TIMESTAMP: `LogValidator.java`."""
    facts = case.facts
    if facts is None or facts.fault is not None or case.batch.magic < 2 or case.is_extended:
        return False
    highest_ms = NO_TIMESTAMP if facts.highest_ms is None else max(facts.highest_ms, NO_TIMESTAMP)
    return case.batch.max_timestamp != highest_ms


def _header_of(data: memoryview | None) -> Header:
    return Header.of(record_set.read_header(bytes((data or b"")[: record_set.HEADER_SIZE])))


def _facts(data: memoryview | None, case: Case) -> BatchFacts:
    """The facts of the partition's first batch, its records and times those of all batches."""
    size = 0 if data is None else len(data)
    if not case.record_set.batches:
        return BatchFacts(2, Codec.NONE.name.lower(), size, 0, -1, -1, None, None)
    batch = case.batch
    facts = case.set_facts()
    return BatchFacts(
        magic=batch.magic,
        codec=batch.codec_name,
        batch_bytes=size,
        records=sum(one.records for one in facts),
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        min_timestamp_ms=min((one.lowest_ms for one in facts if one.lowest_ms is not None), default=None),
        max_timestamp_ms=max((one.highest_ms for one in facts if one.highest_ms is not None), default=None),
    )
