"""The days of a period, both ends included."""

from datetime import date, timedelta


def days_between(first: date, last: date) -> list[date]:
    return [first + timedelta(days=n) for n in range((last - first).days + 1)]


def period_text(first: date, last: date) -> str:
    """`2026-11-20`, or `2026-11-20..2026-11-21`."""
    return f"{first}" if first == last else f"{first}..{last}"
