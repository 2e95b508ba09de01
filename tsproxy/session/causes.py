"""The causes of one batch's culprits: a relay puts the records of many devices into a batch.

Usually all culprits have one cause, and that is known by the lowest and the highest of their timestamps. Only
else they are looked at one by one, at most LOOKED_AT of them. The others count under the batch's own cause.
"""

from collections.abc import Sequence
from typing import Final

from tsproxy.model.kafka import NO_TIMESTAMP
from tsproxy.model.outcome import Cause, Culprit, CulpritColumns
from tsproxy.model.units import UNITS
from tsproxy.model.verdict import OutOfRange, Reason, UnitGuess, Violation, reason_out_of_range
from tsproxy.policy.units import guess_unit

LOOKED_AT: Final = 200
_PLAIN_MS: Final = 5 * 365 * 24 * 3_600_000
"""So near to the clock a timestamp is no other unit, and no time that was never set. The first of these is
2038, and the nearest count is from 1980."""
_TOGETHER: Final = frozenset({UnitGuess.MILLISECONDS_TIMES_1000_TWICE, UnitGuess.NANOSECONDS})
"""The last digits decide between these two: they are one mistake."""
_WITHOUT_GUESS: Final = frozenset(
    {Reason.TYPE_MISMATCH, Reason.NO_KEY, Reason.INVALID_MAGIC, Reason.MISSING, Reason.CUSTOM_RULE}
)

_Why = tuple[Reason | None, UnitGuess | None]


def causes_of(
    why: _Why, culprits: Sequence[Culprit], violations: Sequence[Violation], bad_records: int, now_ms: int
) -> tuple[Cause, ...]:
    """The causes, that of the batch first; empty if there is only `why`. `violations` are those of the
    culprits, or empty if all are about the range of timestamps."""
    is_of_range = not violations or isinstance(violations, OutOfRange)
    if len(culprits) < 2 or (is_of_range and _is_one(culprits, now_ms)):
        return ()
    of_cause: dict[_Why, list[Culprit]] = {why: []}
    guesses: dict[int, UnitGuess | None] = {}
    for at, culprit in enumerate(culprits[:LOOKED_AT]):
        time_ms = culprit.timestamp_ms
        reason = None if is_of_range else violations[at].reason
        if is_of_range and (at == 0 or culprit.batch_index < 0 or time_ms is None):
            of_cause[why].append(culprit)  # the reason of the first one is the batch's
            continue
        if time_ms is not None:
            reason = reason or reason_out_of_range(time_ms, now_ms)
            if time_ms not in guesses:
                guesses[time_ms] = guess_unit(time_ms, now_ms)
        guess = None if time_ms is None or reason in _WITHOUT_GUESS else guesses[time_ms]
        if guess in _TOGETHER and why[1] in _TOGETHER:
            guess = why[1]
        of_cause.setdefault((reason, guess), []).append(culprit)
    if len(of_cause) < 2 or not of_cause[why]:
        return ()
    beyond = bad_records - sum(map(len, of_cause.values()))
    return tuple(
        _cause(pair, some, len(some) + (beyond if pair == why else 0)) for pair, some in of_cause.items()
    )


def _is_one(culprits: Sequence[Culprit], now_ms: int) -> bool:
    if isinstance(culprits, CulpritColumns):
        lowest, highest = culprits.span_ms
    else:
        times = _times(culprits)
        lowest, highest = min(times, default=0), max(times, default=0)
    if lowest == highest or (lowest > now_ms) != (highest > now_ms):
        return lowest == highest
    if now_ms - _PLAIN_MS < lowest and highest < now_ms + _PLAIN_MS:
        return True
    guess = guess_unit(lowest, now_ms)
    return guess in UNITS and guess is guess_unit(highest, now_ms)


def _cause(why: _Why, culprits: Sequence[Culprit], bad_records: int) -> Cause:
    times = _times(culprits)
    return Cause(*why, bad_records, culprits[0], min(times, default=None), max(times, default=None))


def _times(culprits: Sequence[Culprit]) -> list[int]:
    return [t for culprit in culprits if (t := culprit.timestamp_ms) is not None and t != NO_TIMESTAMP]
