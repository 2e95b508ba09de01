"""The unit mistake behind a rejected value: the one reading that lands within a year of the clock."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.units import UNITS
from tsproxy.model.verdict import UnitGuess
from tsproxy.policy.units import NEAR_MS, READINGS, guess_unit, likely_ms, unit_hint

NOW_MS = 1_767_225_600_000
YEAR_MS = 365 * 24 * 3_600_000

FILETIME_1970 = 116_444_736_000_000_000
"""1970-01-01 in ticks of 100 ns since 1601-01-01, as Windows counts."""
DOTNET_1970 = 621_355_968_000_000_000
"""1970-01-01 in ticks of 100 ns since 0001-01-01, as .NET counts."""

MISTAKES = {
    "seconds": (NOW_MS // 1000, UnitGuess.SECONDS),
    "microseconds": (NOW_MS * 1000, UnitGuess.MICROSECONDS),
    "nanoseconds": (NOW_MS * 1_000_000, UnitGuess.NANOSECONDS),
    "nanoseconds, to the microsecond": (NOW_MS * 1_000_000 + 5_000, UnitGuess.NANOSECONDS),
    "milliseconds times 1,000 twice": (
        (NOW_MS + 7) * 1000 * 1000,
        UnitGuess.MILLISECONDS_TIMES_1000_TWICE,
    ),
    "milliseconds times 1,000, which microseconds may be as well": (
        (NOW_MS + 7) * 1000,
        UnitGuess.MICROSECONDS,
    ),
    "Windows' ticks": (NOW_MS * 10_000 + FILETIME_1970, UnitGuess.TICKS_100NS),
    ".NET's ticks": (NOW_MS * 10_000 + DOTNET_1970, UnitGuess.TICKS_100NS),
    "zero": (0, UnitGuess.ZERO),
    "milliseconds, two years ago": (NOW_MS - 2 * YEAR_MS, None),
    "minutes": (NOW_MS // 60_000, None),
    "days": (NOW_MS // 86_400_000, None),
    "a small negative": (-5, None),
    "the largest long": (LONG_MAX, None),
    "the smallest long": (LONG_MIN, None),
}


@pytest.mark.parametrize(("value", "unit"), MISTAKES.values(), ids=MISTAKES)
def test_a_value_is_taken_for_the_unit_that_brings_it_near_the_clock(value, unit):
    assert guess_unit(value, NOW_MS) is unit
    if unit is not UnitGuess.ZERO:
        assert likely_ms(value, NOW_MS) in ((None,) if unit is None else (NOW_MS, NOW_MS + 7))


@pytest.mark.parametrize("aside", [-YEAR_MS, YEAR_MS])
def test_a_year_is_near_and_a_second_more_is_not(aside):
    near = (NOW_MS + aside) // 1000
    assert guess_unit(near, NOW_MS) is UnitGuess.SECONDS
    assert guess_unit(near + (1 if aside > 0 else -1), NOW_MS) is None


@pytest.mark.parametrize("aside", [-YEAR_MS, YEAR_MS])
@pytest.mark.parametrize(
    ("per_ms", "at_1970"), [(1000, 0), (10**6, 0), (10**4, FILETIME_1970), (10**4, DOTNET_1970)]
)
def test_a_year_is_near_and_a_millisecond_more_is_not_in_finer_units(per_ms, at_1970, aside):
    one_more = 1 if aside > 0 else -1
    assert guess_unit((NOW_MS + aside) * per_ms + at_1970, NOW_MS) is not None
    assert guess_unit((NOW_MS + aside + one_more) * per_ms + at_1970, NOW_MS) is None


@given(st.integers(LONG_MIN, LONG_MAX), st.integers(10**12, 10**13))
def test_at_most_one_unit_fits_any_value_at_any_time(value, now_ms):
    """If two readings agreed, the table's order would decide, and nobody would know."""
    fitting = {unit for unit, reading in READINGS if abs(reading.read(value) - now_ms) <= NEAR_MS}
    assert len(fitting) <= 1


@given(st.integers(10**12, 10**13), st.integers(-YEAR_MS + 1000, YEAR_MS - 1000))
def test_a_time_near_the_clock_is_recognised_in_seconds_micro_and_nanoseconds(now_ms, aside):
    time_ms = now_ms + aside
    assert guess_unit(time_ms // 1000, now_ms) is UnitGuess.SECONDS
    assert guess_unit(time_ms * 1000, now_ms) is UnitGuess.MICROSECONDS
    assert guess_unit(time_ms * 1_000_000 + 1, now_ms) is UnitGuess.NANOSECONDS
    was_second = time_ms % 1000 == 0
    twice = UnitGuess.NANOSECONDS if was_second else UnitGuess.MILLISECONDS_TIMES_1000_TWICE
    assert guess_unit(time_ms * 1_000_000, now_ms) is twice


@pytest.fixture
def tokyo(monkeypatch):
    """The process is in a time zone of its own, nine hours ahead of UTC."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


def test_the_words_say_what_to_do_and_name_the_time_in_utc(tokyo):
    assert unit_hint((NOW_MS + 7) * 1_000_000, NOW_MS) == (
        "looks like milliseconds times 1,000 twice: divide by 1,000,000; "
        "that would be 2026-01-01T00:00:00.007Z"
    )


def test_ticks_are_read_from_the_epoch_that_lands_near_the_clock():
    ticks = UNITS[UnitGuess.TICKS_100NS]
    assert ticks.read(FILETIME_1970 + NOW_MS * 10_000, NOW_MS) == NOW_MS
    assert ticks.read(62_135_596_800_000 * 10_000 + NOW_MS * 10_000, NOW_MS) == NOW_MS


def test_ticks_far_from_the_clock_are_read_from_the_epoch_that_lands_nearer():
    """The epochs of 1601 and of year 1 lie 50.5 * 10**12 ms apart: 24 and 26.5 from the clock here."""
    between = FILETIME_1970 + (NOW_MS + 24 * 10**12) * 10_000
    assert UNITS[UnitGuess.TICKS_100NS].read(between, NOW_MS) == NOW_MS + 24 * 10**12


def test_milliseconds_times_1000_twice_are_divided_by_a_million():
    assert UNITS[UnitGuess.MILLISECONDS_TIMES_1000_TWICE].read((NOW_MS + 7) * 10**6, NOW_MS) == NOW_MS + 7


def test_every_unit_but_zero_says_how_to_come_to_milliseconds():
    assert UNITS.keys() == set(UnitGuess) - {UnitGuess.ZERO}
    assert all(unit.name and unit.advice and unit.readings for unit in UNITS.values())
