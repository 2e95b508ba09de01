"""The timestamp rule in Java's longs. `tests/verdicts/beyond.py` has its bounds (KIP-32, KIP-937)."""

from ctypes import c_int64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.verdicts import DAY_MS, HOUR_MS, NOW_MS
from tsproxy.model.kafka import LONG_MAX, LONG_MIN, NO_TIMESTAMP, TimestampType, wrap64
from tsproxy.model.verdict import Reason, TopicLimits, reason_out_of_range
from tsproxy.policy.timestamps import (
    is_out_of_range,
)

longs = st.one_of(
    st.integers(LONG_MIN, LONG_MAX),
    st.integers(NOW_MS - 10**6, NOW_MS + 10**6),
    st.integers(-3, 3),
    st.integers(LONG_MIN, LONG_MIN + 3),
    st.integers(LONG_MAX - 3, LONG_MAX),
    st.integers(LONG_MIN + NOW_MS - 3, LONG_MIN + NOW_MS + 3),
)
limits_ms = st.one_of(st.none(), st.integers(0, LONG_MAX), st.integers(0, 3), st.integers(0, 10**6))


# -- KIP-32 -----------------------------------------------------------------------------------------


@given(longs, limits_ms, limits_ms)
def test_with_log_append_time_nothing_is_out_of_range(timestamp_ms, before, after):
    """The broker overwrites the time and asks nothing about it."""
    limits = TopicLimits(TimestampType.LOG_APPEND_TIME, before, after)
    assert not is_out_of_range(timestamp_ms, limits, NOW_MS)
    assert limits.bounds(NOW_MS) is None
    assert not limits.is_limited


# -- Java's arithmetic ------------------------------------------------------------------------------


def is_out_of_range_in_java(timestamp_ms, before_max_ms, after_max_ms, now_ms):
    """`LogValidator.validateTimestamp` of 3.6 to 4.3, with longs that wrap."""
    difference = c_int64(now_ms - timestamp_ms).value
    negated = c_int64(-1 * difference).value
    before = LONG_MAX if before_max_ms is None else before_max_ms
    after = LONG_MAX if after_max_ms is None else after_max_ms
    return timestamp_ms != NO_TIMESTAMP and (difference > before or negated > after)


@given(longs, limits_ms, limits_ms, st.integers(0, 2**45))
def test_the_check_is_the_brokers_except_in_one_hole(timestamp_ms, before, after, now_ms):
    """Long.MIN_VALUE + now negates to itself, and slips through a broker's check whatever the limits."""
    limits = TopicLimits(before_max_ms=before, after_max_ms=after)
    expected = is_out_of_range_in_java(timestamp_ms, before, after, now_ms)
    if timestamp_ms == wrap64(LONG_MIN + now_ms):
        assert not expected
        expected = before is not None
    assert is_out_of_range(timestamp_ms, limits, now_ms) is expected


@given(longs, limits_ms, limits_ms, st.integers(0, 2**45))
def test_what_lies_inside_the_bounds_is_in_range(timestamp_ms, before, after, now_ms):
    limits = TopicLimits(before_max_ms=before, after_max_ms=after)
    within = limits.bounds(now_ms)
    if within is None or within.lowest <= timestamp_ms <= within.highest:
        assert not is_out_of_range(timestamp_ms, limits, now_ms)
    elif timestamp_ms > LONG_MIN + now_ms and timestamp_ms != NO_TIMESTAMP:
        assert is_out_of_range(timestamp_ms, limits, now_ms)


@pytest.mark.parametrize(
    ("before", "after", "lowest", "highest"),
    [
        (DAY_MS, HOUR_MS, NOW_MS - DAY_MS, NOW_MS + HOUR_MS),
        (0, 0, NOW_MS, NOW_MS),
        (None, HOUR_MS, LONG_MIN + NOW_MS + 1, NOW_MS + HOUR_MS),
        (DAY_MS, None, NOW_MS - DAY_MS, LONG_MAX),
        (LONG_MAX - 1, LONG_MAX - 1, NOW_MS - LONG_MAX + 1, LONG_MAX),
    ],
)
def test_bounds_stay_inside_what_a_long_holds(before, after, lowest, highest):
    within = TopicLimits(before_max_ms=before, after_max_ms=after).bounds(NOW_MS)
    assert (within.lowest, within.highest) == (lowest, highest)


@given(longs, longs)
def test_wrapping_is_what_a_java_long_does(a, b):
    assert wrap64(a + b) == c_int64(a + b).value
    assert wrap64(a - b) == c_int64(a - b).value


@pytest.mark.parametrize(
    ("timestamp_ms", "reason"),
    [
        (NOW_MS + 1, Reason.TOO_FAR_AHEAD),
        (LONG_MAX, Reason.TOO_FAR_AHEAD),
        (NOW_MS, Reason.TOO_OLD),
        (NOW_MS - 1, Reason.TOO_OLD),
        (-5, Reason.TOO_OLD),
        (LONG_MIN, Reason.TOO_OLD),
    ],
)
def test_the_reason_is_the_side_that_a_time_is_really_on(timestamp_ms, reason):
    """Only a broker with a clock of its own rejects the very millisecond: it is not ahead of ours."""
    assert reason_out_of_range(timestamp_ms, NOW_MS) is reason
