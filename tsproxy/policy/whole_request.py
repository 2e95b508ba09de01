"""What makes a broker reject a request as a whole, every partition of it with one answer.

Source: `KafkaApis.scala#handleProduceRequest`, `RequestUtils.java#flag`,
`ReplicaManager.scala#handleProduceAppend`. Asked only where some partition is guilty: a request
without one goes on as it came, and the broker says all this itself. Were the rest sent on without
the guilty partition, what the whole was to be rejected for might be gone. A codec that nobody knows is not
among it: only the broker can tell whether it meets it (`request_checks.is_left_to_the_broker`).
"""

from collections.abc import Callable, Sequence
from typing import Final

from tsproxy.model.kafka import ErrorCode
from tsproxy.model.verdict import Reason, Reject
from tsproxy.policy.case import Case
from tsproxy.policy.faults import FAULTS, fault_text, reason_of_fault, reject_whole
from tsproxy.policy.request_checks import is_left_to_the_broker, one_batch_of_magic_2

PRODUCER_ID_END: Final = 51
"""Where a v2 batch's producer_id ends: a batch cut before it cannot be asked for one."""


def reject_whole_request(cases: Sequence[Case]) -> Reject | None:
    """The one answer for all partitions of a request, in its order; None where each gets its own."""
    sent = [case for case in cases if not case.record_set.is_null]
    return next((reject for step in STEPS if (reject := step(sent)) is not None), None)


def _transactional_id_is_there(cases: Sequence[Case]) -> Reject | None:
    """First batches are looked at in turn until one is transactional; one that cannot be read ends it."""
    for case in cases:
        found = case.record_set
        if not found.batches and found.fault is not None:
            return _unreadable(case)
        if found.batches and case.batch.is_transactional:
            if case.has_transactional_id:
                return None
            return reject_whole(
                ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                "A transactional batch in a request without transactional_id",
            )
    return None


def _one_producer(cases: Sequence[Case]) -> Reject | None:
    """All batches of what has passed validation are asked for their producer."""
    producers: set[tuple[int, int]] = set()
    for case in cases:
        if one_batch_of_magic_2(case) is not None or is_left_to_the_broker(case):
            continue
        for one in case.each_odd_batch():
            batch = one.batch
            if batch.magic == 2 and batch.size_in_bytes < PRODUCER_ID_END:
                return reject_whole(ErrorCode.UNKNOWN_SERVER_ERROR, "Record batch is shorter than its header")
            if batch.is_transactional and batch.has_producer_id:
                producers.add((batch.producer_id, batch.producer_epoch))
        if case.record_set.fault is not None:
            return _unreadable(case)
    if len(producers) > 1:
        text = "Transactional records contained more than one producer ID"
        return Reject(ErrorCode.INVALID_PRODUCER_ID_MAPPING, text, Reason.BAD_RECORD)
    return None


def _unreadable(case: Case) -> Reject:
    """Here, and only here, the broker sends the text as well."""
    fault = case.record_set.fault
    assert fault is not None
    text = fault_text(fault, case.record_set.fault_value)
    return Reject(FAULTS[fault][0], text, reason_of_fault(fault))


STEPS: Final[tuple[Callable[[Sequence[Case]], Reject | None], ...]] = (
    _transactional_id_is_there,
    _one_producer,
)
"""In the order in which a broker comes to them."""
