"""Numbers and times in sentences.

`tests/test_numbers.py` finds a noun that is plural whatever its number is.
"""

from datetime import UTC, datetime
from typing import Final

_LAST_DATED_MS: Final = 253_402_300_799_999
"""The end of the year 9999, where calendars (and Python) end."""
_FIRST_DATED_MS: Final = -62_135_596_800_000


def many(count: int, one: str, some: str | None = None) -> str:
    """`1 record`, `2,000 records`. `some` is the plural if it is not `one` with an s."""
    return f"{count:,} {noun(count, one, some)}"


def noun(count: int, one: str, some: str | None = None) -> str:
    """`record` for 1, else `records`: for `1 of 1 record`."""
    return one if count == 1 else some or f"{one}s"


def dated(at_ms: int) -> str | None:
    """`2026-11-21 15:20:01 UTC`; None for a time beyond the calendar."""
    if not _FIRST_DATED_MS <= at_ms <= _LAST_DATED_MS:
        return None
    return datetime.fromtimestamp(at_ms // 1000, UTC).isoformat(" ")[:19] + " UTC"
