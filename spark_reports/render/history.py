"""The day beside the week before it: two of the six numbers, and a small chart of eight days."""

from typing import Final

from spark_reports.render.charts import px
from spark_reports.report import history, words
from spark_reports.report.shape import Report
from spark_reports.report.shape_for_readers import History, PastDay
from tsproxy.model.markup import Markup, element

_DIRECTIONS: Final = {"better": "better", "worse": "worse", "as_usual": "as usual"}
_HEIGHT: Final = 26
_STEP: Final = 11
_BAR: Final = 8


def of(report: Report) -> History | None:
    """The history of a report; None without a rollup, and for a report of an earlier release."""
    return report.get("history")


def against_the_week(found: History) -> tuple[str, str, str]:
    """(number, name, note): better or worse than the median of the days before."""
    usual = found["usual"]
    if usual is None:
        return "–", "against the week before", "nothing to compare with"
    days = words.many(usual["days"], "day")
    note = f"{history.in_words(usual['share_of'])} rejected in the median of {days}"
    return _DIRECTIONS.get(found["direction"], "–"), "against the week before", note


def new_producers(report: Report) -> tuple[str, str, str]:
    """(number, name, note): producers that were never rejected in the days before."""
    if report["trend"] is None:
        return "–", "new producers", "no day before is known"
    count = words.new_count(report["trend"])
    name = "new producer" if count == 1 else "new producers"
    return words.count(count), name, "never rejected in the days before"


def sparkline(found: History) -> Markup:
    """A bar for the share of each day; the last one is the day itself. A day without records, or one that the
    rollup does not hold, has a dash instead. The bar of a day that is not compared is pale."""
    most = max([history.share(day) for day in found["days"]] + [0.0]) or 1.0
    width = _STEP * len(found["days"])
    return element(
        "svg",
        element("title", "Share of records rejected: " + ", ".join(map(_day_words, found["days"]))),
        element("path", d=f"M0 {_HEIGHT + 0.5}h{width}", class_="base"),
        *[_mark(n * _STEP, day, most) for n, day in enumerate(found["days"])],
        class_="week",
        viewBox=f"0 0 {width} {_HEIGHT + 1}",
        width=width,
        height=_HEIGHT + 1,
        role="img",
    )


def _mark(x: int, day: PastDay, most: float) -> Markup:
    if not day["records"]:
        return element("path", d=f"M{x + 1} {_HEIGHT / 2:.0f}h{_BAR - 2}", class_="base")
    height = max(1.0, _HEIGHT * history.share(day) / most)
    return element(
        "rect",
        x=x,
        y=px(_HEIGHT - height),
        width=_BAR,
        height=px(height),
        class_="rejected" if day["is_compared"] else "rejected pale",
    )


def _day_words(day: PastDay) -> str:
    shown = words.short(day["day"], 10)
    if not day["records"]:
        return f"{shown} {history.reason(day)}"
    whole = "" if day["state"] not in history.STATE_WORDS else f" ({history.STATE_WORDS[day['state']]})"
    return f"{shown} {history.in_words(day)}{whole}"
