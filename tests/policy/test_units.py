"""The unit mistake behind a rejected value: the one reading that lands within a year of the clock."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.odd_times import ADVICE
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
    "hours": (NOW_MS // 3_600_000, None),
    "a small negative": (-5, None),
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


TICKS, TWICE = UnitGuess.TICKS_100NS, UnitGuess.MILLISECONDS_TIMES_1000_TWICE
READ = {
    "ticks of Windows": (TICKS, FILETIME_1970 + NOW_MS * 10_000, NOW_MS),
    "ticks of .NET": (TICKS, DOTNET_1970 + NOW_MS * 10_000, NOW_MS),
    # The epochs of 1601 and of year 1 lie 50.5 * 10**12 ms apart: 24 and 26.5 from the clock here.
    "ticks far away": (TICKS, FILETIME_1970 + (NOW_MS + 24 * 10**12) * 10_000, NOW_MS + 24 * 10**12),
    "milliseconds times 1,000 twice": (TWICE, (NOW_MS + 7) * 10**6, NOW_MS + 7),
}


@pytest.mark.parametrize(("unit", "value", "time_ms"), READ.values(), ids=READ)
def test_a_value_of_a_unit_is_read_by_the_epoch_that_lands_nearer(unit, value, time_ms):
    assert UNITS[unit].read(value, NOW_MS) == time_ms


def test_every_unit_but_zero_says_how_to_come_to_milliseconds():
    assert UNITS.keys() | ADVICE.keys() == set(UnitGuess)
    assert all(unit.name and unit.advice and unit.readings for unit in UNITS.values())


HOUR_MS = 3_600_000
YEAR_1_MS = -62_135_596_800_000
YEAR_1, UNIX = "0001-01-01, the zero time of Go and .NET", "1970-01-01, the zero time of Unix"
NEVER, EPOCH, DIGITS = UnitGuess.NEVER_SET, UnitGuess.OTHER_EPOCH, UnitGuess.DIGITS
ODD = [
    (0, UnitGuess.ZERO, UNIX),
    (YEAR_1_MS, NEVER, YEAR_1),
    (YEAR_1_MS + 14 * HOUR_MS, NEVER, YEAR_1),
    (YEAR_1_MS - 12 * HOUR_MS, NEVER, YEAR_1),
    (YEAR_1_MS + 17_762_000, NEVER, YEAR_1),  # New York before it had a zone: -4:56:02
    (YEAR_1_MS + 14 * HOUR_MS + 1, None, None),
    (YEAR_1_MS // 1000, NEVER, f"{YEAR_1}, in seconds"),
    (YEAR_1_MS // 1000 - 19_800, NEVER, f"{YEAR_1}, in seconds"),
    (YEAR_1_MS * 1000, NEVER, f"{YEAR_1}, in microseconds"),
    (-6_795_364_578_871_345_152, NEVER, f"{YEAR_1}, in nanoseconds that overflowed"),
    (-6_795_364_578_871, NEVER, f"{YEAR_1}, in nanoseconds that overflowed"),
    (-6_795_384_378_871, NEVER, f"{YEAR_1}, in nanoseconds that overflowed"),
    (-6_795_364_578_872, NEVER, f"{YEAR_1}, in nanoseconds that overflowed"),
    (-6_795_364_578, NEVER, f"{YEAR_1}, in nanoseconds that overflowed"),
    (-62_167_219_200_000 + 9 * HOUR_MS, NEVER, "0000-01-01, the zero time of ISO 8601"),
    (-62_169_984_000_000, NEVER, "0000-00-00, the zero time of MySQL"),
    (-11_644_473_600_000, NEVER, "1601-01-01, the zero time of Windows"),
    (-2_209_161_600_000, NEVER, "1899-12-30, the zero time of Excel"),
    (-2_208_988_800, NEVER, "1900-01-01, the zero time of NTP, in seconds"),
    (-2_082_844_800_000, NEVER, "1904-01-01, the zero time of Mac and MP4"),
    (19_800_000, NEVER, UNIX),
    (-9 * HOUR_MS, NEVER, UNIX),
    (19_800_001, None, None),
    (315_532_800_000, NEVER, "1980-01-01, the zero time of FAT and DOS"),
    (315_964_800_000 + HOUR_MS, NEVER, "1980-01-06, the zero time of GPS"),
    (946_684_800_000, NEVER, "2000-01-01, the zero time of PostgreSQL, and clocks without a battery"),
    (2_147_483_647, NEVER, "2038-01-19, the largest second in 32 bits, in seconds"),
    (253_402_300_799_999, NEVER, "9999-12-31, the largest date"),
    (LONG_MIN, NEVER, "the smallest Long of Java"),
    (LONG_MAX, NEVER, "the largest Long of Java"),
    (LONG_MAX // 10**6, NEVER, "the largest Long of Java, divided"),
    (-1, None, None),
    (-1000, NEVER, "-1, which says that there is no time, in another unit"),
    (-(10**6), NEVER, "-1, which says that there is no time, in another unit"),
    (NOW_MS // 86_400_000, EPOCH, "days since 1970-01-01"),
    (NOW_MS // 86_400_000 + 25_569, EPOCH, "days since 1899-12-30 (Excel)"),
    (NOW_MS // 1000 + 2_208_988_800, EPOCH, "seconds since 1900-01-01 (NTP)"),
    (NOW_MS // 1000 + 2_082_844_800, EPOCH, "seconds since 1904-01-01 (Mac and MP4)"),
    (NOW_MS + 11_644_473_600_000, EPOCH, "milliseconds since 1601-01-01 (Windows)"),
    (NOW_MS - YEAR_1_MS, EPOCH, "milliseconds since 0001-01-01 (Go and .NET)"),
    (
        NOW_MS // 1000 - 315_964_800,
        EPOCH,
        "seconds since 1980-01-01 (FAT and DOS) or seconds since 1980-01-06 (GPS)",
    ),
    (20_260_101_173_000, DIGITS, "yyyyMMddHHmmss as a number"),
    (20_260_101_173_000_123, DIGITS, "yyyyMMddHHmmssSSS as a number"),
    (20_260_101, DIGITS, "yyyyMMdd as a number"),
    (20_261_301, None, None),
]
"""Value, guess, words: the forms that clients make of a time that was never set, and other counts."""


@pytest.mark.parametrize(("value", "guess", "words"), ODD, ids=str)
def test_a_time_that_was_never_set_is_named_in_all_its_forms_and_repaired_by_none(value, guess, words):
    assert guess_unit(value, NOW_MS) is guess
    assert likely_ms(value, NOW_MS) is None
    hint = unit_hint(value, NOW_MS)
    assert hint is None if words is None else f"looks like {words}" in hint and ADVICE[guess] in hint


def test_repair_knows_five_units_and_no_more():
    """A rewrite by a guess is for ever: seconds, micro- and nanoseconds, .NET's and Windows' ticks."""
    arithmetic = [(each.ms_each, each.per_ms, each.epoch_ms) for _, each in READINGS]
    ticks = [(1, 10_000, FILETIME_1970 // 10_000), (1, 10_000, DOTNET_1970 // 10_000)]
    assert arithmetic == [(1000, 1, 0), (1, 1000, 0), (1, 10**6, 0), *ticks]


@pytest.mark.parametrize(
    ("drift_ms", "words"),
    [
        (19_800_020, "5.5 h ahead: a time zone?"),
        (-9 * HOUR_MS - 60_000, "9 h behind: a time zone?"),
        (-9 * HOUR_MS - 60_001, None),
        (20_700_000, "5.75 h ahead: a time zone?"),
        (50_400_000, "14 h ahead: a time zone?"),
        (51_300_000, None),
        (59_000, None),
    ],
)
def test_a_time_that_is_quarters_of_an_hour_off_may_be_local_time_sent_as_utc(drift_ms, words):
    assert unit_hint(NOW_MS + drift_ms, NOW_MS) == words
