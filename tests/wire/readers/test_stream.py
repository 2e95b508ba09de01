"""The walk in steps gives the facts of the walk in one, whatever the bytes and wherever they are cut."""

import itertools
from unittest.mock import ANY

from hypothesis import given
from hypothesis import strategies as st

from tests.wire.batches import record
from tests.wire.readers import reference
from tests.wire.readers.byte_strings import longs, plain_records
from tests.wire.readers.long_record import MIB, TIMESTAMP_DELTA_MS, fed_with
from tsproxy.model.records import Fault, RecordFacts
from tsproxy.wire import readers
from tsproxy.wire.readers import StreamWalker

NOW_MS = 1_790_000_000_000
ALL = st.just(list(range(2_000)))


def in_pieces(pieces, base_timestamp, count, lengths_must_fit):
    walking = StreamWalker(base_timestamp, count, lengths_must_fit)
    for piece in pieces:
        walking.feed(piece)
    return walking.finish()


@given(
    data=plain_records,
    base_timestamp=longs,
    count=st.integers(-1, 40) | st.sampled_from([-(2**31), 2**31 - 1]),
    lengths_must_fit=st.booleans(),
    cuts=st.lists(st.integers(0, 400), max_size=8) | st.lists(st.integers(0, 20_000), max_size=8) | ALL,
)
def test_any_pieces_give_the_facts_of_the_whole(data, base_timestamp, count, lengths_must_fit, cuts):
    at = [0, *sorted(cuts), max([len(data), *cuts])]
    pieces = [data[start:end] for start, end in itertools.pairwise(at)]
    whole = reference.walk(data, base_timestamp, count, lengths_must_fit)
    assert in_pieces(pieces, base_timestamp, count, lengths_must_fit) == whole
    views = [memoryview(piece) for piece in pieces]
    assert in_pieces(views, base_timestamp, count, lengths_must_fit) == whole


def test_a_batch_cut_anywhere_is_the_same_fault():
    whole = b"".join(record(i, i, b"key", b"value" * i, ((b"name", None),)) for i in range(30))
    assert readers.walk(whole, NOW_MS, 30, True).fault is None
    for end in range(len(whole)):
        facts = in_pieces((whole[: end // 2], whole[end // 2 : end]), NOW_MS, 30, True)
        assert facts == readers.walk(whole[:end], NOW_MS, 30, True)
        assert facts == reference.walk(whole[:end], NOW_MS, 30, True)
        assert facts.fault in (Fault.PREMATURE_END, Fault.MALFORMED_RECORD)


def test_nothing_of_a_long_record_is_kept():
    walking, time_ms = StreamWalker(NOW_MS, 1, True), NOW_MS + TIMESTAMP_DELTA_MS
    assert fed_with(walking) < MIB
    assert walking.finish() == RecordFacts(1, time_ms, time_ms, 0, largest_record=ANY)
