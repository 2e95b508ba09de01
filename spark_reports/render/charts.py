"""SVG in the page's colours: a butterfly chart of drifts, and sparklines.

Colours are CSS classes, so the page's light, dark and print palettes apply; every drawing has a text that
says what it shows, every bar a tooltip. Coordinates are CSS pixels at the drawing's own width: there is one
drawing for wide screens and one for narrow ones, so that letters keep their size.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, log10
from typing import Final

from spark_reports.report import words
from spark_reports.report.shape import DriftBucket
from tsproxy.model.markup import Markup, element, join

_SECOND: Final = 1_000
_DAY: Final = 86_400_000
_YEAR: Final = 31_556_952_000

TICKS: Final = (
    (_SECOND, "1 s"),
    (60 * _SECOND, "1 min"),
    (3600 * _SECOND, "1 h"),
    (_DAY, "1 d"),
    (_YEAR, "1 y"),
    (100 * _YEAR, "100 y"),
    (10_000 * _YEAR, "10k y"),
    (10**6 * _YEAR, "1M y"),
    (10**8 * _YEAR, "100M y"),
)
_LEAST_SPAN_MS: Final = 2 * _DAY
"""The chart reaches at least this far on either side."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A named vertical line at a signed drift: a limit, or the place of a unit mistake."""

    drift_ms: int
    name: str
    kind: str
    """CSS class: `limit` or `unit`."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Sizes of one drawing, in pixels, and what fits into it."""

    width: int
    height: int
    bins_per_decade: int
    tick_gap: int
    left: int = 44
    right: int = 10
    top: int = 62
    bottom: int = 26


WIDE: Final = Frame(width=1040, height=336, bins_per_decade=4, tick_gap=44)
NARROW: Final = Frame(width=350, height=340, bins_per_decade=2, tick_gap=34, left=34, right=4)


class _Axis:
    """Symmetric logarithmic: a signed drift in ms to a pixel."""

    def __init__(self, low_ms: int, high_ms: int, frame: Frame) -> None:
        self._low, self._high = decades(low_ms), decades(high_ms)
        self._frame = frame

    def x(self, drift_ms: float) -> float:
        return self.at(decades(drift_ms))

    def at(self, position: float) -> float:
        inner = self._frame.width - self._frame.left - self._frame.right
        return self._frame.left + inner * (position - self._low) / (self._high - self._low)


def decades(drift_ms: float) -> float:
    """The drift's signed logarithm: 0 for none, 3 for 1 s ahead, -3 for 1 s behind."""
    magnitude = log10(1 + abs(drift_ms))
    return magnitude if drift_ms >= 0 else -magnitude


def drift_chart(buckets: Sequence[DriftBucket], marks: Sequence[Mark], frame: Frame) -> Markup:
    """Records by drift: rejected ones below the line, others above it, both on logarithmic scales."""
    low_ms, high_ms = _span(buckets)
    axis = _Axis(low_ms, high_ms, frame)
    bins = _bins(buckets, frame.bins_per_decade)
    most = max([1, *(n for others, rejected, _ in bins.values() for n in (others, rejected))])
    middle = frame.top + (frame.height - frame.top - frame.bottom) / 2
    half = middle - frame.top
    inside = [mark for mark in marks if low_ms < mark.drift_ms < high_ms]
    return element(
        "svg",
        element("title", _drift_words(buckets)),
        *_grid(frame, most, middle, half),
        *_ticks(axis, frame, low_ms, high_ms),
        *_marks(axis, frame, inside),
        *_bars(axis, frame, bins, most, middle, half),
        element(
            "line", x1=frame.left, x2=frame.width - frame.right, y1=px(middle), y2=px(middle), class_="base"
        ),
        class_="drift",
        viewBox=f"0 0 {frame.width} {frame.height}",
        width=frame.width,
        height=frame.height,
        role="img",
    )


def px(number: float) -> str:
    """A coordinate, short."""
    return f"{number:.1f}".rstrip("0").rstrip(".")


def _span(buckets: Sequence[DriftBucket]) -> tuple[int, int]:
    """The signed drifts to be shown, a little beyond the outermost bars."""
    low = max([_LEAST_SPAN_MS, *(b["up_to_ms"] for b in buckets if b["bucket"] < 0)])
    high = max([_LEAST_SPAN_MS, *(b["up_to_ms"] for b in buckets if b["bucket"] > 0)])
    return -2 * low, 2 * high


def _bins(buckets: Iterable[DriftBucket], per_decade: int) -> dict[int, tuple[int, int, DriftBucket]]:
    """Buckets gathered into bars of equal width: bar -> (not rejected, rejected, the widest bucket)."""
    bins: dict[int, tuple[int, int, DriftBucket]] = {}
    for bucket in buckets:
        middle = (decades(bucket["above_ms"]) + decades(bucket["up_to_ms"])) / 2
        place = ceil(middle * per_decade) if middle else 0
        index = -place if bucket["bucket"] < 0 else place
        others, rejected, span = bins.get(index, (0, 0, bucket))
        above, up_to = min(span["above_ms"], bucket["above_ms"]), max(span["up_to_ms"], bucket["up_to_ms"])
        merged: DriftBucket = {**bucket, "above_ms": above, "up_to_ms": up_to}
        bins[index] = (others + bucket["not_rejected_records"], rejected + bucket["rejected_records"], merged)
    return bins


def _bars(
    axis: _Axis,
    frame: Frame,
    bins: dict[int, tuple[int, int, DriftBucket]],
    most: int,
    middle: float,
    half: float,
) -> list[Markup]:
    bars = []
    for index, (others, rejected, span) in sorted(bins.items()):
        left, right = _reach(axis, index, span, frame.bins_per_decade)
        width = max(2.0, right - left - 1)
        side = "ahead" if index > 0 else "behind"
        reach = f"{words.duration(span['above_ms'])} to {words.duration(span['up_to_ms'])} {side}"
        for records, kind, said in ((others, "accepted", "not rejected"), (rejected, "rejected", "rejected")):
            if records:
                height = max(2.0, half * log10(1 + records) / log10(1 + most))
                bars.append(
                    element(
                        "rect",
                        element("title", f"{reach}: {words.many(records, 'record')} {said}"),
                        x=px(left),
                        y=px(middle - height if kind == "accepted" else middle),
                        width=px(width),
                        height=px(height),
                        class_=kind,
                    )
                )
    return bars


def _reach(axis: _Axis, index: int, span: DriftBucket, per_decade: int) -> tuple[float, float]:
    """Left and right of a bar: its bin, or the bucket itself where that is wider than a bin."""
    if index == 0:
        return axis.at(-0.5 / per_decade), axis.at(0.5 / per_decade)
    near, far = decades(span["above_ms"]), decades(span["up_to_ms"])
    if (far - near) * per_decade < 1:
        near, far = (abs(index) - 1) / per_decade, abs(index) / per_decade
    return (axis.at(near), axis.at(far)) if index > 0 else (axis.at(-far), axis.at(-near))


def _grid(frame: Frame, most: int, middle: float, half: float) -> list[Markup]:
    """Lines at 1, 100, 10,000 … records, above and below."""
    parts = []
    for power in range(2, 19, 2):
        if 10**power > most:
            break
        rise = half * log10(1 + 10**power) / log10(1 + most)
        for y in (middle - rise, middle + rise):
            parts.append(
                element(
                    "line", x1=frame.left, x2=frame.width - frame.right, y1=px(y), y2=px(y), class_="grid"
                )
            )
            label = words.short_count(10**power)
            parts.append(element("text", label, x=frame.left - 6, y=px(y + 4), class_="num"))
    return parts


def _ticks(axis: _Axis, frame: Frame, low_ms: int, high_ms: int) -> list[Markup]:
    """Durations along the foot, from the middle outwards. Labels that would overlap are left out."""
    y = frame.height - 8
    parts = [element("text", "0", x=px(axis.x(0)), y=y, class_="mid")]
    for sign, limit_ms in ((-1, -low_ms), (1, high_ms)):
        last = axis.x(0)
        for tick_ms, label in TICKS:
            x = axis.x(sign * tick_ms)
            has_room = abs(x - last) >= frame.tick_gap and frame.left + 8 < x < frame.width - 18
            if tick_ms < limit_ms and has_room:
                parts.append(element("text", label, x=px(x), y=y, class_="mid"))
                parts.append(element("line", x1=px(x), x2=px(x), y1=y - 16, y2=y - 12, class_="base"))
                last = x
    return parts


def _marks(axis: _Axis, frame: Frame, marks: Sequence[Mark]) -> list[Markup]:
    """Named lines; names that would touch go one row higher."""
    parts: list[Markup] = []
    rows: list[float] = []
    for mark in sorted(marks, key=lambda mark: mark.drift_ms):
        x = axis.x(mark.drift_ms)
        room = 7 * len(mark.name) + 8
        start = min(max(x - room / 2, 0), frame.width - room)
        row = next((n for n, end in enumerate(rows) if start >= end), len(rows))
        if (row + 1) * 15 > frame.top - 2:
            continue
        rows[row : row + 1] = [start + room]
        y = frame.top - 8 - 15 * row
        parts.append(
            element(
                "line", x1=px(x), x2=px(x), y1=px(y + 3), y2=frame.height - frame.bottom, class_=mark.kind
            )
        )
        parts.append(element("text", mark.name, x=px(start + room / 2), y=px(y), class_=f"mid {mark.kind}"))
    return parts


def _drift_words(buckets: Sequence[DriftBucket]) -> str:
    rejected = [b for b in buckets if b["rejected_records"]]
    ahead = sum(b["rejected_records"] for b in rejected if b["bucket"] > 0)
    behind = sum(b["rejected_records"] for b in rejected if b["bucket"] < 0)
    return (
        "Records by the drift of their batch, logarithmic: rejected below the line, others above it. "
        f"Of rejected records, {words.count(ahead)} lay in batches reaching ahead of the clock, "
        f"{words.count(behind)} in batches reaching behind it."
    )


def sparkline(values: Sequence[int], label: str) -> Markup:
    """A small bar for each hour. `label` describes it in words."""
    most = max([1, *values])
    height, step = 26, 4
    rises = {n: px(max(1.5, height * value / most)) for n, value in enumerate(values) if value}
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
        preserveAspectRatio="none" if width > 192 else None,
        role="img",
    )


def both(buckets: Sequence[DriftBucket], marks: Sequence[Mark]) -> Markup:
    """The butterfly for wide and for narrow screens; the style sheet shows one of them."""
    return join(
        element("div", drift_chart(buckets, marks, WIDE), class_="wide"),
        element("div", drift_chart(buckets, marks, NARROW), class_="narrow"),
    )
