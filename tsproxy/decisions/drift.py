"""`drift-v1`: drift, and the published edges of its histogram buckets.

Drift is timestamp minus clock in ms: positive is ahead, negative is behind. A bucket is a signed int.
Bucket 0 is no drift. Bucket `i` is the interval (EDGES[i-2], EDGES[i-1]] ahead (bucket 1 starts at 0),
and bucket `-i` is the same interval behind. Each interval includes its far end on both sides. So "ahead
by more than T" and "behind by more than T" are exact sums for every T that is an edge. Between two edges
the error is one bucket: at most a quarter octave (19%) between 1 s and 400 d.

The edges never change under this name. Another table would be `drift-v2`, and a reader merges only
histograms of the same name.
"""

from bisect import bisect_left
from math import isqrt
from typing import Final

from tsproxy.model.kafka import LONG_MAX

HISTOGRAM_NAME: Final = "drift-v1"

FAR_MS: Final = 2**53 - 1
"""The greatest drift that a line names: 285,000 years. Tools that keep numbers as doubles (jq 1.6, Lua, Node)
keep it as it is, but they make LONG_MAX a number that no int64 holds."""

_SECOND: Final = 1_000
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR

THRESHOLDS_MS: Final = (
    *(100, 200, 250, 500),
    *(n * _SECOND for n in (1, 2, 5, 10, 15, 30)),
    *(n * _MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * _HOUR for n in (1, 2, 3, 6, 12)),
    *(n * _DAY for n in (1, 2, 3, 7, 14, 30, 60, 90, 180, 365, 400, 730, 1825, 3650)),
)
"""Bounds that people configure. Each one is an edge."""


def _edges() -> tuple[int, ...]:
    """The magnitudes: octaves below 1 s and above 400 d, quarter octaves between, and THRESHOLDS_MS.

    Quarter octaves are rounded down by integer roots, so that every platform gets the same table.
    """
    octaves_below = [2**k for k in range(10)]
    quarter_octaves = [isqrt(isqrt(1000**4 << k)) for k in range(4 * 25 + 1)]
    octaves_above = [1000 * 2**k for k in range(26, 54)]
    return tuple(sorted({*octaves_below, *quarter_octaves, *octaves_above, *THRESHOLDS_MS, LONG_MAX}))


EDGES: Final = _edges()
"""173 magnitudes in ms, ascending, from 1 to 2^63-1."""


def drift_ms(timestamp_ms: int, now_ms: int) -> int:
    """`timestamp_ms - now_ms`, computed without overflow and saturated at ±(2^63-1).

    The broker's difference wraps at 64 bits (`LogValidator.java`). A report must not wrap, or the oldest
    timestamps would appear in the future. The range is symmetric, so that SQL's `abs` cannot overflow.
    """
    return max(-LONG_MAX, min(LONG_MAX, timestamp_ms - now_ms))


def written_ms(drift: int | None) -> int | None:
    """The drift as a line names it: at most FAR_MS on either side. None if it is unknown."""
    return None if drift is None else max(-FAR_MS, min(FAR_MS, drift))


def bucket(drift: int) -> int:
    """The signed bucket of a drift in ms. The drift may be any int."""
    if drift == 0:
        return 0
    index = bisect_left(EDGES, min(abs(drift), LONG_MAX)) + 1
    return index if drift > 0 else -index


def bucket_bounds_ms(index: int) -> tuple[int, int]:
    """The magnitudes (above, up to and including) that a signed bucket spans; (0, 0) for bucket 0.

    Raises ValueError for a bucket that `drift-v1` does not have.
    """
    magnitude = abs(index)
    if magnitude > len(EDGES):
        raise ValueError(f"{HISTOGRAM_NAME} has no bucket {index}")
    if magnitude == 0:
        return (0, 0)
    return (EDGES[magnitude - 2] if magnitude > 1 else 0, EDGES[magnitude - 1])
