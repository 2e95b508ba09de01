"""Which of the days asked for are there, and how days are said: `2026-11-14 to 2026-11-19, 2026-11-21`."""

from collections.abc import Collection, Sequence
from datetime import date, timedelta


def missing(first: date, last: date, there: Collection[str]) -> list[str]:
    """The days from `first` to `last`, `2026-11-20`, that are not `there`."""
    days = (first + timedelta(days=n) for n in range((last - first).days + 1))
    return [day.isoformat() for day in days if day.isoformat() not in there]


def said(days: Sequence[str]) -> str:
    """Days in their order, those that follow each other as one span."""
    spans: list[list[str]] = []
    for day in days:
        if spans and date.fromisoformat(day) - date.fromisoformat(spans[-1][-1]) == timedelta(days=1):
            spans[-1] = [spans[-1][0], day]
        else:
            spans.append([day])
    return ", ".join(" to ".join(span) for span in spans)
