"""The units that producers send instead of milliseconds since 1970: one table, `UNITS`.

Each unit has a name, advice in words, and its arithmetic. `policy.units` guesses the unit by this table and
repairs by it, and the reports use its words. .NET counts its ticks from year 1, Windows' FILETIME from 1601.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from tsproxy.model.verdict import UnitGuess


@dataclass(frozen=True, slots=True)
class Reading:
    """The arithmetic of one unit. A value times `ms_each` divided by `per_ms` is in milliseconds since an
    epoch that lies `epoch_ms` before 1970."""

    ms_each: int = 1
    per_ms: int = 1
    epoch_ms: int = 0

    def read(self, value: int) -> int:
        return value * self.ms_each // self.per_ms - self.epoch_ms

    def values(self, lowest_ms: int, highest_ms: int) -> tuple[int, int]:
        """The lowest and the highest value whose times are within these bounds."""
        lowest = -((-(lowest_ms + self.epoch_ms) * self.per_ms) // self.ms_each)
        return lowest, ((highest_ms + self.epoch_ms + 1) * self.per_ms - 1) // self.ms_each


@dataclass(frozen=True, slots=True)
class Unit:
    """`name` and `advice` are words for people. A unit that is counted from several epochs has several
    readings."""

    name: str
    advice: str
    readings: tuple[Reading, ...]

    def read(self, value: int, now_ms: int) -> int:
        """The value in milliseconds since 1970, by the reading that is nearest to the clock."""
        return min((reading.read(value) for reading in self.readings), key=lambda ms: abs(ms - now_ms))


_TICKS_PER_MS: Final = 10_000
_EPOCH_1601_MS: Final = 11_644_473_600_000
"""From 1601-01-01, where FILETIME begins, to 1970-01-01."""
_EPOCH_0001_MS: Final = 62_135_596_800_000
"""From 0001-01-01, where .NET's ticks begin, to 1970-01-01."""

UNITS: Final[Mapping[UnitGuess, Unit]] = MappingProxyType(
    {
        UnitGuess.SECONDS: Unit("seconds", "multiply by 1,000", (Reading(ms_each=1000),)),
        UnitGuess.MICROSECONDS: Unit("microseconds", "divide by 1,000", (Reading(per_ms=1000),)),
        UnitGuess.NANOSECONDS: Unit("nanoseconds", "divide by 1,000,000", (Reading(per_ms=1_000_000),)),
        UnitGuess.MILLISECONDS_TIMES_1000_TWICE: Unit(
            "milliseconds times 1,000 twice", "divide by 1,000,000", (Reading(per_ms=1_000_000),)
        ),
        UnitGuess.TICKS_100NS: Unit(
            "ticks of 100 ns",
            "divide by 10,000 and count from 1970",
            (
                Reading(per_ms=_TICKS_PER_MS, epoch_ms=_EPOCH_1601_MS),
                Reading(per_ms=_TICKS_PER_MS, epoch_ms=_EPOCH_0001_MS),
            ),
        ),
    }
)
"""The units in the order in which they are tried. `odd_times` has the guesses that are no unit."""
