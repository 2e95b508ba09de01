"""The pictures of the first screen: rejected records by hour and cause, and the shares of eight days.

The bars have no letters in them, so one drawing suits every width; their labels are text of the page.
"""

from collections.abc import Sequence
from typing import Final

from spark_reports.render.balance import parts_of, sent_again
from spark_reports.render.charts import px
from spark_reports.report import history, words
from spark_reports.report.causes import KINDS
from spark_reports.report.shape import CauseHours, Report
from spark_reports.report.shape_for_readers import PastDay
from tsproxy.model.markup import Markup, element, join

_DIRECTIONS: Final = {
    "better": "better than usual",
    "worse": "worse than usual",
    "as_usual": "as usual",
    "not_compared": "not compared",
}
_STEP: Final = 10
_BAR: Final = 8
_HEIGHT: Final = 100
_LABELS: Final = ("00", "06", "12", "18", "24")


def pictures(report: Report) -> Markup | None:
    """The day and the week beside each other; None if there is nothing to draw."""
    found = [each for each in (by_hour(report, report["cause_hours"]), week(report)) if each]
    return element("div", *found, class_="pictures") if found else None


def by_hour(report: Report, rows: Sequence[CauseHours]) -> Markup | None:
    """A bar for each hour, stacked by cause; None without rejections."""
    sums = [sum(hour) for hour in zip(*(row["rejected_records"] for row in rows), strict=True)]
    most = max(sums, default=0)
    if not most:
        return None
    busiest = report["hours"][sums.index(most)]
    title = f"Rejected by hour: most at {words.moment(report, f'{busiest}:00')}, {words.count(most)}"
    is_one_day = report["first_day"] == report["last_day"]
    labels = _LABELS if is_one_day else (report["first_day"], report["last_day"])
    kinds = [row["kind"] if row["kind"] in KINDS else "others" for row in rows]
    return element(
        "section",
        element("h2", title, id="day"),
        element(
            "svg",
            element("title", f"{title}. Hours are UTC."),
            *_stacked([row["rejected_records"] for row in rows], kinds, most),
            element("path", d=f"M0 {_HEIGHT}h{_STEP * len(sums)}", class_="base"),
            class_="by-hour",
            viewBox=f"0 0 {_STEP * len(sums)} {_HEIGHT}",
            preserveAspectRatio="none",
            role="img",
        ),
        element("p", *[element("span", label) for label in labels], class_="scale soft"),
        element(
            "p",
            *[element("span", element("i", class_=kind), KINDS[kind]) for kind in kinds],
            class_="legend soft",
        ),
        aria_labelledby="day",
    )


def _stacked(rows: Sequence[Sequence[int]], kinds: Sequence[str], most: int) -> list[Markup]:
    """A path for each row and its kind, with a bar for each hour on top of those of the rows before it."""
    feet = [0] * len(rows[0])
    paths = []
    for values, kind in zip(rows, kinds, strict=True):
        parts = []
        for hour, value in enumerate(values):
            if value:
                low, high = (_HEIGHT * each / most for each in (feet[hour], feet[hour] + value))
                rise = px(max(1.0, high - low))
                parts.append(f"M{hour * _STEP + 1} {px(_HEIGHT - low)}v-{rise}h{_BAR}v{rise}z")
            feet[hour] += value
        paths.append(element("path", d="".join(parts), class_=kind))
    return paths


def week(report: Report) -> Markup | None:
    """The share of rejected records of each of eight days, on a scale of their own; None without a rollup."""
    found = report["history"]
    if found is None:
        return None
    most = max([history.share(day) for day in found["days"]] + [0.0]) or 1.0
    title = f"Rejected by day: {_DIRECTIONS.get(found['direction'], 'not compared')}"
    return element(
        "section",
        element("h2", title, id="week"),
        element("ol", *[_day(day, most) for day in found["days"]], class_="week"),
        aria_labelledby="week",
    )


def _day(day: PastDay, most: float) -> Markup:
    """The bar of a day. It is pale if the day is not compared, and a dash if nothing is known of it."""
    shown = words.short(day["day"], 10)
    share = history.in_words(day) if day["records"] else "–"
    why = "" if day["is_compared"] else history.reason(day)
    height = 100 * history.share(day) / most
    return element(
        "li",
        element("b", share),
        element("span", element("i", style=f"height:{height:.0f}%"), class_="rise"),
        element("span", shown[8:], element("span", f" {why}", class_="unseen") if why else None),
        title=f"{shown} {why}".strip(),
        class_=None if day["is_compared"] else "pale",
    )


def balance(report: Report) -> Markup:
    """Checked records as the sum of their outcomes: a bar, and the sum in words."""
    totals = report["totals"]
    parts = parts_of(totals)
    judged = totals["records_judged"]
    bar = [
        element("span", class_=kind, style=f"flex-grow:{records / judged:.5f}")
        for records, _, kind in parts
        if records
    ]
    legend = [
        element(
            "li",
            element("i", class_=kind),
            element("b", words.count(records)),
            f" {text} ",
            element("span", words.share(records, judged), class_="soft"),
        )
        for records, text, kind in parts
    ]
    again = sent_again(totals)
    return element(
        "section",
        element("p", element("b", words.count(judged)), " records checked =", class_="judged"),
        element("div", *bar, class_="bar", role="presentation"),
        element("ul", *legend, class_="legend"),
        element("p", again, class_="soft") if again else None,
        class_="balance",
        aria_label="How the records ended",
    )


def in_words(report: Report) -> Markup:
    """The sentences of the report: its causes, the week before, and facts that need a sentence."""
    found = report["history"]
    texts = [*report["details"], *([found["sentence"]] if found else [])]
    return join(*[element("p", words.short(text, 2_000)) for text in texts])
