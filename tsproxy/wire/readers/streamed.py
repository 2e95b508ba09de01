"""`Layout`: the answers that stream and may name brokers at their end, as steps of a walk over their bytes.

Source: `FetchResponse.json` (versions 16 to 18) and `ShareFetchResponse.json` (0 to 2) of Kafka 4.4.0. In
these versions everything of variable size has an unsigned varint before it. So a step skips a known
number of bytes and then reads one number. The native walk takes its steps from here.
"""

from enum import IntEnum
from typing import Final, NamedTuple


class Number(IntEnum):
    """The meaning of a step's number. BYTES: a size plus one, or 0 for null; so many bytes are skipped.
    ARRAY: a number of items plus one. NULLABLE: the same, or 0 for null. TAGS: a number of tagged fields,
    which are skipped."""

    BYTES = 0
    ARRAY = 1
    NULLABLE = 2
    TAGS = 3


class Step(NamedTuple):
    """`partner`: the last step of an array's items, and in that step the step of the array. Else it is 0."""

    skip: int
    number: Number
    partner: int = 0


class Layout(IntEnum):
    """An answer that streams. Its value is its place in `STEPS`."""

    FETCH = 0
    SHARE_FETCH_0 = 1
    SHARE_FETCH = 2


_FETCH: Final = (
    Step(4 + 4, Number.TAGS),  # size, correlation_id
    Step(4 + 2 + 4, Number.ARRAY, 7),  # throttle_time_ms, error_code, session_id; topics
    Step(16, Number.ARRAY, 6),  # topic_id; partitions
    Step(4 + 2 + 8 + 8 + 8, Number.NULLABLE, 4),  # partition_index, error_code, three offsets; transactions
    Step(8 + 8, Number.TAGS, 3),  # producer_id, first_offset
    Step(4, Number.BYTES),  # preferred_read_replica; records
    Step(0, Number.TAGS, 2),  # the partition ends
    Step(0, Number.TAGS, 1),  # the topic ends
)

_LOCK_TIMEOUT: Final = 2
"""The step that skips acquisition_lock_timeout_ms, which version 0 does not have."""

_SHARE_FETCH: Final = (
    Step(4 + 4, Number.TAGS),  # size, correlation_id
    Step(4 + 2, Number.BYTES),  # throttle_time_ms, error_code; error_message
    Step(4, Number.ARRAY, 11),  # acquisition_lock_timeout_ms; topics
    Step(16, Number.ARRAY, 10),  # topic_id; partitions
    Step(4 + 2, Number.BYTES),  # partition_index, error_code; error_message
    Step(2, Number.BYTES),  # acknowledge_error_code; acknowledge_error_message
    Step(4 + 4, Number.TAGS),  # leader_id, leader_epoch; the current leader ends
    Step(0, Number.BYTES),  # records
    Step(0, Number.ARRAY, 9),  # acquired records
    Step(8 + 8 + 2, Number.TAGS, 8),  # first_offset, last_offset, delivery_count
    Step(0, Number.TAGS, 3),  # the partition ends
    Step(0, Number.TAGS, 2),  # the topic ends
)

STEPS: Final[dict[Layout, tuple[Step, ...]]] = {
    Layout.FETCH: _FETCH,
    Layout.SHARE_FETCH_0: tuple(
        step._replace(skip=0) if place == _LOCK_TIMEOUT else step for place, step in enumerate(_SHARE_FETCH)
    ),
    Layout.SHARE_FETCH: _SHARE_FETCH,
}
"""The steps up to the tail."""

NO_TAIL: Final[dict[Layout, bytes]] = {
    Layout.FETCH: b"\x00",
    Layout.SHARE_FETCH_0: b"\x01\x00",
    Layout.SHARE_FETCH: b"\x01\x00",
}
"""The tail of an answer that names nothing: no tagged fields. ShareFetch has its nodes before them."""
