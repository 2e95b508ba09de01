"""Times and durations as short texts for tables. Pure."""

from datetime import UTC, datetime
from typing import Final

_YEAR_MS: Final = 31_556_952_000
"""A Gregorian year on average."""
_LAST_DATED_MS: Final = 253_402_300_799_999
"""The end of the year 9999, where calendars (and Python) end."""
_FIRST_DATED_MS: Final = -62_135_596_800_000

_SPANS: Final = ((_YEAR_MS, "years"), (86_400_000, "days"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def instant(at_ms: int) -> str:
    """`2026-11-21 15:20:01 UTC`; only the year if it is beyond the calendar."""
    if _FIRST_DATED_MS <= at_ms <= _LAST_DATED_MS:
        return f"{datetime.fromtimestamp(at_ms // 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    return f"the year {1970 + at_ms // _YEAR_MS:,}"


def span(length_ms: int) -> str:
    """`3.2 h`, `7 days`, `55,918 years`."""
    for unit_ms, name in _SPANS:
        if length_ms >= unit_ms:
            length = length_ms / unit_ms
            return f"{length:,.0f} {name}" if length >= 10 else f"{round(length, 1):g} {name}"
    return f"{length_ms} ms"
