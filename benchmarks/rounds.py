"""Paired, alternating rounds: a disturbance of the machine affects all contenders.

Each round runs every contender once, in the reverse order of the round before. A ratio compares two runs of
the same round. The result is the median of all rounds' ratios, with the lowest and the highest.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Spread:
    """A median with the lowest and highest value around it."""

    median: float
    lowest: float
    highest: float

    def __str__(self) -> str:
        return f"{_number(self.median)} [{_number(self.lowest)}–{_number(self.highest)}]"


def in_rounds(rounds: int, contenders: Mapping[str, Callable[[], T]]) -> dict[str, list[T]]:
    """The results of each contender, round by round."""
    results: dict[str, list[T]] = {name: [] for name in contenders}
    order = list(contenders)
    for _ in range(rounds):
        for name in order:
            results[name].append(contenders[name]())
        order.reverse()
    return results


def ratio(values: Sequence[float], base: Sequence[float]) -> Spread:
    """The ratios of `values` to `base`, pair by pair."""
    return spread([value / below for value, below in zip(values, base, strict=True)])


def spread(values: Sequence[float]) -> Spread:
    return Spread(statistics.median(values), min(values), max(values))


def _number(value: float) -> str:
    """A number with three significant digits."""
    size = abs(value)
    return f"{value:.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2f}"
