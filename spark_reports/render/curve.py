"""The what-if curve: the records that each limit would reject, farther ahead and farther behind the clock.

Both axes are logarithmic: people set limits from a tenth of a second to ten years, and a few records matter
beside millions. The points are exact; the lines only join them. If a line does not fall before its right end,
no limit helps: those timestamps are in a wrong unit, or their clock is far off.
"""

from collections.abc import Callable, Sequence
from math import log10
from typing import Final

from spark_reports.render.charts import Frame, level, levels, px, svg, tick
from spark_reports.report import words
from spark_reports.report.shape import AtLimit, WhatIf
from spark_reports.report.what_if import KAFKA_4_AFTER_MS, SIDES
from tsproxy.model.markup import Markup, element, join

WIDE: Final = Frame(width=1040, height=270, bins_per_decade=0, tick_gap=52, right=18, top=26)
NARROW: Final = Frame(width=350, height=240, bins_per_decade=0, tick_gap=40, left=34, right=16, top=26)
_DAY: Final = 86_400_000
_TICKS: Final = (
    *((3_600_000, "1 h"), (_DAY, "1 d"), (1_000, "1 s"), (60_000, "1 min"), (365 * _DAY, "1 y")),
    *((3_650 * _DAY, "10 y"), (100, "100 ms"), (7 * _DAY, "7 d"), (30 * _DAY, "30 d")),
    *((10_000, "10 s"), (600_000, "10 min"), (21_600_000, "6 h")),
)
"""The ticks of the foot, the most important first."""
_KAFKA_4: Final = f"Kafka 4's default: {words.duration(KAFKA_4_AFTER_MS)} ahead"


def both(found: WhatIf) -> Markup:
    """The curve for wide and for narrow screens; the style sheet shows one of them."""
    return join(
        element("div", drawing(found, WIDE, has_points=True), class_="wide"),
        element("div", drawing(found, NARROW, has_points=False), class_="narrow"),
    )


def drawing(found: WhatIf, frame: Frame, *, has_points: bool) -> Markup:
    """The curve in one size; `has_points`: each exact point has a tooltip."""
    limits_ms = [row["limit_ms"] for side in SIDES for row in _side(found, side)]
    x, y = _along(min(limits_ms), max(limits_ms), frame), _up(found["records"], frame)
    return svg(
        frame,
        "drift curve",
        element("title", described(found)),
        *[
            level(frame, y(records), records, "grid" if records else "base")
            for records in (0, *levels(found["records"]))
        ],
        *_ticks(x, frame),
        *_kafka_4(found, x, y, frame),
        *[_line(_side(found, side), side, x, y) for side in SIDES],
        *[point for side in SIDES for point in _points(found, side, x, y) if has_points],
    )


def described(found: WhatIf) -> str:
    """The chart in words, for screen readers. The table beneath it has all numbers."""
    sentences = [f"Records that a limit would reject, of {words.count(found['records'])}, both logarithmic."]
    for side in SIDES:
        first, *_, last = _side(found, side)
        sentences.append(
            f"Farther {side} than {words.duration(first['limit_ms'])} {words.count(first['records'])}, "
            f"than {words.duration(last['limit_ms'])} {words.count(last['records'])}."
        )
    marked = [row for row in found["ahead"] if row["limit_ms"] == KAFKA_4_AFTER_MS]
    sentences += [f"{_KAFKA_4}, {words.count(row['records'])}." for row in marked]
    return " ".join(sentences)


def _side(found: WhatIf, side: str) -> list[AtLimit]:
    return found["ahead"] if side == "ahead" else found["behind"]


_Scale = Callable[[int], float]


def _along(low_ms: int, high_ms: int, frame: Frame) -> _Scale:
    """A limit in ms to a pixel from the left."""
    low, reach = log10(low_ms), max(1.0, log10(high_ms) - log10(low_ms))
    inner = frame.width - frame.left - frame.right
    return lambda limit_ms: frame.left + inner * (log10(limit_ms) - low) / reach


def _up(most: int, frame: Frame) -> _Scale:
    """A number of records to a pixel from the top. 0 lies at the foot."""
    inner = frame.height - frame.top - frame.bottom
    return lambda records: frame.height - frame.bottom - inner * log10(1 + records) / log10(1 + max(1, most))


def _line(rows: Sequence[AtLimit], side: str, x: _Scale, y: _Scale) -> Markup:
    path = "L".join(f"{px(x(row['limit_ms']))} {px(y(row['records']))}" for row in rows)
    return element("path", d=f"M{path}", class_=side)


def _points(found: WhatIf, side: str, x: _Scale, y: _Scale) -> list[Markup]:
    return [
        element(
            "circle",
            element(
                "title",
                f"farther {side} than {words.duration(row['limit_ms'])}: "
                f"{words.many(row['records'], 'record')} ({words.share(row['records'], found['records'])})",
            ),
            cx=px(x(row["limit_ms"])),
            cy=px(y(row["records"])),
            r=3,
            class_=side,
        )
        for row in _side(found, side)
    ]


def _kafka_4(found: WhatIf, x: _Scale, y: _Scale, frame: Frame) -> list[Markup]:
    """The line of Kafka 4's own default, and the number of records ahead that it would reject."""
    at, foot = px(x(KAFKA_4_AFTER_MS)), frame.height - frame.bottom
    for row in found["ahead"]:
        if row["limit_ms"] == KAFKA_4_AFTER_MS:
            name = f"{_KAFKA_4}, {words.short_count(row['records'])} records"
            return [
                element("line", x1=at, x2=at, y1=frame.top - 6, y2=foot, class_="limit"),
                element("text", name, x=at, y=frame.top - 12, class_="mid limit"),
                element("circle", cx=at, cy=px(y(row["records"])), r=5, class_="limit"),
            ]
    return []


def _ticks(x: _Scale, frame: Frame) -> list[Markup]:
    """Limits along the foot. Less important ones are left out if they would overlap."""
    taken: dict[float, str] = {}
    for tick_ms, label in _TICKS:
        at = x(tick_ms)
        if all(abs(at - other) >= frame.tick_gap for other in taken):
            taken[at] = label
    return [tick(frame, at, label) for at, label in taken.items()]
