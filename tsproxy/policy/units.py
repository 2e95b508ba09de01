"""Guesses the unit of a rejected timestamp: the unit in which its value is near the clock.

Producers that send seconds, microseconds or nanoseconds instead of milliseconds are the most frequent cause
of bad timestamps. The judge guesses only for values outside the limits, or outside the candidate limits;
`explain` guesses for any value.

Milliseconds times 1,000 twice are nanoseconds that end in six zeros. A nanosecond clock shows six zeros once
in a million times, so such a value was in milliseconds before. Only a value of a whole second may be either,
and the guess is then nanoseconds. Milliseconds times 1,000 once cannot be distinguished from microseconds,
since many microsecond clocks only advance each millisecond.
"""

from datetime import UTC, datetime
from typing import Final

from tsproxy.model import odd_times
from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.units import UNITS
from tsproxy.model.verdict import UnitGuess

NEAR_MS: Final = 365 * 24 * 3600 * 1000
"""In the guessed unit, a value must be within a year of the clock."""

READINGS: Final = tuple(
    (guess, reading)
    for guess, unit in UNITS.items()
    if guess is not UnitGuess.MILLISECONDS_TIMES_1000_TWICE  # the same reading as nanoseconds
    for reading in unit.readings
)
"""The readings in the order in which they are tried."""


def guess_unit(timestamp_ms: int, now_ms: int) -> UnitGuess | None:
    """The most likely mistake behind a rejected value; None if no reading fits."""
    if timestamp_ms == 0:
        return UnitGuess.ZERO
    if reading := _reading(timestamp_ms, now_ms):
        return reading[0]
    odd = odd_times.odd_times(timestamp_ms, now_ms)
    return odd[0].guess if odd else None


def values_of_one_unit(timestamp_ms: int, from_ms: int, until_ms: int) -> tuple[int, int] | None:
    """The lowest and the highest of the values around this one that have the same guess, at every clock
    between `from_ms` and `until_ms`. None if the guess depends on the clock, or on more than the size of the
    value."""
    if timestamp_ms == 0:
        return 0, 0
    lowest, highest = (1, LONG_MAX) if timestamp_ms > 0 else (LONG_MIN, -1)
    for unit, reading in READINGS:
        first, last = reading.values(from_ms - NEAR_MS, until_ms + NEAR_MS)
        if timestamp_ms < first:
            highest = min(highest, first - 1)
        elif timestamp_ms > last:
            lowest = max(lowest, last + 1)
        elif unit is UnitGuess.NANOSECONDS:
            return None  # here the guess depends on the last digits
        else:
            first, last = reading.values(until_ms - NEAR_MS, from_ms + NEAR_MS)
            lowest, highest = max(lowest, first), min(highest, last)
            break
    else:
        if (odd := odd_times.alike(timestamp_ms, from_ms, until_ms)) is None:
            return None
        lowest, highest = max(lowest, odd[0]), min(highest, odd[1])
    return (lowest, highest) if lowest <= timestamp_ms <= highest else None


def likely_ms(timestamp_ms: int, now_ms: int) -> int | None:
    """The timestamp that a rejected value probably stands for, in ms; None if no reading fits."""
    reading = _reading(timestamp_ms, now_ms)
    return reading and reading[1]


def unit_hint(timestamp_ms: int, now_ms: int) -> str | None:
    """The hint for the client, such as "looks like nanoseconds: divide by 1,000,000; that would be
    2026-11-21T03:22:00.000Z"; None if nothing is guessed."""
    if reading := _reading(timestamp_ms, now_ms):
        guess, time_ms = reading
        unit = UNITS[guess]
        return f"looks like {unit.name}: {unit.advice}; that would be {_instant(time_ms)}"
    if odd := odd_times.odd_times(timestamp_ms, now_ms):
        names = " or ".join(odd_time.words for odd_time in odd)
        times = " or ".join(_instant(odd_time.time_ms) for odd_time in odd if odd_time.time_ms is not None)
        what = f"{names}: " if times else f"{names}, a time that was never set: "
        advice = odd_times.ADVICE[odd[0].guess]
        return f"looks like {what}{advice}" + (f"; that would be {times}" if times else "")
    return odd_times.zone_words(timestamp_ms - now_ms)


def _reading(timestamp_ms: int, now_ms: int) -> tuple[UnitGuess, int] | None:
    """The unit of the first reading that is near the clock, and the timestamp by this reading; None if no
    reading is near. Zero is never near the clock."""
    readings = ((unit, reading.read(timestamp_ms)) for unit, reading in READINGS)
    reading = next((reading for reading in readings if abs(reading[1] - now_ms) <= NEAR_MS), None)
    if reading is None or reading[0] is not UnitGuess.NANOSECONDS or timestamp_ms % 1_000_000:
        return reading
    is_whole_second = timestamp_ms % 1_000_000_000 == 0
    return reading if is_whole_second else (UnitGuess.MILLISECONDS_TIMES_1000_TWICE, reading[1])


def _instant(at_ms: int) -> str:
    seconds, ms = divmod(at_ms, 1000)
    return datetime.fromtimestamp(seconds, UTC).strftime(f"%Y-%m-%dT%H:%M:%S.{ms:03}Z")
