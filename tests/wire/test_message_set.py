"""Messages of magic 0 and 1 as columns: what a wrapper holds, and at which offsets.

No answer ever names these offsets: Produce below v8 has no room for texts. They stand in our own log.
"""

import pytest

from rigs.differential.dialects import GOOD
from rigs.differential.message_sets import Message, wrapper, write_message, write_messages
from tsproxy.model.kafka import NO_TIMESTAMP, Codec
from tsproxy.model.records import Fault, RecordBatch, RecordFacts, Records
from tsproxy.model.view import SessionLimits
from tsproxy.wire.message_set import read_facts, read_messages
from tsproxy.wire.record_set import scan

NOW_MS = 1_767_225_600_000


def batch_of(message: Message) -> RecordBatch:
    (found,) = scan(memoryview(write_message(message)), 2).batches
    return found


def records_of(message: Message, **limits: int) -> Records:
    return read_messages(batch_of(message), SessionLimits(**limits))


def inner(magic: int, *offsets: int) -> tuple[Message, ...]:
    return tuple(Message(magic, NOW_MS + at, offset=at) for at in offsets)


OFFSETS = {
    "relative to the wrapper's, which is the last one's": (wrapper(inner(1, 0, 1, 2), Codec.GZIP), [0, 1, 2]),
    "further on": (wrapper(inner(1, 0, 1, 2), Codec.GZIP, offset=9), [7, 8, 9]),
    "a wrapper at 0 stands for the last one": (wrapper(inner(1, 0, 1, 2), Codec.GZIP, offset=0), [0, 1, 2]),
    "relative, and not from 0": (wrapper(inner(1, 3, 4), Codec.GZIP, offset=9), [8, 9]),
    "absolute at magic 0": (wrapper(inner(0, 5, 6), Codec.GZIP, magic=0, offset=6), [5, 6]),
    "absolute at magic 0, whatever the wrapper's": (
        wrapper(inner(0, 5, 6), Codec.GZIP, magic=0, offset=0),
        [5, 6],
    ),
    "absolute at magic 0, below the wrapper's": (
        wrapper(inner(0, 0, 1), Codec.GZIP, magic=0, offset=9),
        [0, 1],
    ),
    "a bare message's own": (Message(1, NOW_MS, offset=4), [4]),
}


@pytest.mark.parametrize("name", OFFSETS)
def test_offsets_inside_a_wrapper_count_as_its_magic_says(name: str):
    message, offsets = OFFSETS[name]
    found = records_of(message)
    assert found.fault is None
    assert [message.offset + delta for delta in found.offset_deltas] == offsets


@pytest.mark.parametrize(("magic", "fault"), [(0, None), (1, Fault.WRAPPER_OFFSET)])
def test_a_wrapper_of_magic_1_cannot_stand_before_its_last_message(magic: int, fault: Fault | None):
    found = records_of(wrapper(inner(magic, 0, 1, 2), Codec.GZIP, magic=magic, offset=1))
    assert found.fault is fault


@pytest.mark.parametrize("magic", [0, 1])
def test_sizes_of_keys_and_values_are_told_apart(magic: int):
    kinds = ((b"key", b"value"), (None, b"value"), (b"key", None), (b"", b""), (None, None))
    messages = [Message(magic, NOW_MS, key, value, offset=at) for at, (key, value) in enumerate(kinds)]
    found = records_of(wrapper(tuple(messages), Codec.GZIP, magic=magic))
    assert list(found.key_sizes) == [3, -1, 3, 0, -1]
    assert list(found.value_sizes) == [5, 5, -1, 0, -1]


@pytest.mark.parametrize("magic", [0, 1])
def test_a_wrapper_may_have_a_key(magic: int):
    found = records_of(wrapper(inner(magic, 0, 1), Codec.GZIP, magic=magic, key=b"key"))
    assert (found.fault, len(found.timestamps_ms)) == (None, 2)


def test_a_wrapper_without_a_value_holds_nothing():
    assert records_of(wrapper(inner(1, 0), Codec.GZIP, value=None)).fault is Fault.NOTHING_INSIDE


@pytest.mark.parametrize("magic", [0, 1])
def test_a_message_that_ends_before_its_value_is_malformed(magic: int):
    """The smallest record that brokers read has 14 bytes, which is not enough for both sizes."""
    whole = write_message(Message(magic, NOW_MS))
    for size in range(26, len(whole) + 1):
        cut = whole[:8] + (size - 12).to_bytes(4) + whole[12:size]
        (message,) = scan(memoryview(cut), 2).batches
        found = read_messages(message, SessionLimits()).fault
        assert found is (None if size == len(whole) else Fault.MALFORMED_MESSAGE)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4], ids=lambda codec: codec.name)
def test_wrapped_messages_are_read_on_from_one_decompressed_piece_to_the_next(codec: Codec):
    large = tuple(Message(1, NOW_MS + at, value=bytes(90_000), offset=at) for at in range(3))
    found = records_of(wrapper(large, codec))
    assert (found.fault, list(found.timestamps_ms)) == (None, [NOW_MS, NOW_MS + 1, NOW_MS + 2])
    assert read_facts(batch_of(wrapper(large, codec)), SessionLimits()).highest_ms == NOW_MS + 2


TAILS = {
    "too short to be a message": (11, None),
    "long enough to tell its size": (12, Fault.INNER_SIZE_TOO_SMALL),
    "longer": (40, Fault.INNER_SIZE_TOO_SMALL),
}


@pytest.mark.parametrize("name", TAILS)
def test_zeros_behind_wrapped_messages_are_a_fault_where_they_tell_a_size(name: str):
    zeros, fault = TAILS[name]
    message = wrapper(inner(1, 0), Codec.GZIP, dialect=lambda data: gzipped(data + bytes(zeros)))
    assert records_of(message).fault is fault


def gzipped(data: bytes) -> bytes:
    return GOOD[Codec.GZIP][0](data)


@pytest.mark.parametrize(
    ("most", "fault"), [(3, None), (2, Fault.TOO_MANY_RECORDS), (1, Fault.TOO_MANY_RECORDS)]
)
def test_as_many_messages_as_are_allowed_may_be_wrapped(most: int, fault: Fault | None):
    assert records_of(wrapper(inner(1, 0, 1, 2), Codec.GZIP), records_per_batch=most).fault is fault


FACTS = {
    "times": (
        wrapper((Message(1, 5), Message(1, -1, offset=1), Message(1, 9, offset=2)), Codec.GZIP),
        RecordFacts(3, 5, 9, 1, None),
    ),
    "no times at magic 0": (
        wrapper(inner(0, 0, 1), Codec.GZIP, magic=0),
        RecordFacts(2, None, None, 2, None),
    ),
    "a bare message": (Message(1, 5), RecordFacts(1, 5, 5, 0, None)),
    "a bare message without a time": (Message(1, -1), RecordFacts(1, None, None, 1, None)),
    "a bare message of magic 0": (Message(0), RecordFacts(1, None, None, 1, None)),
    "nothing inside": (wrapper((), Codec.GZIP), RecordFacts(0, None, None, 0, Fault.NOTHING_INSIDE)),
    "a codec of no name": (
        Message(1, NOW_MS, attributes=5),
        RecordFacts(0, None, None, 0, Fault.UNKNOWN_CODEC),
    ),
    "zstd, which came later": (
        Message(1, NOW_MS, attributes=Codec.ZSTD),
        RecordFacts(0, None, None, 0, Fault.WRAPPER_CODEC),
    ),
}


@pytest.mark.parametrize("name", FACTS)
def test_the_facts_of_a_message_are_what_its_records_say(name: str):
    message, facts = FACTS[name]
    assert read_facts(batch_of(message), SessionLimits()) == facts


def test_the_time_of_each_message_is_its_own():
    message = wrapper((Message(1, 5), Message(1, 7, offset=1)), Codec.GZIP, timestamp_ms=99, attributes=0x08)
    assert list(records_of(message).timestamps_ms) == [5, 7]
    assert list(records_of(Message(0)).timestamps_ms) == [NO_TIMESTAMP]


def test_a_message_of_another_magic_is_foreign_and_not_read():
    mixed = (Message(1, 5), Message(0, offset=1), Message(1, 6, offset=2))
    found = records_of(wrapper(mixed, Codec.GZIP))
    assert (found.fault, found.foreign) == (None, frozenset({1}))
    assert (found.key_sizes[1], found.value_sizes[1]) == (-1, -1)


def test_an_incomplete_message_counts_for_nothing():
    cut = write_messages(inner(1, 0, 1))[:-1]
    message = Message(1, NOW_MS, None, gzipped(cut), attributes=Codec.GZIP, offset=5)
    found = records_of(message, records_per_batch=1)
    assert (found.fault, list(found.offset_deltas)) == (None, [0])
    assert read_facts(batch_of(message), SessionLimits()) == RecordFacts(1, NOW_MS, NOW_MS, 0, None)
