"""Finds numbers in metrics, for the page: sums over labels, buckets, quantiles. Pure."""

from collections.abc import Sequence
from typing import Final

from tsproxy.proxy.metrics.totals import Families

_Row = tuple[dict[str, str], float]
_ENDS: Final = ("", "_total", "_bucket", "_count", "_sum")
"""A sample has the name of its family and one of these ends."""


class Numbers:
    """A page needs some of the families, and some have hundreds of series, so each is read when it is asked
    for."""

    def __init__(self, families: Families) -> None:
        self._families = families
        self._rows: dict[str, list[_Row]] = {}

    def rows(self, sample: str, **labels: str) -> list[_Row]:
        """All values of a sample that have these labels: (its labels, its value)."""
        found = self._rows_of(sample)
        if not labels:
            return found
        return [(has, value) for has, value in found if labels.items() <= has.items()]

    def _rows_of(self, sample: str) -> list[_Row]:
        if sample not in self._rows:
            named = (self._families.get(sample.removesuffix(end)) for end in _ENDS)
            samples = next((family.samples for family in named if family is not None), {})
            self._rows[sample] = [
                (dict(labels), value) for (name, labels), value in samples.items() if name == sample
            ]
        return self._rows[sample]

    def by(self, label: str, *samples: str) -> "dict[str, Numbers]":
        """The values of these samples, apart for each value of the label, which all of them have."""
        parts: dict[str, Numbers] = {}
        for sample in samples:
            for has, value in self._rows_of(sample):
                part = parts.setdefault(has[label], Numbers({}))
                part._rows.setdefault(sample, []).append((has, value))
        return parts

    def sum(self, sample: str, **labels: str) -> float:
        return sum(value for _, value in self.rows(sample, **labels))

    def buckets(self, histogram: str, **labels: str) -> Sequence[tuple[float, float]]:
        """(upper bound, count between the previous bound and this one), ascending."""
        below: dict[float, float] = {}
        for has, value in self.rows(f"{histogram}_bucket", **labels):
            upper = float(has["le"])
            below[upper] = below.get(upper, 0) + value
        counts, before = [], 0.0
        for upper in sorted(below):
            counts.append((upper, below[upper] - before))
            before = below[upper]
        return counts

    def quantile(self, histogram: str, share: float, **labels: str) -> float | None:
        """The least upper bound of a bucket such that at least this share of all values is below it. It is
        infinity if no finite bound is high enough, and None if nothing was counted."""
        buckets = self.buckets(histogram, **labels)
        total, reached = sum(count for _, count in buckets), 0.0
        for upper, count in buckets:
            reached += count
            if total and reached >= share * total:
                return upper
        return None
