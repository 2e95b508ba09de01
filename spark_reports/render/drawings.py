"""The pictures of a page as HTML and SVG, in the page's colours: they are CSS classes, so its light, dark and
print palettes apply. The bars have no letters in them, so one drawing suits every width."""

from collections.abc import Sequence
from typing import Final

from spark_reports.report import words
from tsproxy.model.markup import Markup, element

_STEP: Final = 10
_BAR: Final = 8
_HEIGHT: Final = 100


def _px(number: float) -> str:
    """The text of a coordinate, with at most one decimal."""
    return f"{number:.1f}".rstrip("0").rstrip(".")


def meter(part: float, whole: float) -> Markup:
    """A bar beside a number: its part of a whole."""
    width = min(100.0, max(0.5, 100 * part / (whole or 1)))
    bar = element("span", style=f"width:{width:.1f}%")
    return element("span", bar, class_="meter")


def spark(values: Sequence[int], label: str, most: int = 0) -> Markup:
    """A small bar for each hour or day. `label` describes it in words. `most`: the value of a whole bar, if
    several have one scale; 0 for a scale of its own."""
    most = most or max([1, *values])
    height, step = 26, 4
    rises = {n: _px(max(1.5, height * value / most)) for n, value in enumerate(values) if value}
    bars = "".join(f"M{n * step} {height}v-{rise}h3v{rise}z" for n, rise in rises.items())
    width = step * len(values)
    return element(
        "svg",
        element("title", label),
        element("path", d=f"M0 {height + 0.5}h{width}", class_="base"),
        element("path", d=bars, class_="rejected") if bars else None,
        class_="spark",
        viewBox=f"0 0 {width} {height + 1}",
        width=min(width, 192),
        height=height + 1,
        preserveAspectRatio="none",
        role="img",
    )


def hours(title: str, series: Sequence[tuple[str, str, Sequence[int]]], labels: Sequence[str]) -> Markup:
    """A bar for each hour, stacked by kind. `series`: (look, words, a number for each hour)."""
    width = _STEP * len(series[0][2])
    return element(
        "section",
        element("h2", title, id="day"),
        element(
            "svg",
            element("title", f"{title}. Hours are UTC."),
            *_stacked(series),
            element("path", d=f"M0 {_HEIGHT}h{width}", class_="base"),
            class_="by-hour",
            viewBox=f"0 0 {width} {_HEIGHT}",
            preserveAspectRatio="none",
            role="img",
        ),
        element("p", *[element("span", label) for label in labels], class_="scale soft"),
        element(
            "p",
            *[element("span", element("i", class_=look), text) for look, text, _ in series],
            class_="legend soft",
        ),
        aria_labelledby="day",
    )


def _stacked(series: Sequence[tuple[str, str, Sequence[int]]]) -> list[Markup]:
    """A path for each kind, with a bar for each hour on top of those of the kinds before it."""
    feet = [0] * len(series[0][2])
    most = max(sum(hour) for hour in zip(*(values for _, _, values in series), strict=True))
    paths = []
    for look, _, values in series:
        bars = []
        for hour, value in enumerate(values):
            if value:
                low, high = (_HEIGHT * foot / most for foot in (feet[hour], feet[hour] + value))
                rise = _px(max(1.0, high - low))
                bars.append(f"M{hour * _STEP + 1} {_px(_HEIGHT - low)}v-{rise}h{_BAR}v{rise}z")
            feet[hour] += value
        paths.append(element("path", d="".join(bars), class_=look))
    return paths


def days(title: str, bars: Sequence[tuple[str, str, float, str | None]]) -> Markup:
    """A bar for each day: (day, number, height from 0 to 1, why it is pale: None if it is not)."""
    return element(
        "section",
        element("h2", title, id="week"),
        element("ol", *[_day(*bar) for bar in bars], class_="week"),
        aria_labelledby="week",
    )


def _day(day: str, number: str, height: float, why: str | None) -> Markup:
    return element(
        "li",
        element("b", number),
        element("span", element("i", style=f"height:{100 * height:.0f}%"), class_="rise"),
        element("span", day[8:], element("span", f" {why}", class_="unseen") if why else None),
        title=f"{day} {why or ''}".strip(),
        class_=None if why is None else "pale",
    )


def balance(whole: int, parts: Sequence[tuple[int, str, str]], note: str) -> Markup:
    """A number as the sum of its parts, drawn and in words: (number, words, look)."""
    bar = [element("span", class_=look, style=f"flex-grow:{number / whole:.5f}") for number, _, look in parts]
    legend = [
        element(
            "li",
            element("i", class_=look),
            element("b", words.count(number)),
            f" {text} ",
            element("span", words.share(number, whole), class_="soft"),
        )
        for number, text, look in parts
    ]
    return element(
        "section",
        element("p", element("b", words.count(whole)), " records checked =", class_="judged"),
        element("div", *bar, class_="bar", role="presentation"),
        element("ul", *legend, class_="legend"),
        element("p", note, class_="soft") if note else None,
        class_="balance",
        aria_label="How the records ended",
    )
