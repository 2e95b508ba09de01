"""Turns outcomes and facts into the plain dicts that become lines, without their envelope (`Lines`).

These are pure functions. Every int is saturated to int64, because Spark marks a whole line corrupt for one
larger int. Every text that a client chose is bounded. Nulls are left out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from sys import getsizeof
from typing import Final

from tsproxy.decisions.drift import written_ms
from tsproxy.decisions.fields import LifecycleKind
from tsproxy.decisions.privacy import Privacy, Redaction
from tsproxy.decisions.text import bounded
from tsproxy.decisions.totals import Totals, culprit_times_ms
from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.names import NAME_CHARS
from tsproxy.model.outcome import Outcome
from tsproxy.model.verdict import TopicLimits

Event = dict[str, object]
"""One line of the log before encoding: str, int, bool, lists of these, and `facts` as a mapping."""

CULPRITS_LISTED: Final = 20
_MESSAGE_CHARS: Final = 1_000


def saturated(value: int) -> int:
    return max(LONG_MIN, min(LONG_MAX, value))


def fit(facts: Mapping[str, object]) -> Event:
    """`facts` without nulls, with saturated ints and bounded texts.

    There is no `match`: its patterns were a tenth of what the event loop does for a rejected batch.
    """
    event: Event = {}
    for name, value in facts.items():
        if isinstance(value, str):
            event[name] = bounded(str(value), _MESSAGE_CHARS if name == "error_message" else NAME_CHARS)
        elif isinstance(value, int) and not isinstance(value, bool):
            event[name] = saturated(int(value))
        elif value is not None:
            event[name] = value
    return event


def decision(totals: Totals, outcome: Outcome, suppressed: int, privacy: Privacy) -> Event:
    """The event of one batch that was rejected or repaired, or would have been; with up to 20 culprits, one
    of each cause among them. `totals` are those of the outcome."""
    peer, batch, listed = outcome.peer, outcome.batch, outcome.culprits[:CULPRITS_LISTED]
    if firsts := {cause.first: None for cause in outcome.causes}:
        listed = [*{**firsts, **dict.fromkeys(listed)}][:CULPRITS_LISTED]
    times = culprit_times_ms(outcome)
    return fit(
        {
            "listener": peer.listener,
            "client_id": peer.client_id,
            "principal": privacy.principal(peer.principal),
            "client_address": privacy.address(peer.client_address),
            "client_port": None if privacy.addresses is Redaction.DROP else peer.client_port,
            "client_software": peer.client_software,
            "topic": outcome.topic,
            "partition": outcome.partition,
            "api_version": outcome.api_version,
            "correlation_id": outcome.correlation_id,
            "acks": outcome.acks,
            "transactional_id": outcome.transactional_id,
            "producer_id": batch.producer_id,
            "producer_epoch": batch.producer_epoch,
            "magic": batch.magic,
            "codec": batch.codec,
            "batch_bytes": batch.batch_bytes,
            "verdict": outcome.verdict,
            "rule": outcome.rule,
            "mode": outcome.mode,
            "waiver": outcome.waiver,
            "would_reject": totals.key.would_reject,
            "reason": outcome.reason,
            "unit_guess": outcome.unit_guess,
            "error_code": outcome.error_code,
            "error_message": outcome.error_message,
            "is_final": outcome.is_final,
            "records": batch.records,
            "bad_records": outcome.bad_records,
            "collateral_records": totals.collateral_records,
            "records_unread": batch.records_unread or None,
            "now_ms": outcome.now_ms,
            "bad_index": [saturated(c.batch_index) for c in listed],
            "bad_index_truncated": True if len(outcome.culprits) > CULPRITS_LISTED else None,
            "bad_ts": [saturated(c.timestamp_ms) for c in listed if c.timestamp_ms is not None],
            "bad_ts_min": None if times is None else times.lowest,
            "bad_ts_max": None if times is None else times.highest,
            "drift_min_ms": written_ms(totals.drift_min_ms),
            "drift_max_ms": written_ms(totals.drift_max_ms),
            "suppressed": suppressed,
            "limits_known": outcome.limits is not None,
            **_limits(outcome.limits),
        }
    )


def lifecycle(kind: LifecycleKind, facts: Mapping[str, object]) -> Event:
    """An event about the proxy itself. `facts` must be plain JSON values and contain no secret."""
    return {"kind": kind.value, **({"facts": dict(facts)} if facts else {})}


def topic_limits(topic: str, limits: TopicLimits) -> Event:
    """The event that gives the limits of a topic."""
    return fit(
        {
            "kind": LifecycleKind.LIMITS,
            "topic": topic,
            "max_message_bytes": limits.max_message_bytes,
            **_limits(limits),
        }
    )


def _limits(limits: TopicLimits | None) -> dict[str, object]:
    if limits is None:
        return {}
    return {
        "timestamp_type": limits.timestamp_type.config_value,
        "before_max_ms": limits.before_max_ms,
        "after_max_ms": limits.after_max_ms,
    }


Made = Event | Callable[[], Event]
"""A line, or a pure function that makes it. The function may run in another thread."""

A_LINE: Final = 1 << 10
"""The memory of a line without the texts of its fields, and without the tally that it is made of."""


class Lines:
    """Lines of the log in their order, some of which are made only when they are read.

    An interval may end with thousands of counters lines, and each takes tens of microseconds to make. The
    writer thread makes them while it reads them, so the event loop does not stop. `held_bytes` is their
    memory until then; the caller passes the part of those that are made later.
    """

    __slots__ = ("_made", "held_bytes")

    def __init__(self, made: Iterable[Made] = (), made_later_bytes: int = 0) -> None:
        self._made = tuple(made)
        self.held_bytes = made_later_bytes + sum(map(_bytes_of, self._made))

    def __len__(self) -> int:
        return len(self._made)

    def __iter__(self) -> Iterator[Event]:
        return (line if isinstance(line, dict) else line() for line in self._made)

    def __add__(self, other: "Lines") -> "Lines":
        both = Lines()
        both._made, both.held_bytes = self._made + other._made, self.held_bytes + other.held_bytes
        return both


def _bytes_of(made: Made) -> int:
    return A_LINE + (sum(map(getsizeof, made.values())) + getsizeof(made) if isinstance(made, dict) else 0)
