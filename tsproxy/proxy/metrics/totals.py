"""The metrics of several processes as one. Pure.

Counters and histograms are added up, including the counts of processes that have ended: if a total shrank
when a worker restarts, Prometheus would take it for a reset. Gauges describe the current state, so only
running workers count; `GAUGES` says how they are combined.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from prometheus_client.metrics_core import Metric

Labels = tuple[tuple[str, str], ...]

GAUGES: Final[Mapping[str, Callable[[float, float], float]]] = {
    "process_max_fds": min,
    "process_open_fds": max,  # each process has the limit for itself
    "process_start_time_seconds": min,
    "tsproxy_brokers": min,  # the worker that serves the fewest
    "tsproxy_brokers_not_served": max,
    "tsproxy_build_info": max,
    "tsproxy_certificate_expiry_seconds": min,
    "tsproxy_clock_suspected": max,
    "tsproxy_clock_offset_seconds": lambda one, other: max(one, other, key=abs),
    "tsproxy_dead_letters_up": min,
    "tsproxy_decision_log_writable": min,
    "tsproxy_decision_topic_up": min,
    "tsproxy_enforcement_suspended": max,
    "tsproxy_upstream_up": min,  # 1 while it works for all workers
    "tsproxy_waiver_expiry_seconds": min,
}
"""The function that combines two values of a gauge. Other gauges are added up."""


@dataclass(frozen=True, slots=True)
class Family:
    """One metric of one or more processes: (sample's name, labels) -> value, sorted as text."""

    name: str
    kind: str
    documentation: str
    samples: Mapping[tuple[str, Labels], float]

    @property
    def is_gauge(self) -> bool:
        return self.kind == "gauge"


Families = Mapping[str, Family]


def families_now(metrics: Iterable[Metric]) -> Families:
    """The metrics at this moment."""
    return {
        each.name: Family(
            each.name,
            each.type,
            each.documentation,
            {(sample.name, tuple(sample.labels.items())): sample.value for sample in each.samples},
        )
        for each in metrics
    }


def as_lines(families: Families) -> list[Any]:
    """The metrics as a worker reports them in JSON: [name, kind, documentation, [[sample, labels, value],
    ...]]."""
    return [
        [
            each.name,
            each.kind,
            each.documentation,
            [[sample, dict(labels), value] for (sample, labels), value in each.samples.items()],
        ]
        for each in families.values()
    ]


def families_of(lines: Sequence[Any]) -> Families:
    """The metrics from the result of `as_lines`."""
    return {
        name: Family(
            name,
            kind,
            documentation,
            {(sample, tuple(labels.items())): value for sample, labels, value in samples},
        )
        for name, kind, documentation, samples in lines
    }


def counts(families: Families) -> Families:
    """The metrics that outlive the process that counted them."""
    return {name: family for name, family in families.items() if not family.is_gauge}


def joined(parts: Iterable[Families]) -> Families:
    """The sum of `parts`, as if they came from one process."""
    whole: dict[str, Family] = {}
    for part in parts:
        for name, family in part.items():
            whole[name] = _join(whole[name], family) if name in whole else family
    return whole


def _join(one: Family, other: Family) -> Family:
    join = GAUGES.get(one.name, _sum) if one.is_gauge else _sum
    samples = dict(one.samples)
    for key, value in other.samples.items():
        samples[key] = join(samples[key], value) if key in samples else value
    return Family(one.name, one.kind, one.documentation, samples)


def _sum(one: float, other: float) -> float:
    return one + other


def as_metrics(families: Families) -> Iterable[Metric]:
    """The metrics for Prometheus's own renderer."""
    for family in families.values():
        metric = Metric(family.name, family.documentation, family.kind)
        for (sample, labels), value in family.samples.items():
            metric.add_sample(sample, dict(labels), value)
        yield metric
