"""The checks of a partition's records that a broker makes before the records come to the log.

Source: `KafkaApis.scala#handleProduceRequest`, `ProduceRequest.java#validateRecords`,
`ReplicaManager.scala`. Authorization, unknown topics and leadership stay with the broker.
"""

from typing import Final

from tsproxy.model.kafka import Codec, ErrorCode, TimestampType
from tsproxy.model.policy import TopicPolicy
from tsproxy.model.verdict import Reason, Reject
from tsproxy.policy.checks.check import ANY_TIME, FastPathBounds
from tsproxy.policy.checks.faults import reject_fault, reject_whole
from tsproxy.policy.context import BatchContext

ONE_BATCH_FROM: Final = 3
"""The first version whose requests hold exactly one batch of magic 2 for each partition."""

CODEC_READ_BELOW: Final = 7
"""Below this version a broker validates the codec, since zstd is not allowed in older versions."""


def is_read_whole(context: BatchContext) -> bool:
    """True if every batch was read. From v3 on only the first batch is read."""
    records = context.record_set
    return not records.fault and (context.request.api_version < ONE_BATCH_FROM or len(records.batches) == 1)


def is_left_to_the_broker(context: BatchContext) -> bool:
    """True for an unknown codec below v7. The validation of the codec's partition does not find it.

    A broker then rejects the whole request and stores nothing of it. But a broker only reads the codec if the
    partition exists and the client may write to it. Only the broker knows whether this is so.
    """
    if not ONE_BATCH_FROM <= context.request.api_version < CODEC_READ_BELOW or not context.record_set.batches:
        return False
    return context.batch.magic == 2 and context.batch.codec_id > Codec.ZSTD


def records_are_there(context: BatchContext) -> Reject | None:
    """The rejection of null records. A broker never answers a request with them, so the proxy sends 87
    (INVALID_RECORD), a broker's answer to a partition without a batch."""
    if not records_are_null(context):
        return None
    return reject_whole(ErrorCode.INVALID_RECORD, "The records of the partition are null")


def records_are_null(context: BatchContext) -> bool:
    return context.record_set.is_null


def one_batch_of_magic_2(context: BatchContext) -> Reject | None:
    """The checks of `ProduceRequest.validateRecords`, from v3 on."""
    record_set, version = context.record_set, context.request.api_version
    if version < ONE_BATCH_FROM:
        return None
    requests = f"Produce requests with version {version}"
    if not record_set.batches:
        if record_set.fault is not None:
            return reject_fault(record_set.fault, record_set.fault_value)
        return reject_whole(
            ErrorCode.INVALID_RECORD, f"{requests} must have at least one record batch per partition"
        )
    if context.batch.magic != 2:
        return reject_whole(
            ErrorCode.INVALID_RECORD,
            f"{requests} are only allowed to contain record batches with magic version 2",
            Reason.INVALID_MAGIC,
        )
    if version < CODEC_READ_BELOW and context.batch.codec_id == Codec.ZSTD:
        return reject_whole(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"{requests} are not allowed to use ZStandard compression"
        )
    if record_set.fault is not None:
        return reject_fault(record_set.fault, record_set.fault_value)
    if len(record_set.batches) > 1:
        return reject_whole(
            ErrorCode.INVALID_RECORD,
            f"{requests} are only allowed to contain exactly one record batch per partition",
        )
    return None


def a_bit_is_set(context: BatchContext) -> bool:
    """True if a batch has an attribute bit that no producer may set. The proxy rejects such a batch even if
    it comes after the only batch that is read."""
    batches = context.record_set.batches
    return any(b.timestamp_type is TimestampType.LOG_APPEND_TIME or b.has_delete_horizon for b in batches)


def acks_are_known(context: BatchContext) -> Reject | None:
    if context.request.acks in (-1, 0, 1):
        return None
    return reject_whole(ErrorCode.INVALID_REQUIRED_ACKS, f"acks={context.request.acks}")


def topic_is_not_of_brokers(context: BatchContext) -> Reject | None:
    """The rejection of a batch for a topic that only brokers write.

    A broker answers so to all clients but those whose client id is `__admin_client`. Any client may claim
    that id, and no tool of Kafka's uses it to produce, so the proxy makes no exception.
    """
    if not is_of_brokers(context):
        return None
    text = f"Cannot append to internal topic {context.topic}"
    return reject_whole(ErrorCode.INVALID_TOPIC_EXCEPTION, text, Reason.OTHER)


def is_of_brokers(context: BatchContext) -> bool:
    return context.policy.only_brokers_write


def bounds_of_brokers(policy: TopicPolicy) -> FastPathBounds | None:
    return None if policy.only_brokers_write else ANY_TIME
