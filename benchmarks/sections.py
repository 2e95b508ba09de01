"""What a measurement returns: a table, how to read it, and perhaps a plot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.rounds import Spread


@dataclass(frozen=True, slots=True)
class Plot:
    """One line for each label: a dot with its spread for each series. `axis` says what the ratio is."""

    axis: str
    lines: Sequence[tuple[str, Mapping[str, Spread]]]


@dataclass(frozen=True, slots=True)
class Section:
    """`text` says what was measured and how to read it; every row is as long as `head`."""

    text: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    plot: Plot | None = None
    verdicts: Sequence[str] = ()
    """One sentence for each target: reached or missed."""


def verdict(what: str, value: float, at_most: float, unit: str = "") -> str:
    """Whether a target was reached, as a sentence."""
    outcome = "reached" if value <= at_most else "missed"
    return f"{what}: {outcome} ({value:.2f}{unit}, at most {at_most:g}{unit})"
