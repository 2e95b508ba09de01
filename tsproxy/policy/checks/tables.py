"""The checks as tables, in a broker's order: `CHECKS`.

The first check that fails gives the answer, so the order decides which answer a client gets.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from tsproxy.policy.checks import batch, custom, record, request
from tsproxy.policy.checks.check import Check, any_time, left_to_the_broker


@dataclass(frozen=True)
class Tables:
    """The tables, and the parts of them that the judge and the fast path need."""

    partition: tuple[Check, ...]
    """Checks of a partition as a whole."""
    log: tuple[Check, ...]
    """Checks of each batch in turn, before the validator reads the first batch."""
    batches: tuple[Check, ...]
    """Checks of all batches of a partition at once."""
    conversion: tuple[Check, ...]
    """Checks of each batch in turn, if the broker converts messages of magic 0 and 1 (`is_converted`)."""
    validator: tuple[Check, ...]
    """Checks of each batch in turn."""

    @cached_property
    def of_the_proxy_about_a_partition(self) -> tuple[Check, ...]:
        """The checks of a partition, without the checks that are left to the broker."""
        return tuple(c for c in (*self.partition, *self.batches) if c.may_fail is not left_to_the_broker)

    @cached_property
    def of_the_proxy_about_a_batch(self) -> tuple[Check, ...]:
        checks = (*self.log, *self.conversion, *self.validator)
        return tuple(check for check in checks if check.may_fail is not left_to_the_broker)

    @cached_property
    def about_timestamps(self) -> tuple[Check, ...]:
        """The checks that a usual batch may fail."""
        checks = (*self.partition, *self.log, *self.batches, *self.conversion, *self.validator)
        return tuple(check for check in checks if check.bounds is not any_time)


CHECKS: Final = Tables(
    partition=(
        Check(request.records_are_there, may_fail=request.records_are_null, bounds=any_time),
        Check(request.one_batch_of_magic_2, may_fail=request.a_bit_is_set, bounds=any_time),
        Check(request.acks_are_known, may_fail=left_to_the_broker, bounds=any_time),
        Check(
            request.topic_is_not_of_brokers,
            may_fail=request.is_of_brokers,
            bounds=request.bounds_of_brokers,
        ),
    ),
    log=(
        Check(batch.base_offset_is_zero, may_fail=left_to_the_broker, bounds=any_time),
        Check(batch.size_is_allowed, may_fail=left_to_the_broker, bounds=any_time),
        Check(batch.crc_is_valid, may_fail=left_to_the_broker, bounds=any_time),
        Check(batch.codec_is_known, may_fail=left_to_the_broker, bounds=any_time),
    ),
    batches=(
        Check(batch.set_is_readable, may_fail=left_to_the_broker, bounds=any_time),
        Check(batch.one_batch_where_one_is_right, may_fail=left_to_the_broker, bounds=any_time),
    ),
    conversion=(Check(record.records_are_readable, may_fail=left_to_the_broker, bounds=any_time),),
    validator=(
        Check(batch.batch_is_valid, may_fail=left_to_the_broker, bounds=any_time),
        Check(batch.delete_horizon_is_unset, may_fail=batch.delete_horizon_is_set, bounds=any_time),
        Check(record.records_are_small_enough, may_fail=left_to_the_broker, bounds=any_time),
        Check(record.records_are_readable, may_fail=left_to_the_broker, bounds=any_time),
        Check(record.each_record_is_valid, may_fail=record.some_record_may_be_invalid, bounds=record.bounds),
        Check(custom.rules_are_kept, may_fail=custom.some_rule_may_reject, bounds=custom.bounds),
        Check(record.time_can_be_kept, may_fail=left_to_the_broker, bounds=any_time),
    ),
)
