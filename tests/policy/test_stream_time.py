"""Jumps of a partition's newest timestamp, and records out of order, as tables."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsproxy.model.custom_rule import CustomRule, StreamTime
from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.policy.stream_time import StreamTimeAdvance, StreamTimeGuard, advanced
from tsproxy.testing.rules import NOW_MS, check_rule, rule_context

MINUTE_MS = 60_000
GUARD = StreamTimeGuard(10 * MINUTE_MS)
LAGGING = StreamTime(NOW_MS - 100 * MINUTE_MS, NOW_MS)


def rejected(times, known=None, now_ms=NOW_MS):
    return [index for index, _ in GUARD.culprits(times, rule_context(stream_time=known, now_ms=now_ms))]


def after(minutes, base=LAGGING):
    return base.latest_ms + minutes * MINUTE_MS


ROWS = {
    "as far as it may": ([after(10)], LAGGING, []),
    "a millisecond more": ([after(10) + 1], LAGGING, [0]),
    "however old": ([0, LONG_MIN], LAGGING, []),
    "no time": ([-1], LAGGING, []),
    "step by step": ([after(10), after(20), after(30)], LAGGING, []),
    "the smallest step counts": ([LAGGING.latest_ms + 1, after(10) + 1], LAGGING, []),
    "one too far, and those behind it are not judged by it": ([after(11), after(10)], LAGGING, [0]),
    "what comes out of order takes nothing back": ([after(10), after(0), after(20)], LAGGING, []),
    "nothing known: the clock stands in": ([NOW_MS + 10 * MINUTE_MS], None, []),
    "nothing known, and too far ahead of the clock": ([NOW_MS + 10 * MINUTE_MS + 1], None, [0]),
}


@pytest.mark.parametrize(("times", "known", "expected"), ROWS.values(), ids=ROWS)
def test_who_jumps_too_far(times, known, expected):
    assert rejected(times, known) == expected


def test_time_that_has_passed_in_silence_comes_on_top():
    an_hour_ago = StreamTime(NOW_MS - 60 * MINUTE_MS, NOW_MS - 60 * MINUTE_MS)

    assert rejected([NOW_MS + 10 * MINUTE_MS, NOW_MS + 20 * MINUTE_MS + 1], an_hour_ago) == [1]


def test_a_clock_that_went_back_takes_nothing_away():
    assert rejected([after(10)], replace(LAGGING, seen_at_ms=NOW_MS + MINUTE_MS)) == []


def test_the_text_says_how_far_and_from_where():
    [(_, text)] = GUARD.culprits([after(11)], rule_context(stream_time=LAGGING))

    assert text == (
        f"Timestamp {after(11)} is {11 * MINUTE_MS} ms ahead of the partition's stream time, which is "
        f"{LAGGING.latest_ms} by now; at most {10 * MINUTE_MS} ms are accepted"
    )


def test_it_asks_for_the_stream_time():
    assert CustomRule("guard", GUARD).follows_stream_time


def test_it_keeps_to_what_rules_must():
    check_rule(GUARD)
    check_rule(StreamTimeGuard(0))


ADVANCES = {
    "in order": ([5, 6, 6], StreamTime(5, 0), StreamTimeAdvance(6, 0, 0)),
    "one before what is known": ([3, 6], StreamTime(5, 0), StreamTimeAdvance(6, 1, 2)),
    "one before another of its batch": ([9, 7, 8], StreamTime(5, 0), StreamTimeAdvance(9, 2, 2)),
    "nothing known": ([9, 7], None, StreamTimeAdvance(9, 1, 2)),
    "nothing known, and in order": ([7, 9], None, StreamTimeAdvance(9, 0, 0)),
    "all of it before": ([1, 2], StreamTime(5, 0), StreamTimeAdvance(2, 2, 4)),
    "one without a time": ([-1, 7], StreamTime(5, 0), StreamTimeAdvance(7, 0, 0)),
    "none has a time": ([-1, -1], StreamTime(5, 0), None),
}


@pytest.mark.parametrize(("times", "known", "expected"), ADVANCES.values(), ids=ADVANCES)
def test_what_a_batch_does_to_stream_time(times, known, expected):
    assert advanced(times, known) == expected


longs = st.integers(LONG_MIN, LONG_MAX)


@given(st.lists(longs, min_size=1, max_size=8), longs)
def test_what_is_accepted_never_jumps_further_than_it_may(times, latest_ms):
    known = StreamTime(latest_ms, NOW_MS)
    culprits = set(rejected(times, known))

    for index, time_ms in enumerate(times):
        before = [t for i, t in enumerate(times[:index]) if i not in culprits and t != -1]
        jumps = time_ms != -1 and time_ms - max([latest_ms, *before]) > GUARD.max_jump_ahead_ms
        assert (index in culprits) is jumps
