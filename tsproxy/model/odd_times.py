"""Times that were never set, and counts that `units.UNITS` does not have: one table. Pure.

A row is words only, for rejections, `explain` and reports. Repair uses `UNITS` alone, since a rewrite by a
guess is for ever. If two rows fit a value, both are named.

Sources: Go's `time.Time{}` and `UnixNano` (undefined before 1678: it overflows), .NET's `DateTime.MinValue`
and `MaxValue`, Java's `Long`, RFC 5905 (NTP, 1900), FILETIME (1601), OLE and Excel (1899-12-30), HFS and MP4
(1904), FAT (1980), IS-GPS-200 (1980-01-06), PostgreSQL (2000), Cocoa (2001), MySQL's `0000-00-00`.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from tsproxy.model.kafka import LONG_MAX, LONG_MIN, wrap64
from tsproxy.model.units import Reading
from tsproxy.model.verdict import UnitGuess

DAY_MS: Final = 86_400_000
QUARTER_MS: Final = 900_000
"""Every time zone is a multiple of 15 minutes from UTC, at most 14 hours. Before 1900 it was any second."""
_MOST_MS: Final = 14 * 3_600_000
_NEAR_MS: Final = 30 * DAY_MS
"""A count must be within 30 days of the clock: the epochs of 2000 and 2001 are a year apart."""
_PRECISE_MS: Final = 60_000
"""A steady time zone is off by whole quarters of an hour, but for the way to the proxy."""

ADVICE: Final = {
    UnitGuess.ZERO: "set the event's time, or send no timestamp",
    UnitGuess.NEVER_SET: "set the event's time, or send no timestamp",
    UnitGuess.OTHER_EPOCH: "count milliseconds from 1970",
    UnitGuess.DIGITS: "parse the date, and send milliseconds since 1970",
}
_ZERO_TIMES: Final = (
    (-62_169_984_000_000, "0000-00-00", "MySQL"),
    (-62_167_219_200_000, "0000-01-01", "ISO 8601"),
    (-62_135_596_800_000, "0001-01-01", "Go and .NET"),
    (-11_644_473_600_000, "1601-01-01", "Windows"),
    (-2_209_161_600_000, "1899-12-30", "Excel"),
    (-2_208_988_800_000, "1900-01-01", "NTP"),
    (-2_082_844_800_000, "1904-01-01", "Mac and MP4"),
    (0, "1970-01-01", "Unix"),
    (315_532_800_000, "1980-01-01", "FAT and DOS"),
    (315_964_800_000, "1980-01-06", "GPS"),
    (946_684_800_000, "2000-01-01", "PostgreSQL, and clocks without a battery"),
    (978_307_200_000, "2001-01-01", "Apple"),
)
_LARGEST: Final = (
    (2_147_483_647_000, "2038-01-19, the largest second in 32 bits"),
    (4_294_967_295_000, "2106-02-07, the largest second in 32 bits without a sign"),
    (253_402_214_400_000, "9999-12-31, the largest date"),
    (253_402_300_799_999, "9999-12-31, the largest date"),
)
_SCALES: Final = (("", 1, 1), (", in seconds", 1, 1000), (", in microseconds", 1000, 1))
_NS_PER_MS: Final = 1_000_000
_POINTS: Final = (
    *(
        (value, value, "-1, which says that there is no time, in another unit")
        for value in (-1000, -(10**6), -(10**9))
    ),
    (LONG_MIN, LONG_MIN, "the smallest Long of Java"),
    (LONG_MAX, LONG_MAX, "the largest Long of Java"),
    *(
        (LONG_MIN // per, LONG_MIN // per + 1, "the smallest Long of Java, divided")
        for per in (1000, 10**6, 10**9)
    ),
    *(
        (LONG_MAX // per, LONG_MAX // per + 1, "the largest Long of Java, divided")
        for per in (1000, 10**6, 10**9)
    ),
    (116_444_736_000_000_000, 116_444_736_000_000_000, "1970-01-01, in ticks of Windows"),
    (621_355_968_000_000_000, 621_355_968_000_000_000, "1970-01-01, in ticks of .NET"),
    (3_155_378_975_999_999_999, 3_155_378_975_999_999_999, "9999-12-31, in ticks of .NET"),
)
"""The lowest and the highest value, and words for them."""


@dataclass(frozen=True, slots=True)
class OddTime:
    """One explanation of a value. `time_ms` is the time that was meant, in ms; None if none was."""

    guess: UnitGuess
    words: str
    time_ms: int | None = None


@dataclass(frozen=True, slots=True)
class _Window:
    """The values of a time that was never set: from `low` to `high`, in steps from `low`."""

    low: int
    high: int
    step: int
    words: str

    def has(self, value: int) -> bool:
        return self.low <= value <= self.high and (value - self.low) % self.step == 0

    def around(self, value: int) -> tuple[int, int]:
        """The values of this window that are all its own, or all not, like `value`; else the window."""
        if self.step == 1 or not self.low <= value <= self.high:
            return self.low, self.high
        before = value - (value - self.low) % self.step
        return (value, value) if before == value else (before + 1, before + self.step - 1)


def _windows() -> Iterator[_Window]:
    zeros = ((time_ms, f"{date}, the zero time of {owner}") for time_ms, date, owner in _ZERO_TIMES)
    for time_ms, name in (*zeros, *_LARGEST):
        step_ms = QUARTER_MS if 0 <= time_ms < 10**13 else 0
        for scale, factor, per in _SCALES if time_ms else _SCALES[:1]:
            middle, most = time_ms * factor // per, _MOST_MS * factor // per
            yield _Window(middle - most, middle + most, max(1, step_ms * factor // per), name + scale)
        if not time_ms:
            continue
        ns, most = wrap64(time_ms * _NS_PER_MS), _MOST_MS * _NS_PER_MS
        overflowed = " that overflowed" * (ns != time_ms * _NS_PER_MS)
        scale = f"{name}, in nanoseconds{overflowed}"
        yield _Window(ns - most, ns + most, max(1, step_ms * _NS_PER_MS), scale)
        for per in (1000, _NS_PER_MS, 1000 * _NS_PER_MS) if overflowed else ():
            yield _Window((ns - most) // per, (ns + most) // per + 1, 1, scale)
    for low, high, name in _POINTS:
        yield _Window(low, high, 1, name)


_WINDOWS: Final = tuple(_windows())
_COUNTED: Final = (
    ("days since 1970-01-01", Reading(ms_each=DAY_MS)),
    ("days since 1899-12-30 (Excel)", Reading(ms_each=DAY_MS, epoch_ms=2_209_161_600_000)),
    *(
        (f"{unit} since {date} ({owner})", Reading(ms_each, per_ms, -time_ms))
        for time_ms, date, owner in _ZERO_TIMES
        if time_ms and owner not in ("MySQL", "ISO 8601", "Excel")
        for unit, ms_each, per_ms in (("seconds", 1000, 1), ("milliseconds", 1, 1), ("microseconds", 1, 1000))
    ),
)
_DATES: Final = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S", 17: "%Y%m%d%H%M%S"}
_YEARS_NEAR: Final = 2


def odd_times(value: int, now_ms: int) -> tuple[OddTime, ...]:
    """Every explanation that fits; empty if none does."""
    return (*never_set(value), *_counted(value, now_ms), *_written_as_digits(value, now_ms))


def alike(value: int, from_ms: int, until_ms: int) -> tuple[int, int] | None:
    """The lowest and the highest of the values around this one that have the same explanation or none, at
    every clock between `from_ms` and `until_ms`. None if it depends on the clock, or on the last digits."""
    regions = [(*window.around(value), True) for window in _WINDOWS]
    for _, reading in _COUNTED:
        inner = reading.values(until_ms - _NEAR_MS, from_ms + _NEAR_MS)
        outer = reading.values(from_ms - _NEAR_MS, until_ms + _NEAR_MS)
        regions.append((*(inner if inner[0] <= value <= inner[1] else outer), inner[0] <= value <= inner[1]))
    year, last = (datetime.fromtimestamp(time_ms // 1000, UTC).year for time_ms in (from_ms, until_ms))
    for size in _DATES:
        tail = 10 ** (size - 4)
        regions.append(((year - _YEARS_NEAR) * tail, (last + _YEARS_NEAR) * tail, False))
    lowest, highest = LONG_MIN, LONG_MAX
    for low, high, is_uniform in regions:
        if value < low:
            highest = min(highest, low - 1)
        elif value > high:
            lowest = max(lowest, high + 1)
        elif is_uniform:
            lowest, highest = max(lowest, low), min(highest, high)
        else:
            return None
    return lowest, highest


def zone_words(drift_ms: int, other_ms: int | None = None) -> str | None:
    """`5.5 h ahead: a time zone?` if the drift, and the other one, are the same quarters of an hour from the
    clock, as local time is that was sent as UTC; else None."""
    quarters = round(drift_ms / QUARTER_MS)
    drifts = (drift_ms, drift_ms if other_ms is None else other_ms)
    is_steady = all(abs(drift - quarters * QUARTER_MS) <= _PRECISE_MS for drift in drifts)
    if not is_steady or not 0 < abs(quarters) * QUARTER_MS <= _MOST_MS:
        return None
    return f"{abs(quarters) / 4:g} h {'ahead' if quarters > 0 else 'behind'}: a time zone?"


def never_set(value: int) -> Iterator[OddTime]:
    """The explanations that need no clock."""
    for words in dict.fromkeys(window.words for window in _WINDOWS if window.has(value)):
        yield OddTime(UnitGuess.NEVER_SET, words)


def _counted(value: int, now_ms: int) -> Iterator[OddTime]:
    for words, reading in _COUNTED:
        if abs((time_ms := reading.read(value)) - now_ms) <= _NEAR_MS:
            yield OddTime(UnitGuess.OTHER_EPOCH, words, time_ms)


def _written_as_digits(value: int, now_ms: int) -> Iterator[OddTime]:
    text = str(value)
    with suppress(ValueError, KeyError):
        meant = datetime.strptime(text[:14], _DATES[len(text)]).replace(tzinfo=UTC)
        time_ms = int(meant.timestamp()) * 1000 + int(text[14:] or 0)
        if abs(time_ms - now_ms) <= 365 * DAY_MS:
            shape = "yyyyMMddHHmmssSSS"[: len(text)]
            yield OddTime(UnitGuess.DIGITS, f"{shape} as a number", time_ms)
