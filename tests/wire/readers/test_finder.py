"""Records that are suspect are found piece by piece: those that the columns say, and nothing is kept."""

import itertools

from hypothesis import example, given
from hypothesis import strategies as st

from tests.wire.batches import record
from tests.wire.readers import reference
from tests.wire.readers.byte_strings import longs, plain_records
from tests.wire.readers.long_record import MIB, TIMESTAMP_DELTA_MS, VALUE_BYTES, fed_with
from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.records import Suspects
from tsproxy.model.verdict import TopicLimits
from tsproxy.policy import timestamps
from tsproxy.wire import readers

NOW_MS = 1_790_000_000_000

suspects = st.builds(
    Suspects,
    lowest_ms=longs,
    highest_ms=longs,
    clock=st.none()
    | st.tuples(st.just(NOW_MS) | longs.filter(lambda now: now >= 0), longs, longs, st.booleans()),
    needs_key=st.booleans(),
    is_each=st.booleans(),
    is_missing=st.booleans(),
    is_zero=st.booleans(),
    is_negative=st.booleans(),
)


def found_in(pieces, *arguments):
    finder = readers.Finder(*arguments)
    for piece in pieces:
        finder.feed(piece)
    return finder.finish()


def columns_of(read):
    columns = read.timestamps_ms, read.offset_deltas, read.key_sizes, read.value_sizes
    return zip(*columns, strict=True)


def rows(found):
    return [(at, *row) for at, row in zip(found.positions, columns_of(found.records), strict=True)]


@given(
    data=plain_records,
    base_timestamp=longs,
    count=st.integers(-1, 40) | st.sampled_from([-(2**31), 2**31 - 1]),
    suspects=suspects,
    most=st.integers(-1, 8),
    cuts=st.lists(st.integers(0, 400), max_size=8) | st.lists(st.integers(0, 20_000), max_size=8),
)
def test_any_pieces_hold_whom_the_columns_say_whatever_the_bytes(
    data, base_timestamp, count, suspects, most, cuts
):
    read = reference.columns(data, base_timestamp, count, lengths_must_fit=False)
    all_of_them = [
        (index, *row)
        for index, row in enumerate(columns_of(read))
        if (suspects.needs_key and row[2] < 0) or suspects.has_time(row[0])
    ]
    timely = next((row for row in all_of_them if not (suspects.needs_key and row[3] < 0)), None)
    at = [0, *sorted(cuts), max([len(data), *cuts])]
    pieces = [memoryview(data)[start:end] for start, end in itertools.pairwise(at)]

    found = found_in(pieces, base_timestamp, count, suspects, most)
    assert found.count == len(all_of_them)
    listed = all_of_them[: max(0, most)]
    assert rows(found)[: len(listed)] == listed
    assert rows(found)[len(listed) :] == ([timely] if timely and timely not in listed else [])
    assert (None if found.timely is None else rows(found)[found.timely]) == timely


limits = st.builds(
    TopicLimits,
    before_max_ms=st.none() | st.sampled_from([0, 1, NOW_MS, LONG_MAX]) | st.integers(0, LONG_MAX),
    after_max_ms=st.none() | st.sampled_from([0, 1, NOW_MS, LONG_MAX]) | st.integers(0, LONG_MAX),
)


@given(
    limits=limits,
    time_ms=longs
    | st.integers(LONG_MIN, LONG_MIN + 2 * NOW_MS)
    | st.integers(-1, 1).map(lambda n: LONG_MIN + NOW_MS + n),
)
@example(limits=TopicLimits(after_max_ms=3_600_000), time_ms=LONG_MIN + NOW_MS)
@example(limits=TopicLimits(before_max_ms=0), time_ms=LONG_MIN)
def test_a_time_is_out_of_range_where_the_rule_says_so_where_longs_wrap_too(limits, time_ms):
    bounds = limits.bounds(NOW_MS)
    longs_of = [LONG_MAX if each is None else each for each in (limits.before_max_ms, limits.after_max_ms)]
    clock = (NOW_MS, *longs_of, limits.before_max_ms is not None)
    who = Suspects() if bounds is None else Suspects(bounds.lowest, bounds.highest, clock)
    found = found_in([record(0, 0)], time_ms, 1, who, 1)
    assert bool(found.count) == timestamps.is_out_of_range(time_ms, limits, NOW_MS)


def test_nothing_of_a_long_record_is_kept():
    finder = readers.Finder(NOW_MS, 1, Suspects(highest_ms=0), 1)
    assert fed_with(finder) < MIB
    assert rows(finder.finish()) == [(0, NOW_MS + TIMESTAMP_DELTA_MS, 0, -1, VALUE_BYTES)]
