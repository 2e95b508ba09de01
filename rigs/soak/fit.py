"""A straight line through a series of samples, and the interval of its growth.

Samples of one process hang together: memory that rose stays up for a while, and a restart of the broker bends
every series for some seconds. So the medians of 50 equal spans count. The error is that of Newey and West
(Bartlett kernel over a fifth of the spans). Its usual critical value, 1.96, is for a series without end, so
`_CRITICAL` is measured: 95% of the intervals hold zero for a series that does not grow and whose
neighbouring spans are correlated by 0.8 (`test_fit.py`).
"""

import statistics
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

SPANS = 50
_SHARE = 0.2
_CRITICAL = 4.5
_WIDEST = 2
"""An interval that reaches further than so many bounds to either side says nothing."""


class Verdict(StrEnum):
    STEADY = "steady"
    GROWS = "grows"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Line:
    """The growth of a series over the time that is judged, with the ends of its 95% interval."""

    growth: float
    low: float
    high: float
    first: float
    """The line's value where the judged time begins."""

    def verdict(self, bound):
        """Whether it grows by more than `bound`; an interval that holds zero is no growth."""
        if self.growth > bound and self.low > 0:
            return Verdict.GROWS
        return Verdict.UNCLEAR if self.high - self.growth > _WIDEST * bound else Verdict.STEADY


def fit(points):
    """The line through (time, value) pairs. Raises ValueError for too few of them."""
    points = _medians(points)
    count = len(points)
    if count < SPANS // 2:
        raise ValueError(f"{count} of {SPANS} spans have a sample: no line can be trusted")
    middle = statistics.fmean(t for t, _ in points)
    square = sum((t - middle) ** 2 for t, _ in points)
    slope = sum((t - middle) * value for t, value in points) / square
    level = statistics.fmean(value for _, value in points)
    scores = [(t - middle) * (value - level - slope * (t - middle)) for t, value in points]
    error = (_long_run(scores) * count / (count - 2)) ** 0.5 / square
    length = points[-1][0] - points[0][0]
    growth, margin = slope * length, _CRITICAL * error * length
    return Line(growth, growth - margin, growth + margin, level - slope * (middle - points[0][0]))


def _medians(points):
    """(middle, median) of each span that has samples."""
    points = sorted(points)
    if len(points) < 2:
        raise ValueError("two samples make a line")
    begin, end = points[0][0], points[-1][0]
    edges = [begin + (end - begin) * n / SPANS for n in range(SPANS)] + [float("inf")]
    spans = ([each for each in points if low <= each[0] < high] for low, high in pairwise(edges))
    return [
        (statistics.fmean(t for t, _ in span), statistics.median(value for _, value in span))
        for span in spans
        if span
    ]


def _long_run(scores):
    """The sum of autocovariances, each weighted the less, the further apart."""
    width = max(1, round(_SHARE * len(scores)))

    def at(lag):
        return sum(a * b for a, b in zip(scores, scores[lag:], strict=False))

    return max(0.0, at(0) + 2 * sum((1 - lag / width) * at(lag) for lag in range(1, width)))
