"""A plot as SVG: one line for each label, a dot with its spread for each series, a logarithmic axis."""

import math
from html import escape
from typing import Final

from benchmarks.sections import Plot

_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#999999", "#000000")
"""The palette of Okabe and Ito, which colour-blind readers can distinguish."""

_WIDTH: Final = 860
_LEFT: Final = 190
_RIGHT: Final = 20
_LINE: Final = 30
_LEGEND: Final = 20
_PER_LEGEND_LINE: Final = 4
_TICKS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def svg(plot: Plot) -> str:
    """The whole file. The black line is at 1: the same cost as the baseline."""
    names = list(dict.fromkeys(name for _, series in plot.lines for name in series))
    values = [
        edge for _, series in plot.lines for each in series.values() for edge in (each.lowest, each.highest)
    ]
    axis = _Axis(min([*values, 1.0]), max([*values, 1.0]))
    top = 14 + _LEGEND * math.ceil(len(names) / _PER_LEGEND_LINE)
    bottom = top + _LINE * len(plot.lines)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {bottom + 44}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{bottom + 44}" fill="#ffffff"/>',
        *(_legend(name, number) for number, name in enumerate(names)),
        *(_tick(axis, tick, top, bottom) for tick in axis.ticks),
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2:.0f}" y="{bottom + 36}" text-anchor="middle">'
        f"{escape(plot.axis)}</text>",
    ]
    for row, (label, series) in enumerate(plot.lines):
        middle = top + _LINE * (row + 0.5)
        parts.append(f'<text x="{_LEFT - 10}" y="{middle + 4:.1f}" text-anchor="end">{escape(label)}</text>')
        step = (_LINE - 8) / max(1, len(names))
        for number, name in enumerate(names):
            if name in series:
                y = middle + step * (number - (len(names) - 1) / 2)
                each = series[name]
                parts.append(_dot(axis.x(each.lowest), axis.x(each.median), axis.x(each.highest), y, number))
    return "\n".join((*parts, "</svg>\n"))


class _Axis:
    """A logarithmic axis from the tick below the lowest value to the tick above the highest."""

    def __init__(self, lowest: float, highest: float) -> None:
        first = max((tick for tick in _TICKS if tick <= lowest), default=_TICKS[0])
        last = min((tick for tick in _TICKS if tick >= highest), default=_TICKS[-1])
        if first == last:
            first, last = first / 2, last * 2
        self.ticks = [tick for tick in _TICKS if first <= tick <= last]
        self._first = math.log(first)
        self._scale = (_WIDTH - _LEFT - _RIGHT) / (math.log(last) - self._first)

    def x(self, value: float) -> float:
        return _LEFT + (math.log(value) - self._first) * self._scale


def _legend(name: str, number: int) -> str:
    row, column = divmod(number, _PER_LEGEND_LINE)
    x, y = _LEFT + column * (_WIDTH - _LEFT) / _PER_LEGEND_LINE, 12 + _LEGEND * row
    return (
        f'<circle cx="{x:.0f}" cy="{y}" r="4" fill="{_COLOURS[number % len(_COLOURS)]}"/>'
        f'<text x="{x + 8:.0f}" y="{y + 4}">{escape(name)}</text>'
    )


def _tick(axis: _Axis, value: float, top: float, bottom: float) -> str:
    x, stroke = axis.x(value), "#000000" if value == 1 else "#dddddd"
    return (
        f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}" stroke="{stroke}"/>'
        f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{value:g}</text>'
    )


def _dot(lowest: float, median: float, highest: float, y: float, number: int) -> str:
    colour = _COLOURS[number % len(_COLOURS)]
    return (
        f'<line x1="{lowest:.1f}" y1="{y:.1f}" x2="{highest:.1f}" y2="{y:.1f}" stroke="{colour}"/>'
        f'<circle cx="{median:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
    )
