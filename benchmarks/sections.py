"""The result of a measurement: a table, and a text that explains it."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Section:
    """`text` explains the measurement and its table. Every row is as long as `head`."""

    text: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
