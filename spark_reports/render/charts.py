"""SVG in the page's colours: a butterfly chart of drifts, and sparklines.

The butterfly shows shares on linear scales: the upper half of the records that were not rejected, the lower
half of the rejected records. Each half has its own scale, so that few rejected records are visible beside
many others. Only the axis of drifts is logarithmic. All axes have names.

Colours are CSS classes, so the page's light, dark and print palettes apply. Every drawing has a text that
describes it, and every bar a tooltip. Coordinates are CSS pixels at the drawing's own width. There is one
drawing for wide screens and one for narrow ones, so that letters keep their size.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
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
"""The chart shows at least this drift on either side."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A named vertical line at a signed drift: a limit, or the place of a unit mistake."""

    drift_ms: int
    name: str
    kind: str
    """CSS class: `limit` or `unit`."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The sizes of one drawing, in pixels, and the room for bars and labels."""

    width: int
    height: int
    bins_per_decade: int
    tick_gap: int
    left: int = 64
    right: int = 10
    top: int = 62
    bottom: int = 46


WIDE: Final = Frame(width=1040, height=356, bins_per_decade=4, tick_gap=44)
NARROW: Final = Frame(width=350, height=360, bins_per_decade=2, tick_gap=34, left=52, right=4)

_CEILINGS: Final = (0.05, 0.1, 0.2, 0.5, 1.0)
"""The highest share that a half can show: the first of these that holds all its bars."""


@dataclass(frozen=True, slots=True)
class Half:
    """One half of the butterfly."""

    records: int
    """The number of records that is a share of 1."""
    name: str
    css_class: str
    sign: int
    """1 upwards, -1 downwards."""
    ceiling: float = 1.0

    def share(self, records: int) -> float:
        return min(1.0, records / max(1, self.records))

    def up_to(self, most: int) -> "Half":
        """The half with a scale that holds bars of `most` records."""
        return replace(self, ceiling=next(each for each in _CEILINGS if self.share(most) <= each))


@dataclass(frozen=True, slots=True)
class _Scale:
    """The pixels of a butterfly: drifts along a symmetric logarithmic axis, shares up and down."""

    frame: Frame
    low_ms: int
    high_ms: int

    @property
    def middle(self) -> float:
        return self.frame.top + (self.frame.height - self.frame.top - self.frame.bottom) / 2

    def x(self, drift_ms: float) -> float:
        return self.at(decades(drift_ms))

    def at(self, position: float) -> float:
        """The pixel of a drift, given by `decades`."""
        low, high = decades(self.low_ms), decades(self.high_ms)
        inner = self.frame.width - self.frame.left - self.frame.right
        return self.frame.left + inner * (position - low) / (high - low)

    @property
    def reach(self) -> float:
        return self.middle - self.frame.top

    def rise(self, half: Half, share: float) -> float:
        return self.reach * share / half.ceiling


def decades(drift_ms: float) -> float:
    """The drift's signed logarithm: 0 for none, 3 for 1 s ahead, -3 for 1 s behind."""
    magnitude = log10(1 + abs(drift_ms))
    return magnitude if drift_ms >= 0 else -magnitude


def drift_chart(
    buckets: Sequence[DriftBucket], marks: Sequence[Mark], frame: Frame, others: int, rejected: int
) -> Markup:
    """The shares of records by drift: of the `rejected` ones below the line, of all `others` above it."""
    bins = _bins(buckets, frame.bins_per_decade)
    upper = Half(others, "not rejected", "accepted", 1).up_to(max([1, *(n for n, _, _ in bins.values())]))
    lower = Half(rejected, "rejected", "rejected", -1).up_to(max([1, *(n for _, n, _ in bins.values())]))
    scale = _Scale(frame, *_span(buckets))
    return svg(
        frame,
        "drift",
        element("title", _drift_words(buckets)),
        *_shares(scale, upper),
        *_shares(scale, lower),
        *_names(scale),
        *_ticks(scale),
        *_marks(scale, [mark for mark in marks if scale.low_ms < mark.drift_ms < scale.high_ms]),
        *_bars(scale, bins, (upper, lower)),
        across(frame, scale.middle, "base"),
    )


def _shares(scale: _Scale, half: Half) -> Iterator[Markup]:
    """The half's axis: lines at half and at all of its ceiling with their shares, and its name."""
    frame = scale.frame
    for share in (half.ceiling / 2, half.ceiling):
        y = scale.middle - half.sign * scale.rise(half, share)
        label = f"{100 * share:g} %"
        yield across(frame, y, "grid")
        yield element("text", label, x=frame.left - 6, y=px(y + 4), class_="num")
    y = scale.middle - half.sign * scale.reach / 2
    yield element(
        "text",
        f"% of {half.name}",
        x=10,
        y=px(y),
        transform=f"rotate(-90 10 {px(y)})",
        class_="mid axis",
    )


def _names(scale: _Scale) -> Iterator[Markup]:
    """The name of the axis of drifts, and its directions."""
    frame = scale.frame
    y, middle = frame.height - 6, scale.x(0)
    yield element("text", "← behind the clock", x=frame.left, y=y, class_="axis")
    yield element("text", "ahead of it →", x=frame.width - frame.right, y=y, class_="num axis")
    if frame.width > NARROW.width:
        yield element("text", "drift, logarithmic", x=px(middle), y=y, class_="mid axis")


def svg(frame: Frame, class_: str, *parts: Markup) -> Markup:
    """A drawing; its first part is the title."""
    return element(
        "svg",
        *parts,
        class_=class_,
        viewBox=f"0 0 {frame.width} {frame.height}",
        width=frame.width,
        height=frame.height,
        role="img",
    )


def across(frame: Frame, y: float, class_: str) -> Markup:
    """A horizontal line over the whole drawing."""
    return element("line", x1=frame.left, x2=frame.width - frame.right, y1=px(y), y2=px(y), class_=class_)


def tick(frame: Frame, x: float, label: str) -> Markup:
    """A label along the foot, and its tick."""
    y = frame.height - 28
    line = element("line", x1=px(x), x2=px(x), y1=y - 16, y2=y - 12, class_="base")
    return join(element("text", label, x=px(x), y=y, class_="mid"), line)


def px(number: float) -> str:
    """The text of a coordinate, with at most one decimal."""
    return f"{number:.1f}".rstrip("0").rstrip(".")


def _span(buckets: Sequence[DriftBucket]) -> tuple[int, int]:
    """The lowest and the highest drift of the chart, a little beyond the outermost bars."""
    low = max([_LEAST_SPAN_MS, *(b["up_to_ms"] for b in buckets if b["bucket"] < 0)])
    high = max([_LEAST_SPAN_MS, *(b["up_to_ms"] for b in buckets if b["bucket"] > 0)])
    return -2 * low, 2 * high


def _bins(buckets: Iterable[DriftBucket], per_decade: int) -> dict[int, tuple[int, int, DriftBucket]]:
    """The bars: index -> (records not rejected, records rejected, the buckets of the bar as one)."""
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
    scale: _Scale, bins: dict[int, tuple[int, int, DriftBucket]], halves: tuple[Half, Half]
) -> list[Markup]:
    bars = []
    for index, (others, rejected, span) in sorted(bins.items()):
        left, right = _reach(scale, index, span)
        side = "ahead" if index > 0 else "behind"
        reach = f"{words.duration(span['above_ms'])} to {words.duration(span['up_to_ms'])} {side}"
        for records, half in zip((others, rejected), halves, strict=True):
            if records:
                height = max(2.0, scale.rise(half, half.share(records)))
                part = words.share(records, half.records)
                bars.append(
                    element(
                        "rect",
                        element("title", f"{reach}: {words.many(records, 'record')} {half.name}, {part}"),
                        x=px(left),
                        y=px(scale.middle - height if half.sign > 0 else scale.middle),
                        width=px(max(2.0, right - left - 1)),
                        height=px(height),
                        class_=half.css_class,
                    )
                )
    return bars


def _reach(scale: _Scale, index: int, span: DriftBucket) -> tuple[float, float]:
    """The left and right end of a bar: those of its bin, or of the bucket if that is wider than a bin."""
    per_decade = scale.frame.bins_per_decade
    if index == 0:
        return scale.at(-0.5 / per_decade), scale.at(0.5 / per_decade)
    near, far = decades(span["above_ms"]), decades(span["up_to_ms"])
    if (far - near) * per_decade < 1:
        near, far = (abs(index) - 1) / per_decade, abs(index) / per_decade
    return (scale.at(near), scale.at(far)) if index > 0 else (scale.at(-far), scale.at(-near))


def _ticks(scale: _Scale) -> list[Markup]:
    """Durations along the foot, from the middle outwards. Labels that would overlap are left out."""
    frame = scale.frame
    parts = [element("text", "0", x=px(scale.x(0)), y=frame.height - 28, class_="mid")]
    for sign, limit_ms in ((-1, -scale.low_ms), (1, scale.high_ms)):
        last = scale.x(0)
        for tick_ms, label in TICKS:
            x = scale.x(sign * tick_ms)
            has_room = abs(x - last) >= frame.tick_gap and frame.left + 8 < x < frame.width - 18
            if tick_ms < limit_ms and has_room:
                parts.append(tick(frame, x, label))
                last = x
    return parts


def _marks(scale: _Scale, marks: Sequence[Mark]) -> list[Markup]:
    """Named lines. A name that would touch another one goes one row higher."""
    frame = scale.frame
    parts: list[Markup] = []
    rows: list[float] = []
    for mark in sorted(marks, key=lambda mark: mark.drift_ms):
        x = scale.x(mark.drift_ms)
        room = 7 * len(mark.name) + 8
        start = min(max(x - room / 2, 0), frame.width - room)
        row = next((n for n, end in enumerate(rows) if start >= end), len(rows))
        if (row + 1) * 15 > frame.top - 2:
            continue
        rows[row : row + 1] = [start + room]
        y = frame.top - 8 - 15 * row
        foot = frame.height - frame.bottom
        parts.append(element("line", x1=px(x), x2=px(x), y1=px(y + 3), y2=foot, class_=mark.kind))
        parts.append(element("text", mark.name, x=px(start + room / 2), y=px(y), class_=f"mid {mark.kind}"))
    return parts


def _drift_words(buckets: Sequence[DriftBucket]) -> str:
    rejected = [b for b in buckets if b["rejected_records"]]
    ahead = sum(b["rejected_records"] for b in rejected if b["bucket"] > 0)
    behind = sum(b["rejected_records"] for b in rejected if b["bucket"] < 0)
    return (
        "Shares of records by the drift of their batch: of rejected records below the line, of others above "
        "it. The axis of drifts is logarithmic. "
        f"Of rejected records, {words.count(ahead)} lay in batches reaching ahead of the clock, "
        f"{words.count(behind)} in batches reaching behind it."
    )


def sparkline(values: Sequence[int], label: str) -> Markup:
    """A small bar for each hour or day. `label` describes it in words."""
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


def both(buckets: Sequence[DriftBucket], marks: Sequence[Mark], others: int, rejected: int) -> Markup:
    """The butterfly for wide and for narrow screens; the style sheet shows one of them."""
    return join(
        element("div", drift_chart(buckets, marks, WIDE, others, rejected), class_="wide"),
        element("div", drift_chart(buckets, marks, NARROW, others, rejected), class_="narrow"),
    )
