"""The bounds of the fast path are never wider than any limit that holds. A rejection is repeated for batches
with the same limits and words, and for no others."""

import sys
from array import array
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.test_units import DOTNET_1970, FILETIME_1970, ODD, YEAR_MS
from tests.policy.verdicts import HOUR_MS, NOW_MS
from tsproxy.model.custom_rule import CustomRule, OnError
from tsproxy.model.kafka import ErrorCode, TimestampType
from tsproxy.model.policy import Choice, Inspect, Mode, OnViolation, TopicPolicy
from tsproxy.model.records import Outside
from tsproxy.model.verdict import OutOfRange, Reject, TopicLimits, UnitGuess, reason_out_of_range
from tsproxy.policy import timestamps
from tsproxy.policy.fast_path import FastPathBounds, fast_path_bounds, may_stay_unread, repeatable_rejection
from tsproxy.policy.units import guess_unit, values_of_one_unit

LIMITS = TopicLimits(before_max_ms=5, after_max_ms=7)
KNOWN = TopicPolicy(limits=LIMITS)
ANY = FastPathBounds(None, None)


class Bounded:
    """A rule of an operator's own that says what it takes."""

    def __init__(self, *said):
        self.said = said

    def culprits(self, timestamps_ms, context):
        return ()

    def bounds(self):
        if not self.said:
            raise RuntimeError("no bounds")
        return self.said


class Unbounded:
    def culprits(self, timestamps_ms, context):
        return ()


def own(rule):
    return replace(KNOWN, custom_rules=(CustomRule("own", rule, OnError.OPEN),))


ROWS = {
    "the limits": (KNOWN, FastPathBounds(5, 7)),
    "in audit as well": (replace(KNOWN, mode=Mode.AUDIT), FastPathBounds(5, 7)),
    "one side": (replace(KNOWN, limits=TopicLimits(after_max_ms=7)), FastPathBounds(None, 7)),
    "no limits": (replace(KNOWN, limits=TopicLimits()), ANY),
    "the broker's own time": (
        replace(KNOWN, limits=replace(LIMITS, timestamp_type=TimestampType.LOG_APPEND_TIME)),
        ANY,
    ),
    "off": (replace(KNOWN, mode=Mode.OFF, limits=None, is_known=False), ANY),
    "a topic that is not known, with limits of the file": (replace(KNOWN, is_known=False), None),
    "limits that are not known": (replace(KNOWN, limits=None), None),
    "a candidate": (
        replace(KNOWN, candidate=TopicLimits(before_max_ms=9, after_max_ms=3)),
        FastPathBounds(5, 3),
    ),
    "a value rejected": (replace(KNOWN, zero=Choice.REJECT), None),
    "a repair": (replace(KNOWN, on_violation=OnViolation.REPAIR), None),
    "copies of what is rejected": (replace(KNOWN, dead_letters=True), FastPathBounds(5, 7)),
    "the other reading of bit 6": (replace(KNOWN, extended_timestamps=True), FastPathBounds(5, 7)),
    "under a waiver no more than after it": (
        replace(KNOWN, mode=Mode.AUDIT, until_ms=1),
        FastPathBounds(5, 7),
    ),
    "nor what will then be written anew": (
        replace(KNOWN, mode=Mode.AUDIT, until_ms=1, keep_both_times=True),
        None,
    ),
    "a rule of one's own": (own(Unbounded()), None),
    "with bounds": (own(Bounded(3, 8)), FastPathBounds(3, 7)),
    "with bounds on one side": (own(Bounded(None, 6)), FastPathBounds(5, 6)),
    "with bounds of 0": (own(Bounded(0, 0)), FastPathBounds(0, 0)),
    "with bounds that are none": (own(Bounded("1", 2)), None),
    "with bounds below 0": (own(Bounded(3, -1)), None),
    "with bounds that raise": (own(Bounded()), None),
    "with bounds that leave": (own(SimpleNamespace(bounds=sys.exit)), None),
    "with one bound": (own(Bounded(1)), None),
    # They ended the session of each client, behind a batch that was forwarded.
    "with bounds beyond Kafka's longs": (own(Bounded(10**30, None)), None),
    "with a bound of one more than they hold": (own(Bounded(None, 2**63)), None),
}


@pytest.mark.parametrize(("policy", "passes"), ROWS.values(), ids=ROWS)
def test_what_passes(policy, passes):
    assert fast_path_bounds(policy) == passes


@pytest.mark.parametrize(
    ("policy", "may"),
    [
        (replace(KNOWN, inspect_compressed=Inspect.ADAPTIVE), True),
        (replace(KNOWN, inspect_compressed=Inspect.AUTO), True),
        (replace(KNOWN, inspect_compressed=Inspect.ADAPTIVE, dead_letters=True), False),
        (replace(KNOWN, inspect_compressed=Inspect.ALL), False),
    ],
    ids=["adaptive", "auto", "with copies of culprits", "all"],
)
def test_a_compressed_batch_may_stay_unread_only_where_no_culprit_is_copied(policy, may):
    assert may_stay_unread(policy) is may


# -- Rejections that are repeated ---------------------------------------------------------------------

FOR_MS = 5_000
WIDE_LIMITS = TopicLimits(before_max_ms=24 * HOUR_MS, after_max_ms=HOUR_MS)
POLICY = TopicPolicy(limits=WIDE_LIMITS)


def rejected(first_ms, *more_ms):
    times_ms = [first_ms, *more_ms]
    places = range(len(times_ms))
    outside = Outside(len(times_ms), array("i", places), array("q", times_ms), array("q", places))
    pieces = timestamps.out_of_range_pieces(WIDE_LIMITS, NOW_MS)
    violations = OutOfRange(outside, 0, pieces, NOW_MS)
    return Reject(ErrorCode.INVALID_TIMESTAMP, "text", reason_out_of_range(first_ms, NOW_MS), violations, 1)


AHEAD = rejected(NOW_MS + 2 * HOUR_MS)


def test_the_usual_rejection_is_repeated_for_a_while():
    found = repeatable_rejection(POLICY, AHEAD, NOW_MS, FOR_MS)
    assert (found.from_ms, found.until_ms) == (NOW_MS, NOW_MS + FOR_MS)
    assert found.lowest_ms <= NOW_MS + 2 * HOUR_MS <= found.highest_ms


def test_a_culprit_at_the_clock_or_at_the_end_of_the_while_is_on_one_side_all_the_time():
    behind, between, just_before, ahead = (
        repeatable_rejection(POLICY, rejected(NOW_MS + after_ms), NOW_MS, FOR_MS)
        for after_ms in (0, 1, FOR_MS - 1, FOR_MS)
    )
    assert (between, just_before) == (None, None)
    assert (behind.highest_ms, ahead.lowest_ms) == (NOW_MS, NOW_MS + FOR_MS)


def test_the_first_culprit_decides():
    two = rejected(NOW_MS + 2 * HOUR_MS, NOW_MS - 48 * HOUR_MS)
    assert repeatable_rejection(POLICY, two, NOW_MS, FOR_MS) == repeatable_rejection(
        POLICY, AHEAD, NOW_MS, FOR_MS
    )


@pytest.mark.parametrize(
    "more",
    [
        {"mode": Mode.AUDIT},
        {"limits": None},
        {"limits": replace(WIDE_LIMITS, is_compacted=True)},
        {"limits": replace(WIDE_LIMITS, timestamp_type=TimestampType.LOG_APPEND_TIME)},
        {"no_timestamp": Choice.REJECT},
        {"zero": Choice.REJECT},
        {"negative": Choice.REJECT},
        {"no_timestamp": Choice.STAMP},
        {"on_violation": OnViolation.REPAIR},
        {"keep_both_times": True},
        {"dead_letters": True},
        {"speaks_as_draft": True},
        {"names_unit": True},
        {"help": "https://wiki.example.com/timestamps"},
        {"custom_rules": (CustomRule("mine", object()),)},
        {"until_ms": NOW_MS + 1},
    ],
    ids="-".join,
)
def test_where_more_is_asked_each_batch_is_looked_at(more):
    assert repeatable_rejection(replace(POLICY, **more), AHEAD, NOW_MS, FOR_MS) is None


def test_a_rejection_for_anything_else_is_not_repeated():
    whole = Reject(ErrorCode.CORRUPT_MESSAGE, None, AHEAD.reason)
    assert repeatable_rejection(POLICY, whole, NOW_MS, FOR_MS) is None


times = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.builds(
        lambda ms, unit: int(ms * unit),
        st.integers(NOW_MS - 2 * 366 * 86_400_000, NOW_MS + 2 * 366 * 86_400_000),
        st.sampled_from([0.001, 1, 1_000, 1_000_000]),
    ),
)


@given(times, st.data())
def test_all_that_is_rejected_likewise_would_be_told_of_in_the_same_words(first_ms, data):
    found = repeatable_rejection(POLICY, rejected(first_ms), NOW_MS, FOR_MS)
    if found is None:
        return
    other_ms = data.draw(st.integers(found.lowest_ms, found.highest_ms))
    now_ms = data.draw(st.integers(found.from_ms, found.until_ms - 1))
    assert reason_out_of_range(other_ms, now_ms) == reason_out_of_range(first_ms, NOW_MS)
    assert guess_unit(other_ms, now_ms) == guess_unit(first_ms, NOW_MS)


def in_unit(per_ms, at_1970=0):
    """The first and the last value that lie within a year of the clock."""
    return (NOW_MS - YEAR_MS) * per_ms + at_1970, (NOW_MS + YEAR_MS + 1) * per_ms - 1 + at_1970


SECONDS = (NOW_MS - YEAR_MS) // 1000, (NOW_MS + YEAR_MS) // 1000
MICROSECONDS, NANOSECONDS = in_unit(1000), in_unit(10**6)
TICKS = in_unit(10**4, FILETIME_1970), in_unit(10**4, DOTNET_1970)


def alike(value):
    return values_of_one_unit(value, NOW_MS, NOW_MS)


@pytest.mark.parametrize(("first", "last"), [SECONDS, MICROSECONDS, *TICKS])
def test_the_values_of_one_unit_are_alike_from_the_first_to_the_last(first, last):
    assert alike(first) == alike(last) == (first, last)


@pytest.mark.parametrize(("first", "last"), [SECONDS, MICROSECONDS, NANOSECONDS, *TICKS])
def test_values_of_no_unit_are_alike_up_to_those_of_a_unit(first, last):
    assert alike(first - 1)[1] == first - 1
    assert alike(last + 1)[0] == last + 1


def test_zero_is_like_no_other_value():
    assert alike(0) == (0, 0)
    assert alike(1) == (1, 20_423)  # above, it may be days
    assert alike(-2) == (-999, -1)


@pytest.mark.parametrize("value", NANOSECONDS)
def test_nanoseconds_are_looked_at_one_by_one(value):
    assert alike(value) is None


near_odd = st.sampled_from([value for value, *_ in ODD]).flatmap(
    lambda value: st.integers(max(value - 10**6, -(2**63)), min(value + 10**6, 2**63 - 1))
)


@given(times | near_odd, st.data(), st.integers(0, 5_000))
def test_values_that_are_alike_have_one_guess_at_every_clock(value, data, for_ms):
    found = values_of_one_unit(value, NOW_MS, NOW_MS + for_ms)
    if found is None:  # the last digits or the clock decide
        return
    clock_ms = data.draw(st.integers(NOW_MS, NOW_MS + for_ms))
    for other in (value, *found, data.draw(st.integers(*found))):
        assert guess_unit(other, clock_ms) is guess_unit(value, NOW_MS)


@pytest.mark.parametrize("value", [value for value, guess, _ in ODD if guess is UnitGuess.NEVER_SET])
def test_a_time_that_was_never_set_has_a_fast_path(value):
    assert alike(value) is not None
