"""The checks of a request as a whole: if one fails, every partition gets the same answer.

Source: `KafkaApis.scala#handleProduceRequest`, `RequestUtils.java#flag`,
`ReplicaManager.scala#handleProduceAppend`. The proxy only makes these checks if it rejects some partition,
since the other partitions alone might pass a check that the whole request fails. Any other request is
forwarded unchanged, and the broker makes these checks itself. An unknown codec is not checked here, because
only the broker knows whether it would read that partition (`request.is_left_to_the_broker`).
"""

from collections.abc import Sequence
from typing import Final

from tsproxy.model.kafka import ErrorCode
from tsproxy.model.verdict import Reason, Reject
from tsproxy.policy.checks.faults import FAULTS, fault_text, reason_of_fault, reject_whole
from tsproxy.policy.checks.request import is_left_to_the_broker, one_batch_of_magic_2
from tsproxy.policy.context import BatchContext

PRODUCER_ID_END: Final = 51
"""The position where the producer_id of a v2 batch ends. A batch that ends before this position has no
producer_id."""

ONE_PRODUCER_FROM: Final = 10
"""The newest Produce of Kafka 3.7. (3.6 has the check, too, and the versions of 3.5, which has not.)"""
READS_ALL_FROM: Final = 11
"""The newest Produce of Kafka 3.8, in which a set that cannot be read fails the check for all partitions."""


def reject_whole_request(contexts: Sequence[BatchContext], offered: tuple[int, int] | None) -> Reject | None:
    """The common answer for all partitions of a request; None if each partition gets its own. `offered` are
    the brokers' versions of Produce; if they are not known, those of the newest Kafka count."""
    sent = [context for context in contexts if not context.record_set.is_null]
    newest = offered[1] if offered else READS_ALL_FROM
    reject = transactional_id_is_there(sent)
    if reject is None and newest >= ONE_PRODUCER_FROM:
        reject = one_producer(sent, reads_all=newest >= READS_ALL_FROM)
    return reject


def transactional_id_is_there(contexts: Sequence[BatchContext]) -> Reject | None:
    """The rejection of a transactional batch in a request without transactional_id. The first batch of each
    partition is checked in turn, until one is transactional or cannot be read."""
    for context in contexts:
        record_set = context.record_set
        if not record_set.batches and record_set.fault is not None:
            return _unreadable(context)
        if record_set.batches and context.batch.is_transactional:
            if context.request.has_transactional_id:
                return None
            return reject_whole(
                ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                "A transactional batch in a request without transactional_id",
            )
    return None


def one_producer(contexts: Sequence[BatchContext], *, reads_all: bool = True) -> Reject | None:
    """The rejection of transactional batches of several producers. All batches of the partitions that have
    passed validation count. With `reads_all`, each of them must be readable, and as long as
    its header."""
    producers: set[tuple[int, int]] = set()
    for context in contexts:
        if one_batch_of_magic_2(context) is not None or is_left_to_the_broker(context):
            continue
        for one in context.each_odd_batch():
            batch = one.batch
            is_short = batch.magic == 2 and batch.size_in_bytes < PRODUCER_ID_END
            if is_short and reads_all:
                return reject_whole(ErrorCode.UNKNOWN_SERVER_ERROR, "Record batch is shorter than its header")
            if not is_short and batch.is_transactional and batch.has_producer_id:
                producers.add((batch.producer_id, batch.producer_epoch))
        if reads_all and context.record_set.fault is not None:
            return _unreadable(context)
    if len(producers) > 1:
        text = "Transactional records contained more than one producer ID"
        return Reject(ErrorCode.INVALID_PRODUCER_ID_MAPPING, text, Reason.BAD_RECORD)
    return None


def _unreadable(context: BatchContext) -> Reject:
    """The rejection of a batch that cannot be read. Only for these checks, a broker sends the text as
    well."""
    fault = context.record_set.fault
    assert fault is not None
    text = fault_text(fault, context.record_set.fault_value)
    return Reject(FAULTS[fault][0], text, reason_of_fault(fault))
