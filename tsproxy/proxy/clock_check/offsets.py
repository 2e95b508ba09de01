"""The offset of our clock to each broker's, and what follows from all of them: `conclude`. Pure.

A client may write to the topics from which `stamps` reads brokers' times, directly at a broker. So these
times alone may raise a warning, and never suspend enforcement. Two things prove that our clock is wrong. One
is what the proxy has measured itself (`probe`): that time comes from a broker's answer to the proxy's own
record. The other is a step of our clock by as much as the brokers' times are off: nobody outside can set it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from tsproxy.config.settings import ClockSettings, WhenBeyond


@dataclass(frozen=True, slots=True)
class Offset:
    """Our clock minus a broker's, in ms, and the possible error."""

    ms: float
    error_ms: float

    def is_surely_beyond(self, most_ms: int) -> bool:
        return abs(self.ms) - self.error_ms > most_ms


def offset_text(ms: float, error_ms: float) -> str:
    """`-12 s ± 16 s`, or `+3 ms ± 1 ms`. The possible error is rounded up."""
    unit, size = ("s", 1_000) if error_ms >= 1_000 or abs(ms) >= 10_000 else ("ms", 1)
    return f"{round(ms / size):+,} {unit} ± {ceil(error_ms / size):,} {unit}"


def middle(offsets: Mapping[int, Offset]) -> Offset | None:
    """The median of the offsets, so that one broker with a wrong clock does not matter. For an even number of
    offsets it is the one of the two in the middle that is nearer to 0. None if there is no offset."""
    ordered = sorted(offsets.values(), key=lambda offset: offset.ms)
    if not ordered:
        return None
    half = len(ordered) // 2
    return min(ordered[half - 1 + len(ordered) % 2 : half + 1], key=lambda offset: abs(offset.ms))


@dataclass(frozen=True, slots=True)
class Conclusion:
    """`offset` is the one to most brokers, None if none is known. `is_beyond`: our own clock is too far off,
    `is_proven`: and no client can have made it seem so. `brokers_off` are the brokers whose clocks are off.
    Only one of the two is named: if our own clock is off, all brokers seem to be."""

    offset: Offset | None = None
    is_beyond: bool = False
    is_proven: bool = False
    is_suspended: bool = False
    brokers_off: frozenset[int] = frozenset()


def conclude(
    offsets: Mapping[int, Offset], settings: ClockSettings, was: Conclusion, step_ms: int = 0
) -> Conclusion:
    """The conclusion. If `settings` have a probe, the offsets must be its measurements. `step_ms` is how far
    our clock was set since the brokers' times last agreed with it."""
    offset, most_ms, is_measured = middle(offsets), settings.max_offset_ms, settings.probe is not None
    if offset is None:
        return Conclusion()
    is_beyond = offset.is_surely_beyond(most_ms)
    if was.is_beyond:
        # Times that brokers wrote anyway are exact to a few seconds only, so smaller offsets do not show.
        is_beyond = abs(offset.ms) > max(most_ms, 0.0 if is_measured else offset.error_ms)
    # Once proven, it stays proven until the clock is set back, or right: it may be led back slowly.
    is_same = was.is_proven or abs(offset.ms - step_ms) - offset.error_ms <= most_ms
    is_proven = is_beyond and (is_measured or (abs(step_ms) > most_ms and is_same))
    return Conclusion(
        offset,
        is_beyond,
        is_proven,
        is_suspended=is_proven and settings.when_beyond is WhenBeyond.AUDIT,
        brokers_off=frozenset(
            node for node, theirs in offsets.items() if not is_beyond and theirs.is_surely_beyond(most_ms)
        ),
    )
