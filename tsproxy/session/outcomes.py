"""The outcome of each batch of one ProduceRequest: the facts that the decision log records.

The outcome of a batch that the proxy rejects is known at once. The outcome of a forwarded batch is known when
the broker's answer comes (`accepted`, `broker_rejected`). An outcome is `unconfirmed` when no answer will
come, or when the error leaves open whether the client sends the records again (`model.sent_again`).
"""

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from tsproxy.model.kafka import ABOUT_RECORDS, NO_TIMESTAMP, ErrorCode
from tsproxy.model.outcome import Culprit, CulpritColumns, Outcome, VerdictName
from tsproxy.model.policy import CANDIDATE, Mode
from tsproxy.model.produce import PartitionProduceResponse, ProduceResponse
from tsproxy.model.records import BatchFacts
from tsproxy.model.sent_again import Fate, fate_of
from tsproxy.model.verdict import Reason, Reject, ViolationColumns, reason_out_of_range
from tsproxy.policy.broker_reasons import reason_of_answer
from tsproxy.policy.units import guess_unit
from tsproxy.session.causes import causes_of
from tsproxy.session.verdict import PartitionVerdict, RequestVerdict
from tsproxy.wire import readers


def of_rejections(verdict: RequestVerdict) -> Iterator[Outcome]:
    for partition in verdict.rejected:
        rejection = partition.verdict
        assert isinstance(rejection, Reject)
        fate = _fate(verdict, partition, rejection.error_code)
        yield _outcome(
            verdict,
            partition,
            VerdictName.UNCONFIRMED if fate is Fate.OPEN else VerdictName.REJECTED,
            rule=partition.policy.rule,
            mode=partition.policy.mode,
            error_code=rejection.error_code,
            error_message=rejection.error_message or rejection.detail,
            **_why(verdict, partition, rejection),
            is_final=fate is not Fate.SENT_AGAIN,
        )


def _fate(verdict: RequestVerdict, partition: PartitionVerdict, error_code: int) -> Fate:
    if verdict.acks == 0:  # the client gets no code, and counts the batch as sent
        return Fate.REJECTED
    return fate_of(error_code, partition.batch, verdict.transactional_id, verdict.peer.client_software)


def unconfirmed(verdict: RequestVerdict) -> Iterator[Outcome]:
    """The outcomes of forwarded batches without an answer: acks=0, or the connection ended first."""
    for partition in verdict.forwarded:
        yield _maybe_repaired(verdict, partition, VerdictName.UNCONFIRMED)


def of_answer(verdict: RequestVerdict, response: ProduceResponse) -> Iterator[Outcome]:
    """The outcomes of the forwarded batches, as the broker answered."""
    answers = {(t.key, p.index): p for t in response.topics for p in t.partitions}
    for partition in verdict.forwarded:
        answered = answers.get((partition.topic_key, partition.partition))
        if answered is None:
            yield _maybe_repaired(verdict, partition, VerdictName.UNCONFIRMED)
        elif answered.error_code == ErrorCode.NONE:
            yield _accepted(verdict, partition)
        else:
            yield _broker_rejected(verdict, partition, answered)


def is_bad(outcome: Outcome) -> bool:
    """True if a broker rejected the batch for its records."""
    return outcome.error_code in ABOUT_RECORDS


def _accepted(verdict: RequestVerdict, partition: PartitionVerdict) -> Outcome:
    if partition.rewritten is not None and partition.rewritten.repair is not None:
        return _maybe_repaired(verdict, partition, VerdictName.REPAIRED)
    outcome = _outcome(verdict, partition, VerdictName.ACCEPTED)
    if partition.has_header_mismatch and not outcome.would_reject:
        return replace(outcome, reason=Reason.HEADER_MISMATCH)
    return outcome


def _maybe_repaired(verdict: RequestVerdict, partition: PartitionVerdict, name: VerdictName) -> Outcome:
    """The outcome of a forwarded batch. If it was repaired, the outcome says by which rule, and why."""
    outcome, rewritten = _outcome(verdict, partition, name), partition.rewritten
    if rewritten is None or rewritten.repair is None:
        return outcome
    # The fields have place for one reason: that of the repair.
    why = {**_why(verdict, partition, rewritten.repair), "would_reject": False, "waiver": None}
    return replace(outcome, rule=partition.policy.rule, mode=partition.policy.mode, **why)


_TIMESTAMP_TEXT: Final = re.compile(r"Timestamp (-?\d+) of message ")


def _broker_rejected(
    verdict: RequestVerdict, partition: PartitionVerdict, answered: PartitionProduceResponse
) -> Outcome:
    """The outcome of a batch that the broker rejected. Below v8, the answer names no culprits: all records
    count."""
    culprits = _culprits_named(answered)
    rejected_ms = next((c.timestamp_ms for c in culprits if c.timestamp_ms is not None), None)
    if rejected_ms is None and answered.error_code == ErrorCode.INVALID_TIMESTAMP:
        rejected_ms = _furthest_ms(partition.batch, verdict.now_ms)
    if rejected_ms is not None:
        reason = reason_out_of_range(rejected_ms, verdict.now_ms)
    else:
        reason = reason_of_answer(
            answered.error_code,
            answered.record_errors,
            partition.header,
            partition.limits,
            verdict.header.api_version,
        )
    fate = _fate(verdict, partition, answered.error_code)
    guess = None if rejected_ms is None else guess_unit(rejected_ms, verdict.now_ms)
    bad_records = answered.error_count or partition.batch.records
    is_of_time = answered.error_code == ErrorCode.INVALID_TIMESTAMP
    return replace(
        _outcome(verdict, partition, VerdictName.BROKER_REJECTED),
        verdict=VerdictName.UNCONFIRMED if fate is Fate.OPEN else VerdictName.BROKER_REJECTED,
        reason=reason,
        unit_guess=guess,
        error_code=answered.error_code,
        error_message=answered.error_message,
        culprits=culprits,
        bad_records=bad_records,
        causes=causes_of((reason, guess), culprits, (), bad_records, verdict.now_ms) if is_of_time else (),
        is_final=fate is not Fate.SENT_AGAIN,
    )


_AMONG_THE_REST: Final = -1
"""The index of a culprit that represents the culprits whose errors were not read. One such culprit has their
lowest timestamp, another has their highest."""


def _culprits_named(answered: PartitionProduceResponse) -> tuple[Culprit, ...]:
    """The culprits whose errors were read. After them come the lowest and the highest timestamp of the
    others."""
    read = [
        Culprit(e.batch_index, int(m[1]) if (m := _TIMESTAMP_TEXT.match(e.message or "")) else None)
        for e in answered.record_errors
    ]
    rest = answered.written_errors
    times_ms = (rest.lowest_ms, rest.highest_ms) if rest else ()
    return (*read, *(Culprit(_AMONG_THE_REST, time_ms) for time_ms in times_ms if time_ms is not None))


def _furthest_ms(batch: BatchFacts, now_ms: int) -> int | None:
    """The timestamp furthest from the clock: its record is the likeliest culprit if none is named. None for
    an unread batch: its header gave no reason to reject it."""
    lowest, highest = batch.min_timestamp_ms, batch.max_timestamp_ms
    if lowest is None or highest is None or batch.is_unread:
        return None
    return highest if highest - now_ms > now_ms - lowest else lowest


def _outcome(verdict: RequestVerdict, partition: PartitionVerdict, name: VerdictName, **why: Any) -> Outcome:
    """The outcome of one batch. `why` are more of its fields: to replace them afterwards would double the
    cost."""
    outcome = Outcome(
        now_ms=verdict.now_ms,
        peer=verdict.peer,
        api_version=verdict.header.api_version,
        correlation_id=verdict.header.correlation_id,
        acks=verdict.acks,
        transactional_id=verdict.transactional_id,
        topic=partition.topic,
        partition=partition.partition,
        batch=partition.batch,
        verdict=name,
        limits=partition.limits,
        limits_unknown=not partition.policy.is_known and partition.policy.mode is not Mode.OFF,
        request=verdict.header,
        **why,
    )
    # A broker's own reason comes before `would`, and so does a rejection by the proxy.
    if (
        partition.would is None
        or name is VerdictName.BROKER_REJECTED
        or isinstance(partition.verdict, Reject)
    ):
        return outcome
    would = partition.would
    return replace(
        outcome,
        rule=partition.would_rule,
        mode=partition.policy.mode,
        waiver=partition.policy.waiver if partition.would_rule != CANDIDATE else None,
        would_reject=True,
        **_why(verdict, partition, would),
    )


def _why(verdict: RequestVerdict, partition: PartitionVerdict, rejection: Reject) -> dict[str, Any]:
    """The fields of an outcome that say why."""
    culprits, bad_records = _culprits(rejection), _bad_records(partition, rejection)
    why = (rejection.reason, rejection.unit_guess)
    causes = causes_of(why, culprits, rejection.violations, bad_records, verdict.now_ms)
    return {
        "reason": why[0],
        "unit_guess": why[1],
        "culprits": culprits,
        "bad_records": bad_records,
        "causes": causes,
    }


def _culprits(rejection: Reject) -> Sequence[Culprit]:
    violations = rejection.violations
    if not isinstance(violations, ViolationColumns):
        return tuple(Culprit(violation.batch_index, violation.timestamp_ms) for violation in violations)
    positions, times_ms = violations.columns
    if not times_ms:
        return ()
    span = readers.span(times_ms) if isinstance(times_ms, array) else (min(times_ms), max(times_ms))
    if span[0] <= NO_TIMESTAMP <= span[1] and NO_TIMESTAMP in times_ms:
        return tuple(map(Culprit, positions, times_ms))
    return CulpritColumns(positions, times_ms, span)


def _bad_records(partition: PartitionVerdict, rejection: Reject) -> int:
    return partition.batch.records if rejection.bad_records is None else rejection.bad_records
