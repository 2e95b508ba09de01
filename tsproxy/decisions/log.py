"""`DecisionLog` makes the lines of the decision log, one by one.

It owns the `seq` of one boot, the ledger, the rate limit of examples, and the intervals. It never reads a
clock: `now_ms` comes with every call, and a batch brings the clock by which it was judged.

Intervals end on multiples of `interval_ms` since the epoch, so no interval spans two hours or two days
(the first one of a boot is shorter). An interval ends when a batch or a tick brings a clock past its end.
Its lines are the counters of every key and then one heartbeat, even if nothing happened. So the heartbeats
cover the whole boot, and `seq` has no gaps. From these two facts a reader can prove that nothing is
missing, or name the missing lines.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from tsproxy.decisions.events import Event, Lines, Made, decision, fit, lifecycle, topic_limits
from tsproxy.decisions.examples import Examples
from tsproxy.decisions.fields import SCHEMA_VERSION, EventName, LifecycleKind
from tsproxy.decisions.ledger import KEYS, Ledger, Tally, counters
from tsproxy.decisions.limits_written import LimitsWritten
from tsproxy.decisions.old_requests import OldRequests, client_facts
from tsproxy.decisions.privacy import Privacy
from tsproxy.decisions.text import bounded, instant
from tsproxy.decisions.totals import Key, Totals
from tsproxy.model.addresses import counted_as
from tsproxy.model.outcome import OldRequest, VerdictName

INTERVAL_MS: Final = 60_000
NOTHING: Final = Lines()
_DAY_MS: Final = 86_400_000
_FAR_MS: Final = 60_000
_STORED: Final = frozenset({VerdictName.ACCEPTED, VerdictName.REPAIRED})


@dataclass(frozen=True, slots=True)
class WriterHealth:
    """Counts that the writer of the lines reports. Both start at zero with the boot."""

    lines_dropped: int = 0
    queue_high_water: int = 0


class DecisionLog:
    """One boot of one proxy process. Lines must be written in the order they are returned.

    `proxy` names the installation and stays the same. `boot` must be different for every process that is
    ever started under that name. `cluster_id` may be set later, when it is known. A line that cannot be
    written is dropped. A reader notices this, because its `seq` is missing.
    """

    def __init__(
        self,
        proxy: str,
        boot: str,
        now_ms: int,
        *,
        cluster_id: str | None = None,
        interval_ms: int = INTERVAL_MS,
        max_keys: int = KEYS.most,
        examples: Examples | None = None,
        privacy: Privacy = Privacy(),  # noqa: B008  # frozen
    ) -> None:
        self.cluster_id = cluster_id
        self._proxy = bounded(proxy)
        self._boot = bounded(boot)
        self._interval_ms = interval_ms
        self._now_ms = self._starts_ms = now_ms
        self._privacy = privacy
        self._writer = WriterHealth()
        self._ledger = Ledger(max_keys)
        self._examples = examples or Examples(now_ms)
        self._limits = LimitsWritten()
        self._old_requests = OldRequests()
        self._seq = 0
        self._begin(now_ms)

    def book(self, totals: Totals) -> Lines:
        """Count batches. Returns the lines that are now due, usually none.

        Totals with an example bring the clock, and end the interval if it is over. The totals of the fast
        path grow until they are fetched, and are counted in the open interval. So fetch and book all of them
        before an interval ends (`is_over`, `is_due`): then each batch is in the interval of its own clock.
        A clock that lies far beyond the end was set back before the answer came, and ends nothing.
        Batches without an example count as suppressed if they might have had a decision line.
        """
        ended, outcome = NOTHING, totals.example
        if outcome is not None and outcome.now_ms < self._ends_ms + _FAR_MS:
            self._now_ms = max(self._now_ms, outcome.now_ms)
            if self._now_ms >= self._ends_ms:
                ended = self._end_interval()
        lines = self._limits_lines(totals)
        key = self._ledger.book(totals)
        if totals.key.is_exemplary:
            lines += self._example_lines(totals, key)
        return ended + Lines(lines) if lines else ended

    def note(self, request: OldRequest) -> None:
        """Write at the end of the interval that the client sent this request."""
        self._old_requests.note(request)

    def _example_lines(self, totals: Totals, key: Key) -> list[Made]:
        """The decision line of batches that may have one, unless it is suppressed."""
        outcome = totals.example
        if outcome is None:
            self._suppressed += totals.batches
            self._examples.suppress(key, totals.batches)
            return []
        suppressed = self._examples.admit(key, counted_as(totals.peer.client_address), self._now_ms)
        if suppressed is None:
            self._suppressed += 1
            return []
        self._written += 1
        facts = decision(totals, outcome, suppressed, self._privacy)
        return [self._line(EventName.DECISION, outcome.now_ms, facts)]

    @property
    def privacy(self) -> Privacy:
        """The privacy settings, also for code that writes addresses and principals elsewhere."""
        return self._privacy

    def is_over(self, now_ms: int) -> bool:
        """True if an outcome with this clock would end the interval."""
        return now_ms >= self._ends_ms

    def is_due(self, now_ms: int) -> bool:
        """True if `tick` would end the interval. It also does if the clock stepped back."""
        return self.is_over(now_ms) or now_ms < self._starts_ms - self._interval_ms

    def tick(self, now_ms: int, writer: WriterHealth | None = None) -> Lines:
        """Counters and a heartbeat if an interval is over, else nothing. Call it about once a second.

        A clock that stepped back by more than an interval ends the interval too.
        """
        self._writer = writer or self._writer
        if now_ms < self._starts_ms - self._interval_ms:
            lines = self._settle(max(self._starts_ms, self._now_ms))
            self._now_ms = now_ms
            self._begin(now_ms)
            return lines
        self._now_ms = now_ms
        return self._end_interval() if now_ms >= self._ends_ms else NOTHING

    def lifecycle(self, kind: LifecycleKind, now_ms: int, facts: Mapping[str, object]) -> Event:
        """One line about the proxy itself. `facts` must be plain JSON values and contain no secret."""
        return self._line(EventName.LIFECYCLE, now_ms, lifecycle(kind, facts))

    def stop(self, now_ms: int, writer: WriterHealth | None = None) -> Lines:
        """The last lines of the boot: the remaining counters, a heartbeat, and `stop`."""
        self._writer = writer or self._writer
        self._now_ms = max(self._now_ms, now_ms)
        lines = self._end_interval() if self._now_ms >= self._ends_ms else NOTHING
        lines += self._settle(self._now_ms)
        return lines + Lines([self.lifecycle(LifecycleKind.STOP, now_ms, {})])

    def _begin(self, start_ms: int) -> None:
        if start_ms // _DAY_MS != self._starts_ms // _DAY_MS:
            self._limits.clear()
        self._starts_ms = start_ms
        self._ends_ms = (start_ms // self._interval_ms + 1) * self._interval_ms
        self._seq_first = self._seq
        self._written = 0
        self._suppressed = 0

    def _end_interval(self) -> Lines:
        """End the interval at the last boundary that has passed. Several boundaries give one long
        interval."""
        ends_ms = max(self._starts_ms, self._now_ms // self._interval_ms * self._interval_ms)
        lines = self._settle(ends_ms)
        self._examples.forget_idle(self._now_ms)
        self._begin(ends_ms)
        return lines

    def _settle(self, ends_ms: int) -> Lines:
        """The counters lines and the heartbeat. Counters are made when read: there may be thousands."""
        batches_folded, held_bytes = self._ledger.batches_folded, self._ledger.held_bytes
        interval = {
            "interval_start": instant(self._starts_ms),
            "interval_ms": max(0, ends_ms - self._starts_ms),
        }
        start = self._start_of_line(EventName.COUNTERS, self._now_ms)
        lines: list[Made] = [
            partial(
                _counters_line, start | {"seq": seq}, key, tally, interval=interval, privacy=self._privacy
            )
            for seq, (key, tally) in enumerate(self._ledger.take(), self._seq)
        ]
        self._seq += len(lines)
        keys = len(lines)
        for use, versions in self._old_requests:
            facts = {**client_facts(use, versions, self._privacy), **interval}
            lines.append(self._line(EventName.CLIENT, self._now_ms, facts))
        self._old_requests.clear()
        heartbeat = {
            **interval,
            "seq_first": self._seq_first,
            "seq_last": self._seq,
            "keys": keys,
            "batches_folded": batches_folded,
            "decisions_written": self._written,
            "decisions_suppressed": self._suppressed,
            "lines_dropped": self._writer.lines_dropped,
            "queue_high_water": self._writer.queue_high_water,
        }
        lines.append(self._line(EventName.HEARTBEAT, self._now_ms, fit(heartbeat)))
        return Lines(lines, held_bytes)

    def _limits_lines(self, totals: Totals) -> list[Made]:
        """A line if a topic's limits are seen for the first time today, or have changed."""
        key, limits = totals.key, totals.limits
        if limits is None:
            return []
        exists = key.verdict in _STORED
        if not self._limits.must_write(key.topic, limits, totals.peer.client_address, exists=exists):
            return []
        return [self._line(EventName.LIFECYCLE, totals.last_ms, topic_limits(key.topic, limits))]

    def _line(self, event: EventName, now_ms: int, facts: Event) -> Event:
        line = {**self._start_of_line(event, now_ms), "seq": self._seq, **facts}
        self._seq += 1
        return line

    def _start_of_line(self, event: EventName, now_ms: int) -> Event:
        """The common fields of lines of this event and time. The caller sets `seq`."""
        start: Event = {
            "ts": instant(now_ms),
            "event": event.value,
            "v": SCHEMA_VERSION,
            "proxy": self._proxy,
            "boot": self._boot,
            "seq": 0,
        }
        if self.cluster_id is not None:
            start["cluster_id"] = self.cluster_id
        return start


def _counters_line(
    start: Event, key: Key, tally: Tally, interval: Mapping[str, object], privacy: Privacy
) -> Event:
    return {**start, **counters(key, tally, interval, privacy)}
