"""`tsproxy_rule_hits_total` and `tsproxy_rule_bad_records_total`: how often each rule hits.

A rule hits a batch that it rejects, repairs, or would reject (in audit, under a waiver, as the candidate
limit). Every rule of the file has its series from the start, so that a rule that never hits is visible.
Labels are names and modes of the file's rules, of the topics' own limits and of the candidate limit.
"""

from collections.abc import Iterable

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from tsproxy.decisions.totals import Totals
from tsproxy.model.policy import Mode, Policy
from tsproxy.proxy.metrics.catalogue import RULE_BAD_RECORDS, RULE_HITS
from tsproxy.proxy.metrics.described import Described


class RuleMetric(Collector):
    """There may be hundreds of rules, and most of them hit nothing between two scrapes. So the samples are
    kept, and one is made anew when its count changes."""

    def __init__(self) -> None:
        self._batches = _Counts(RULE_HITS)
        self._records = _Counts(RULE_BAD_RECORDS)

    def know(self, policy: Policy) -> None:
        """Add the series of the rules that are in force from now on. Counts of earlier rules stay."""
        for rule in policy.rules:
            mode = rule.settings.mode or policy.mode
            if mode is not Mode.OFF:
                self._count(rule.name, mode, 0, 0)
        list(self.collect())  # the samples are made now, not for the first reader

    def book(self, totals: Totals) -> None:
        key = totals.key
        if key.rule is not None and key.mode is not None:
            self._count(key.rule, key.mode, totals.batches, totals.bad_records)

    def _count(self, rule: str, mode: Mode, batches: int, records: int) -> None:
        self._batches.add((rule, mode.value), batches)
        self._records.add((rule, mode.value), records)

    def collect(self) -> Iterable[Metric]:
        yield self._batches.family()
        yield self._records.family()


class _Counts:
    """The counts of one metric by the values of its labels."""

    def __init__(self, described: Described) -> None:
        self._described = described
        self._counts: dict[tuple[str, ...], int] = {}
        self._changed: set[tuple[str, ...]] = set()
        self._samples: dict[tuple[str, ...], Sample] = {}

    def add(self, labels: tuple[str, ...], count: int) -> None:
        if count or labels not in self._counts:
            self._counts[labels] = self._counts.get(labels, 0) + count
            self._changed.add(labels)

    def family(self) -> Metric:
        """All counts now."""
        changed = self._described.counts()
        for labels in self._changed:
            changed.add_metric(labels, self._counts[labels])
        self._samples |= zip(self._changed, changed.samples, strict=True)
        self._changed.clear()
        family = self._described.counts()
        family.samples.extend(self._samples.values())
        return family
