"""Times and durations as short texts, and tables of texts. Pure."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from tsproxy.model.words import dated

_YEAR_MS: Final = 31_556_952_000
"""A Gregorian year on average."""
_SPANS: Final = ((_YEAR_MS, "year"), (86_400_000, "day"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def instant(at_ms: int) -> str:
    """`2026-11-21 15:20:01 UTC`; only the year if it is beyond the calendar."""
    return dated(at_ms) or f"the year {1970 + at_ms // _YEAR_MS:,}"


def span(length_ms: int) -> str:
    """`3.2 h`, `7 days`, `55,918 years`."""
    for unit_ms, name in _SPANS:
        if length_ms >= unit_ms:
            length = length_ms / unit_ms
            number = f"{length:,.0f}" if length >= 10 else f"{round(length, 1):g}"
            is_many = number != "1" and name in ("year", "day")
            return f"{number} {name}{'s' if is_many else ''}"
    return f"{length_ms} ms"


def table(rows: Sequence[Sequence[str]], numbers: Collection[int] = ()) -> Iterator[str]:
    """The lines of a table. The columns in `numbers` are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.rjust(width) if column in numbers else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield ("  " + "  ".join(cells)).rstrip()


def more(count: int) -> str:
    """The last line of a table that leaves out so many rows."""
    return f"  … and {count:,} more (--rows, --json)"
