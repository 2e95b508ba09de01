"""The Prometheus metrics, under their documented names.

No client can make the values of a label grow without bound: listeners, verdicts, reasons and the like are
closed lists. Counts per chunk are plain numbers, which are read at each scrape.
"""

import platform
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, disable_created_metrics, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tsproxy import __version__
from tsproxy.model.outcome import Outcome, RejectionCause, Totals, VerdictName
from tsproxy.model.policy import CANDIDATE
from tsproxy.model.verdict import Reason
from tsproxy.proxy.limits.limit import Limit
from tsproxy.proxy.metrics.busiest_topics import BusiestTopics
from tsproxy.proxy.metrics.drift import DriftMetric
from tsproxy.proxy.metrics.latency.timings import Timings
from tsproxy.proxy.metrics.rules import RuleMetric
from tsproxy.proxy.metrics.topics import TopicMetric
from tsproxy.proxy.pipe import Tally
from tsproxy.session.effects import CloseReason, SessionCounter

_OUTCOME_LABELS: Final = ("listener", "verdict", "reason")
_FAULT_LABELS: Final = ("reason", "unit")
_TAKEN: Final = frozenset({VerdictName.ACCEPTED, VerdictName.REPAIRED})


def _has_fault(outcome: Outcome) -> bool:
    """False for a batch that a broker rejected and the client may send again: no record caused that."""
    if outcome.would_reject:
        return True
    if outcome.verdict is VerdictName.BROKER_REJECTED:
        return outcome.is_final
    return outcome.verdict is not VerdictName.UNCONFIRMED


class Metrics:
    """All metrics of one process. Code adds to plain int attributes directly.

    `topic_exists` says whether other parts know that a topic exists.
    """

    def __init__(self, topic_exists: Callable[[str], bool] = lambda _: False) -> None:
        # A `_created` series for each counter would double every scrape.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library does not type it
        self.from_clients = Tally()
        self.from_brokers = Tally()
        self.buffered_bytes = 0
        self.throttled_ms = 0
        self.session_events = dict.fromkeys(SessionCounter, 0)
        self.decisions_written = 0
        self.decisions_dropped = 0
        self.decision_files_deleted = 0
        self.decision_log_writable = True
        self.decision_topic: tuple[bool, int] | None = None
        """Whether the topic accepts lines, and how many it has accepted; None if there is no topic."""
        self._registry = registry = CollectorRegistry(auto_describe=False)
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        self._batches = counter("tsproxy_batches", "Record batches by how they ended", _OUTCOME_LABELS)
        self._records = counter("tsproxy_records", "Records by how their batch ended", _OUTCOME_LABELS)
        self._unread = counter(
            "tsproxy_records_unread",
            "Records of compressed batches of which only the header was judged",
            ("listener",),
        )
        self._by_outcome: dict[tuple[str, VerdictName, Reason | None], tuple[Counter, Counter]] = {}
        self._bad_records = counter(
            "tsproxy_bad_records",
            "Records that were themselves at fault, by reason and by the unit they seem to be in",
            _FAULT_LABELS,
        )
        self._candidate_bad_records = counter(
            "tsproxy_candidate_bad_records",
            "Records that were let pass, and that the candidate limits would reject",
            _FAULT_LABELS,
        )
        self._audited_bad_records = counter(
            "tsproxy_audited_bad_records",
            "Records that were let pass, and that a rule in audit mode or under a waiver would reject",
            _FAULT_LABELS,
        )
        self._connections = gauge(
            "tsproxy_connections",
            "Client connections that are open, by their state",
            ("listener", "state"),
        )
        self._closed = counter(
            "tsproxy_sessions_closed", "Sessions by why they ended", ("listener", "reason")
        )
        self._handshakes = counter(
            "tsproxy_tls_handshakes_failed", "TLS handshakes with clients that failed", ("listener",)
        )
        self._sasl_failures = counter(
            "tsproxy_sasl_failures",
            "Logins of clients that brokers did not accept, by mechanism",
            ("listener", "mechanism"),
        )
        self._limits_reached = counter(
            "tsproxy_limits",
            "Connections that were ended or rejected because of a limit of the proxy",
            ("limit",),
        )
        for limit in Limit:  # from the start at 0, so that the first one shows as an increase
            self._limits_reached.labels(limit)
        self._address_unmapped = counter(
            "tsproxy_address_unmapped", "Answers that named a broker the proxy cannot map"
        )
        self.certificate_expiry = gauge(
            "tsproxy_certificate_expiry_seconds",
            "Seconds until the certificates of a file end; below 0 since they have ended",
            ("setting",),
        )
        self.rule_failures = counter(
            "tsproxy_rule_failures", "Batches about which an operator's own rule could not answer"
        )
        self.waiver_expiry = gauge(
            "tsproxy_waiver_expiry_seconds",
            "Seconds until a waiver ends; below 0 since it has ended",
            ("waiver",),
        )
        self.brokers = gauge(
            "tsproxy_brokers", "Brokers of the cluster that a listener serves", ("listener",)
        )
        self.brokers_not_served = gauge(
            "tsproxy_brokers_not_served",
            "Brokers of the cluster that a listener cannot serve: each of them keeps all its clients out",
            ("listener",),
        )
        self.upstream_up = gauge("tsproxy_upstream_up", "1 while the proxy's own connection works")
        self.timings = Timings()
        self._drift = DriftMetric()
        self._topics = TopicMetric(
            "tsproxy_topic_bad_records",
            "Records that were themselves at fault, by topic; the topics with most of them",
            topic_exists,
        )
        self._out_of_order = TopicMetric(
            "tsproxy_topic_out_of_order_records",
            "Accepted records older than one before them in their partition, where a rule follows stream "
            "time; the topics with most of them",
            topic_exists,
        )
        self._busiest = BusiestTopics(
            "tsproxy_topic_records", "Records that brokers have taken, by topic; the busiest topics"
        )
        self.rules = RuleMetric()
        by_topic = (self._topics, self._out_of_order, self._busiest)
        for collector in (self.timings, self._drift, *by_topic, self.rules, _Plain(self)):
            registry.register(collector)

    def booked(self, outcome: Outcome) -> None:
        """Count one batch that has ended."""
        reason = None if outcome.would_reject else outcome.reason
        batches, records = self._counters(outcome.peer.listener, outcome.verdict, reason)
        batches.inc()
        records.inc(outcome.batch.records)
        if outcome.batch.is_unread:
            self._unread.labels(outcome.peer.listener).inc(outcome.batch.records)
        self._drift.booked(outcome)
        self.rules.booked(outcome)
        if outcome.verdict is VerdictName.ACCEPTED:
            self._topics.accepted(outcome.topic)
        if outcome.verdict in _TAKEN:
            self._busiest.add(outcome.topic, outcome.batch.records)
        if outcome.out_of_order_records:  # only accepted batches have them: the topic exists
            self._out_of_order.accepted(outcome.topic)
            self._out_of_order.add(outcome.topic, outcome.out_of_order_records)
        if outcome.bad_records and _has_fault(outcome):
            self._faulty(outcome.topic, outcome)

    def _faulty(self, topic: str, why: Outcome | RejectionCause) -> None:
        counter = self._fault_counter(why)
        counter.labels(why.reason or "", why.unit_guess or "").inc(why.bad_records)
        if counter is self._bad_records:
            self._topics.add(topic, why.bad_records)

    def _fault_counter(self, why: Outcome | RejectionCause) -> Counter:
        if not why.would_reject:
            return self._bad_records
        return self._candidate_bad_records if why.rule == CANDIDATE else self._audited_bad_records

    def booked_totals(self, totals: Totals) -> None:
        """Count many batches with equal outcomes."""
        cause, verdict = totals.cause, totals.verdict
        reason = None if cause is None or cause.would_reject else cause.reason
        batches, records = self._counters(totals.peer.listener, verdict, reason)
        batches.inc(totals.batches)
        records.inc(totals.records)
        if totals.records_unread:
            self._unread.labels(totals.peer.listener).inc(totals.records_unread)
        self._drift.booked_totals(totals)
        self.rules.booked_totals(totals)
        if verdict is VerdictName.ACCEPTED:
            self._topics.accepted(totals.topic)
            self._busiest.add(totals.topic, totals.records)
        if cause is not None:
            self._faulty(totals.topic, cause)

    def _counters(
        self, listener: str, verdict: VerdictName, reason: Reason | None
    ) -> tuple[Counter, Counter]:
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

    def session_closed(self, listener: str, reason: str) -> None:
        self._closed.labels(listener, reason).inc()
        if reason == CloseReason.ADDRESS_UNMAPPED:
            self._address_unmapped.inc()

    def limit_reached(self, limit: Limit) -> None:
        self._limits_reached.labels(limit).inc()

    def handshake_failed(self, listener: str) -> None:
        self._handshakes.labels(listener).inc()

    def sasl_failed(self, listener: str, mechanism: str) -> None:
        """Count a failed login. `mechanism` is from the closed list of `session.sasl`."""
        self._sasl_failures.labels(listener, mechanism).inc()

    def add(self, collector: Collector) -> None:
        """Add the metrics of another part."""
        self._registry.register(collector)

    def families(self) -> Iterable[Metric]:
        """All metrics now, for the sum over several processes."""
        return self._registry.collect()

    def render(self) -> bytes:
        """The text of a scrape (Prometheus text format)."""
        return generate_latest(self._registry)


class _Plain(Collector):
    """The metrics that are kept as plain ints."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        metrics = self._metrics
        traffic = CounterMetricFamily(
            "tsproxy_bytes", "Bytes received, by who sent them", labels=["direction"]
        )
        traffic.add_metric(["from_client"], metrics.from_clients.bytes)
        traffic.add_metric(["from_broker"], metrics.from_brokers.bytes)
        yield traffic
        for kind, name, meaning, value in _plain_rows(metrics):
            yield kind(name, meaning, value)
        build = GaugeMetricFamily("tsproxy_build_info", "Always 1", labels=["version", "python"])
        build.add_metric([__version__, platform.python_version()], 1)
        yield build


def _plain_rows(
    metrics: Metrics,
) -> Iterable[tuple[type[CounterMetricFamily | GaugeMetricFamily], str, str, float]]:
    """The metrics without labels: kind, name, meaning and value of each."""
    count, gauge = CounterMetricFamily, GaugeMetricFamily
    yield count, "tsproxy_decisions", "Lines written to the decision log", metrics.decisions_written
    dropped = "Lines that did not reach the decision log: the queue was full or the disk rejected"
    yield count, "tsproxy_decisions_dropped", dropped, metrics.decisions_dropped
    deleted = "Decision files deleted because of their age or size"
    yield count, "tsproxy_decision_files_deleted", deleted, metrics.decision_files_deleted
    writable = "1 while lines reach the decision log's files"
    yield gauge, "tsproxy_decision_log_writable", writable, metrics.decision_log_writable
    throttled = "Time that clients were kept waiting because too much of theirs was rejected"
    yield count, "tsproxy_throttle_seconds", throttled, metrics.throttled_ms / 1000
    for event, number in metrics.session_events.items():
        yield count, f"tsproxy_{event}", event.meaning, number
    buffered = "Bytes held for all connections together, of limits.buffered"
    yield gauge, "tsproxy_buffered_bytes", buffered, metrics.buffered_bytes
    if metrics.decision_topic is not None:
        is_up, sent = metrics.decision_topic
        yield gauge, "tsproxy_decision_topic_up", "1 while the decision log's topic takes lines", is_up
        yield count, "tsproxy_decision_topic_sent", "Lines that the decision log's topic has taken", sent
