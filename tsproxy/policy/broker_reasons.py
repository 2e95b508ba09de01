"""Why a broker rejected a batch, according to its answer and the batch's header: `reason_of_answer`.

Brokers count such rejections by kind in metrics of their own (KIP-467). Their answers contain only the error
code. But a header that fails a broker's check fails the same check here.
"""

from enum import Enum, auto
from typing import Final, Self

from tsproxy.model.kafka import ErrorCode
from tsproxy.model.records import RecordBatch
from tsproxy.model.verdict import Reason, RecordError, TopicLimits
from tsproxy.policy.checks.batch import wrong_in_header
from tsproxy.policy.checks.request import ONE_BATCH_FROM

_TEXTS: Final = (
    ("Compacted topic cannot accept message without key", Reason.NO_KEY),
    ("Record ", Reason.INVALID_MAGIC),
)
"""The beginnings of the broker's texts for record errors that are not about timestamps, and their reasons."""

_NAMES_CULPRITS_FROM: Final = 8
"""From this version on an answer has a field for record errors. If the field is empty, there are no record
errors."""


class Header(Enum):
    """A reason why a broker may reject a batch for its header, or RIGHT."""

    RIGHT = auto()
    UNREADABLE = auto()
    OF_OLD_MAGIC = auto()
    WRONG_IN_OFFSET_OR_SEQUENCE = auto()

    @classmethod
    def of(cls, batch: RecordBatch | None) -> Self:
        """The state of a batch's header. `batch` is None if no batch could be read."""
        if batch is None:
            return cls.UNREADABLE
        if batch.magic != 2:
            return cls.OF_OLD_MAGIC
        if batch.base_offset != 0 or wrong_in_header(batch) is not None:
            return cls.WRONG_IN_OFFSET_OR_SEQUENCE
        return cls.RIGHT


def reason_of_answer(
    error_code: int,
    record_errors: tuple[RecordError, ...],
    header: Header,
    limits: TopicLimits | None,
    api_version: int,
) -> Reason:
    """The reason of a rejection that is not about timestamps."""
    if error_code == ErrorCode.CORRUPT_MESSAGE:
        return Reason.INVALID_MAGIC if header is Header.UNREADABLE else Reason.INVALID_CRC
    if error_code == ErrorCode.MESSAGE_TOO_LARGE:
        return Reason.BAD_RECORD
    if error_code != ErrorCode.INVALID_RECORD:
        return Reason.OTHER
    for error in record_errors:
        for start, reason in _TEXTS:
            if error.message is not None and error.message.startswith(start):
                return reason
    if header is Header.UNREADABLE:
        return Reason.BAD_RECORD
    if header is Header.OF_OLD_MAGIC:
        return Reason.INVALID_MAGIC if api_version >= ONE_BATCH_FROM else Reason.BAD_RECORD
    if header is Header.WRONG_IN_OFFSET_OR_SEQUENCE:
        return Reason.INVALID_OFFSET_OR_SEQUENCE
    if api_version < _NAMES_CULPRITS_FROM and limits is not None and limits.is_compacted:
        return Reason.NO_KEY
    return Reason.BAD_RECORD
