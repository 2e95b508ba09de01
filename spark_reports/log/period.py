"""The days of a period, both ends included."""

from collections.abc import Iterable
from datetime import date, timedelta


def days_between(first: date, last: date) -> list[date]:
    return [first + timedelta(days=n) for n in range((last - first).days + 1)]


def day_of(text: str) -> date | None:
    """The day of a text such as `2026-11-20`; None for any other text."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if str(day) == text else None


def days_named(names: Iterable[str], form: str) -> list[date]:
    """The days of the names of a form such as `{}.json`, in which `{}` stands for the day."""
    before, after = form.split("{}")
    days = ((name, day_of(name.removeprefix(before).removesuffix(after))) for name in names)
    return [day for name, day in days if day is not None and form.format(day) == name]


def period_text(first: date, last: date) -> str:
    """`2026-11-20`, or `2026-11-20..2026-11-21`."""
    return f"{first}" if first == last else f"{first}..{last}"
