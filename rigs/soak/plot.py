"""The plot of a soak as SVG: a panel for each unit, with the fitted lines and the broker's restarts."""

import math
from html import escape

from rigs.soak.verdict import ALL, WARM_UP

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
_WIDTH, _LEFT, _RIGHT = 860, 60, 20
_PANEL, _GAP, _TOP = 130, 46, 8
_ZOOM = 0.7
"""The axis of a panel whose values are all above this share of the highest does not begin at zero."""
_PANELS = {
    "own memory, MiB": ("supervisor own MiB", "worker 1 own MiB", "worker 2 own MiB"),
    "resident memory, MiB": ("supervisor resident MiB", "worker 1 resident MiB", "worker 2 resident MiB"),
    "descriptors": (ALL, "worker 1 descriptors", "worker 2 descriptors"),
    "tasks and connections": ("tasks", "connections"),
    "records a second": ("records a second",),
}


def svg(record, judged):
    """The whole file. Grey is the warm-up, which is not judged; dashed lines are restarts of the broker."""
    panels = {
        title: names for title, names in _PANELS.items() if any(record.series.get(each) for each in names)
    }
    height = _TOP + len(panels) * (_PANEL + _GAP) + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for number, (title, names) in enumerate(panels.items()):
        top = _TOP + number * (_PANEL + _GAP)
        parts += _Panel(record, names, top + 18).drawn(title, judged)
    parts.append(
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2:.0f}" y="{height - 4}" text-anchor="middle">minutes</text>'
    )
    return "\n".join((*parts, "</svg>\n"))


class _Panel:
    def __init__(self, record, names, top):
        self._record = record
        self._series = {name: record.series[name] for name in names if record.series.get(name)}
        self._top = top
        values = [value for points in self._series.values() for _, value in points] or [0.0, 1.0]
        lowest = min(values) if min(values) > _ZOOM * max(values) else 0.0
        self._step = _step(max(values) - lowest)
        self._lowest = self._step * math.floor(lowest / self._step)
        self._ticks = max(1, math.ceil((max(values) - self._lowest) / self._step))

    def drawn(self, title, judged):
        """The lines of SVG."""
        bottom = self._top + _PANEL
        yield f'<text x="{_LEFT}" y="{self._top - 6}" font-weight="bold">{escape(title)}</text>'
        warm_px = self._x(self._record.seconds * WARM_UP) - _LEFT
        yield f'<rect x="{_LEFT}" y="{self._top}" width="{warm_px:.1f}" height="{_PANEL}" fill="#f0f0f0"/>'
        yield from self._axes(bottom)
        for at_s, kind in self._record.events:
            if kind == "restart":
                x = self._x(at_s)
                yield _line(x, self._top, x, bottom, "#999999", ' stroke-dasharray="3 3"')
        for number, (name, points) in enumerate(self._series.items()):
            yield from self._curve(number, name, points, judged.get(name))

    def _axes(self, bottom):
        for n in range(self._ticks + 1):
            value = self._lowest + n * self._step
            y = self._y(value)
            yield _line(_LEFT, y, _WIDTH - _RIGHT, y, "#dddddd")
            yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
        minutes = self._record.seconds / 60
        step = _step(minutes)
        for n in range(math.floor(minutes / step) + 1):
            x = self._x(60 * n * step)
            yield f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{n * step:g}</text>'

    def _curve(self, number, name, points, judged):
        colour = _COLOURS[number]
        path = " ".join(f"{self._x(t):.1f},{self._y(value):.1f}" for t, value in points)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-opacity="0.6"/>'
        label = name.removesuffix(" resident MiB").removesuffix(" own MiB").removesuffix(" descriptors")
        if judged is not None:
            line, first, last = judged.line, self._record.seconds * WARM_UP, points[-1][0]
            begin, end = self._y(line.first), self._y(line.first + line.growth)
            yield _line(self._x(first), begin, self._x(last), end, colour, ' stroke-width="2"')
            label += f" {line.growth:+.2f}"
        x = _LEFT + 290 + number * 180
        yield f'<circle cx="{x}" cy="{self._top - 10}" r="4" fill="{colour}"/>'
        yield f'<text x="{x + 8}" y="{self._top - 6}">{escape(label)}</text>'

    def _x(self, at_s):
        return _LEFT + at_s / self._record.seconds * (_WIDTH - _LEFT - _RIGHT)

    def _y(self, value):
        return self._top + _PANEL * (1 - (value - self._lowest) / (self._ticks * self._step))


def _step(highest):
    """A round number that divides an axis up to `highest` into two to five parts."""
    power = 10 ** math.floor(math.log10(highest)) if highest > 0 else 1
    return next(power * part for part in (0.2, 0.5, 1, 2) if highest / (power * part) <= 5)


def _line(x1, y1, x2, y2, colour, more=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{more}/>'
