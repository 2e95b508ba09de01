"""The Prometheus metrics of one process. `catalogue` describes each of them.

No client can make the values of a label grow without bound: listeners, verdicts, reasons and the like are
closed lists. Counts per chunk are plain numbers, which are read at each scrape.
"""

import platform
from collections.abc import Callable, Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, disable_created_metrics
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from tsproxy import __version__
from tsproxy.decisions.totals import Key, Totals
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.outcome import VerdictName
from tsproxy.model.policy import CANDIDATE
from tsproxy.proxy.limits.admission import Limit
from tsproxy.proxy.metrics import catalogue
from tsproxy.proxy.metrics.drift import DriftMetric
from tsproxy.proxy.metrics.rules import RuleMetric
from tsproxy.proxy.metrics.timings import Timings
from tsproxy.proxy.metrics.topics import OTHER, AcceptedRecords, TopicMetric
from tsproxy.proxy.metrics.totals import as_text, families_now
from tsproxy.proxy.pipe import Tally
from tsproxy.session.effects import ReasonToClose, SessionCounter

_HELD: Final = (0.2, 0.5, 1, 2, 5, 10)
_TAKEN: Final = frozenset({VerdictName.ACCEPTED, VerdictName.REPAIRED})


def _has_fault(key: Key) -> bool:
    """True if records of the batches are at fault. They are not if a broker rejected the batch for something
    else, if the client may send it again, or if the batch is unconfirmed."""
    if key.would_reject:
        return True
    if key.verdict is VerdictName.BROKER_REJECTED:
        return key.is_final and key.is_about_records
    return key.verdict is not VerdictName.UNCONFIRMED


SENT_AGAIN: Final = "sent_again"
"""The label of batches that met an error after which clients send them again by themselves."""


def _verdict_and_reason(key: Key) -> tuple[str, str | None]:
    """The labels of batches. A batch that its client sends again was not rejected for good, so it is counted
    apart, with the name of the error (`concurrent_transactions`)."""
    if not key.is_final:
        return SENT_AGAIN, ErrorCode(key.error_code).name.lower()
    return key.verdict, None if key.would_reject else key.reason


class Metrics:
    """All metrics of one process. Code adds to plain int attributes directly.

    `topic_exists` returns whether other parts know that a topic exists.
    """

    def __init__(self, topic_exists: Callable[[str], bool] = lambda _: False) -> None:
        # A `_created` series for each counter would double every scrape.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library does not type it
        self.from_clients = Tally()
        self.from_brokers = Tally()
        self.buffered_bytes = 0
        self.buffered_ratio = 0.0
        self.throttled_ms = 0
        self.session_events = dict.fromkeys(SessionCounter, 0)
        self.decisions_written = 0
        self.decisions_dropped = 0
        self.decision_files_deleted = 0
        self.decision_log_writable = True
        self.decision_write_s = 0.0
        self.clients_refused_by_kafka_4 = 0
        self.decision_topic: tuple[bool, int] | None = None
        """Whether the topic accepts lines, and how many it has accepted; None if there is no topic."""
        self.registry = registry = CollectorRegistry(auto_describe=False)
        """Other parts add their own metrics to it."""
        self._batches = catalogue.BATCHES.counter(registry)
        self._records = catalogue.RECORDS.counter(registry)
        self._unread = catalogue.RECORDS_UNREAD.counter(registry)
        self._limits_unknown = catalogue.RECORDS_LIMITS_UNKNOWN.counter(registry)
        self._by_outcome: dict[tuple[str, str, str | None], tuple[Counter, Counter]] = {}
        self._bad_records = catalogue.BAD_RECORDS.counter(registry)
        self._candidate_bad_records = catalogue.CANDIDATE_BAD_RECORDS.counter(registry)
        self._audited_bad_records = catalogue.AUDITED_BAD_RECORDS.counter(registry)
        self._connections = catalogue.CONNECTIONS.gauge(registry)
        self._closed = catalogue.SESSIONS_CLOSED.counter(registry)
        self._handshakes = catalogue.TLS_HANDSHAKES_FAILED.counter(registry)
        self._sasl_failures = catalogue.SASL_FAILURES.counter(registry)
        self._limits_reached = catalogue.LIMITS.counter(registry)
        for limit in Limit:  # from the start at 0, so that the first one shows as an increase
            self._limits_reached.labels(limit)
        self.rule_failures = catalogue.RULE_FAILURES.counter(registry)
        self.timings = Timings()
        self._loop_held = catalogue.LOOP_HELD.histogram(_HELD)
        self._drift = DriftMetric()
        self._accepted_by_topic = AcceptedRecords(catalogue.TOPIC_RECORDS)
        self._bad_by_topic = TopicMetric(catalogue.TOPIC_BAD_RECORDS)
        self._topic_exists = topic_exists
        self.rules = RuleMetric()
        by_topic = (self._bad_by_topic, self._accepted_by_topic)
        for collector in (self.timings, self._loop_held, self._drift, *by_topic, self.rules, _Plain(self)):
            registry.register(collector)

    def book(self, totals: Totals) -> None:
        key = totals.key
        of_batches, of_records = self._counters(key.listener, *_verdict_and_reason(key))
        of_batches.inc(totals.batches)
        of_records.inc(totals.records)
        if totals.records_unread:
            self._unread.labels(key.listener).inc(totals.records_unread)
        if totals.records_limits_unknown:
            self._limits_unknown.labels(key.listener).inc(totals.records_limits_unknown)
        self._drift.book(totals)
        self.rules.book(totals)
        if key.verdict in _TAKEN:
            self._accepted_by_topic.add(key.topic, totals.records)
        if totals.bad_records and _has_fault(key):
            counter = self._fault_counter(key)
            counter.labels(key.reason or "", key.unit_guess or "").inc(totals.bad_records)
            if counter is self._bad_records:
                exists = key.topic in self._accepted_by_topic or self._topic_exists(key.topic)
                self._bad_by_topic.add(key.topic if exists else OTHER, totals.bad_records)

    def _fault_counter(self, key: Key) -> Counter:
        if not key.would_reject:
            return self._bad_records
        return self._candidate_bad_records if key.rule == CANDIDATE else self._audited_bad_records

    def _counters(self, listener: str, verdict: str, reason: str | None) -> tuple[Counter, Counter]:
        key = (listener, verdict, reason)
        counters = self._by_outcome.get(key)
        if counters is None:
            labels = [value or "" for value in key]
            counters = (self._batches.labels(*labels), self._records.labels(*labels))
            self._by_outcome[key] = counters  # the keys are a closed list; `labels` takes 1 us each
        return counters

    def connection_moved(self, listener: str, state: str | None, to: str | None) -> None:
        """One connection changed its state. `state` is None for a new one, `to` for a closed one."""
        if state is not None:
            self._connections.labels(listener, state.lower()).dec()
        if to is not None:
            self._connections.labels(listener, to.lower()).inc()

    def session_closed(self, listener: str, reason: ReasonToClose) -> None:
        self._closed.labels(listener, reason).inc()

    def loop_was_held(self, api: str, seconds: float) -> None:
        self._loop_held.labels(api).observe(seconds)

    def limit_reached(self, limit: Limit) -> None:
        self._limits_reached.labels(limit).inc()

    def handshake_failed(self, listener: str) -> None:
        self._handshakes.labels(listener).inc()

    def sasl_failed(self, listener: str, mechanism: str) -> None:
        """Count a failed login. `mechanism` is from the closed list of `session.sasl`."""
        self._sasl_failures.labels(listener, mechanism).inc()

    def add(self, collector: Collector) -> None:
        self.registry.register(collector)

    def families(self) -> Iterable[Metric]:
        """All metrics now, for the sum over several processes."""
        return self.registry.collect()

    def render(self) -> bytes:
        """The text of a scrape (Prometheus text format)."""
        return as_text(families_now(self.families()))


class _Plain(Collector):
    """The metrics that are kept as plain ints."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        metrics = self._metrics
        received = catalogue.BYTES.counts()
        received.add_metric(["from_client"], metrics.from_clients.bytes)
        received.add_metric(["from_broker"], metrics.from_brokers.bytes)
        yield received
        yield from _plain(metrics)
        build = catalogue.BUILD_INFO.levels()
        build.add_metric([__version__, platform.python_version()], 1)
        yield build


def _plain(metrics: Metrics) -> Iterable[Metric]:
    yield catalogue.DECISIONS.counts(metrics.decisions_written)
    yield catalogue.DECISIONS_DROPPED.counts(metrics.decisions_dropped)
    yield catalogue.DECISION_FILES_DELETED.counts(metrics.decision_files_deleted)
    yield catalogue.DECISION_LOG_WRITABLE.levels(metrics.decision_log_writable)
    yield catalogue.DECISION_LOG_WRITE_SECONDS.levels(metrics.decision_write_s)
    yield catalogue.CLIENTS_REFUSED_BY_KAFKA_4.levels(metrics.clients_refused_by_kafka_4)
    yield catalogue.THROTTLE_SECONDS.counts(metrics.throttled_ms / 1000)
    for event, number in metrics.session_events.items():
        yield catalogue.SESSION_EVENTS[event].counts(number)
    yield catalogue.BUFFERED_BYTES.levels(metrics.buffered_bytes)
    yield catalogue.BUFFERED_RATIO.levels(metrics.buffered_ratio)
    if metrics.decision_topic is not None:
        is_up, sent = metrics.decision_topic
        yield catalogue.DECISION_TOPIC_UP.levels(is_up)
        yield catalogue.DECISION_TOPIC_SENT.counts(sent)
