"""The result of a measurement: a table, a text that explains it, and perhaps a plot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.rounds import Spread


@dataclass(frozen=True, slots=True)
class Plot:
    """One line for each label, with a dot and its spread for each series. `axis` is the text of the axis."""

    axis: str
    lines: Sequence[tuple[str, Mapping[str, Spread]]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One target and the measured value. The median of a spread counts. `is_least`: the bound is a lower
    bound."""

    what: str
    value: float | Spread
    bound: float
    unit: str = ""
    is_least: bool = False

    @property
    def is_met(self) -> bool:
        value = self.value.median if isinstance(self.value, Spread) else self.value
        return value >= self.bound if self.is_least else value <= self.bound

    @property
    def row(self) -> tuple[str, ...]:
        """(the target's name, its bound, the measured value, met or missed)."""
        measured = str(self.value) if isinstance(self.value, Spread) else f"{self.value:.2f}"
        bound = f"{'≥' if self.is_least else '≤'} {self.bound:g}{self.unit}"
        return self.what, bound, measured + self.unit, "met" if self.is_met else "**missed**"


@dataclass(frozen=True, slots=True)
class Section:
    """`text` explains the measurement and its table. Every row is as long as `head`."""

    text: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    plot: Plot | None = None
    verdicts: Sequence[Verdict] = ()
    """One verdict for each target."""


def verdict(what: str, value: float | Spread, at_most: float, unit: str = "") -> Verdict:
    """A target with an upper bound."""
    return Verdict(what, value, at_most, unit)


def at_least(what: str, value: float | Spread, bound: float, unit: str = "") -> Verdict:
    """A target with a lower bound."""
    return Verdict(what, value, bound, unit, is_least=True)
