"""Each metric that a proxy or a report can show, with its labels, from the objects that make the metrics.

A proxy is built with every feature that has metrics of its own. It does not run, so no broker is needed.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from spark_reports.render import prom
from tests.spark_reports import reports
from tsproxy.clock import Clock
from tsproxy.config import load, read_yaml
from tsproxy.config.source import Source
from tsproxy.proxy.reload.reloader import Reloader
from tsproxy.proxy.server import Proxy
from tsproxy.proxy.service_manager import ServiceManager
from tsproxy.proxy.workers.supervisor import _about

CONFIG = """\
upstream: { bootstrap_servers: ["127.0.0.1:9"] }
listeners: [{ bind: "127.0.0.1:0", brokers: { ports_from: 0 } }]
admin: { bind: off }
dead_letters: { topic: dead }
policy: { defaults: { dead_letters: yes } }
decisions: { topic: { name: log }, directory: %s }
"""
SUFFIXES: Mapping[str, Mapping[str, frozenset[str]]] = {
    "counter": {"_total": frozenset()},
    "gauge": {"": frozenset()},
    "histogram": {"_bucket": frozenset({"le"}), "_sum": frozenset(), "_count": frozenset()},
}
"""Kind -> the end of a series' name -> its labels beside the metric's own."""


async def metric_table(folder: Path) -> dict[str, frozenset[str]]:
    """Name of a series -> the names of its labels. Call it in an event loop."""
    file = folder / "tsproxy.yaml"
    file.write_text(CONFIG % (folder / "decisions"))
    source = Source(file, lambda: load(read_yaml(file), {}))
    config = source.read()
    proxy = Proxy(config, Clock(), lambda *_: None)
    proxy.metrics.decision_topic = (True, 0)
    proxy.metrics.add(Reloader(source, config, proxy.adopt, ServiceManager.of({})))
    table = {}
    of_the_report = text_string_to_metric_families(prom.render(reports.fixed()))
    for metric, labels in [
        *_registered(proxy.metrics.registry),
        *_families(_about([])),
        *_with_samples(of_the_report),
    ]:
        for suffix, more in SUFFIXES[metric.type].items():
            table[metric.name + suffix] = labels | more
    return table


def _registered(registry: Any) -> Iterable[tuple[Metric, frozenset[str]]]:
    for collector in registry._collector_to_names:
        if isinstance(collector, MetricWrapperBase):
            [family] = collector.collect()
            yield family, frozenset(collector._labelnames)
        else:
            yield from _families(collector.collect())


def _with_samples(families: Iterable[Metric]) -> Iterable[tuple[Metric, frozenset[str]]]:
    for family in families:
        yield family, frozenset().union(*(sample.labels for sample in family.samples))


def _families(families: Iterable[Metric]) -> Iterable[tuple[Metric, frozenset[str]]]:
    for family in families:
        yield family, frozenset(getattr(family, "_labelnames", ()))
