"""`tsproxy_rule_hits_total` and `tsproxy_rule_bad_records_total`: how often each rule hits.

A rule hits a batch that it rejects, repairs, or would reject (in audit, under a waiver, as the candidate
limit). Every rule of the file has its series from the start, so that a rule that never hits is visible.
Labels are names and modes of the file's rules, of the topics' own limits and of the candidate limit.
"""

from collections.abc import Iterable

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from tsproxy.decisions.totals import Totals
from tsproxy.model.policy import Mode, Policy
from tsproxy.proxy.metrics.catalogue.batches import RULE_BAD_RECORDS, RULE_HITS


class RuleMetric(Collector):
    def __init__(self) -> None:
        self._batches: dict[tuple[str, str], int] = {}
        self._records: dict[tuple[str, str], int] = {}

    def know(self, policy: Policy) -> None:
        """Add the series of the rules that are in force from now on. Counts of earlier rules stay."""
        for rule in policy.rules:
            mode = rule.settings.mode or policy.mode
            if mode is not Mode.OFF:
                self._count(rule.name, mode, 0, 0)

    def book(self, totals: Totals) -> None:
        key = totals.key
        if key.rule is not None and key.mode is not None:
            self._count(key.rule, key.mode, totals.batches, totals.bad_records)

    def _count(self, rule: str, mode: Mode, batches: int, records: int) -> None:
        key = (rule, mode.value)
        self._batches[key] = self._batches.get(key, 0) + batches
        self._records[key] = self._records.get(key, 0) + records

    def collect(self) -> Iterable[Metric]:
        for described, counts in ((RULE_HITS, self._batches), (RULE_BAD_RECORDS, self._records)):
            family = described.counts()
            for labels, count in counts.items():
                family.add_metric(labels, count)
            yield family
