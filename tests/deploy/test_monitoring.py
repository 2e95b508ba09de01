"""Rules, alerts and the dashboard name metrics that exist, and each alert has its heading in the documents.

Prometheus's own tool reads them in test_promtool.py.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from spark_reports.render import prom
from tests.deploy.commands import DEPLOY, ROOT
from tests.deploy.test_links import anchors
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
    """Name of a series -> the names of its labels, from the objects that make the metrics.

    The proxy has every feature with metrics of its own. It does not run, so no broker is needed. Call it in
    an event loop.
    """
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


WORDS = frozenset({"and", "or", "unless", "bool", "offset", "inf"})
AGGREGATIONS = frozenset({"sum", "max", "min", "avg", "count", "topk", "quantile"})
FUNCTIONS = frozenset(
    {"rate", "increase", "histogram_quantile", "avg_over_time", "max_over_time", "absent", "time", "abs"}
    | {"label_values", "clamp_min", "changes", "vector"}
)
TARGET_LABELS = frozenset({"job", "instance", "namespace", "service"})
"""Labels that Prometheus, or its operator, adds to each series."""

_TEXT = re.compile(r'"[^"]*"')
_LISTS = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_NUMBERS = re.compile(r"\[[^\]]*\]|\boffset\s+\w+|\b\d[\w.]*")
_SELECTOR = re.compile(r"([A-Za-z_:][\w:]*)?\s*\{([^}]*)\}")
_MATCHER = re.compile(r"\s*(\w+)\s*(?:=~|!~|!=|=)")
_WORD = re.compile(r"[A-Za-z_:][\w:]*")


@dataclass(frozen=True)
class Names:
    metrics: frozenset[str]
    matched: frozenset[tuple[str, str]]
    """(metric, label) for each label that a selector compares."""
    grouped: frozenset[str]
    """The labels by which results are grouped or joined."""


def selected(expression: str) -> list[tuple[str, dict[str, str]]]:
    """Each selector's metric, and labels that it selects."""
    found = re.findall(r"([A-Za-z_:][\w:]*)\{([^}]*)\}", expression.replace(".*", ""))
    return [(metric, dict(re.findall(r'(\w+)=~?"([^"]*)"', inside))) for metric, inside in found]


def names_in(expression: str) -> Names:
    """The names in an expression: a word that is not known counts as a metric. Grafana's variables must be
    between quotes or brackets."""
    rest = _NUMBERS.sub(" ", _TEXT.sub('""', expression))
    grouped = {word for each in _LISTS.findall(rest) for word in _WORD.findall(each)}
    rest = _LISTS.sub(" ", rest)
    matched = {
        (metric, label) for metric, inside in _SELECTOR.findall(rest) for label in _MATCHER.findall(inside)
    }
    rest = _SELECTOR.sub(r" \1 ", rest)
    words = set(_WORD.findall(rest))
    return Names(frozenset(words - WORDS - AGGREGATIONS - FUNCTIONS), frozenset(matched), frozenset(grouped))


def problems_of(expression: str, table: dict[str, frozenset[str]]) -> list[str]:
    """A text for each name that `table` (metric -> labels) does not have."""
    found = names_in(expression)
    if not found.metrics:
        return [f"names no metric: {expression}"]
    unknown = [f"no metric {each}" for each in sorted(found.metrics - set(table))]
    known = [table[each] for each in found.metrics & set(table)]
    available = frozenset[str]().union(TARGET_LABELS, *known)
    unknown += [
        f"{metric} has no label {label}"
        for metric, label in sorted(found.matched)
        if label not in table.get(metric, frozenset()) | TARGET_LABELS
    ]
    return unknown + [f"no label {each} in {expression}" for each in sorted(found.grouped - available)]


PROMETHEUS = DEPLOY / "prometheus"
PAGE = ROOT / "docs" / "guide" / "monitoring.md"


def rules_of(name):
    groups = yaml.safe_load((PROMETHEUS / name).read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


RECORDED = rules_of("recording.yaml")
ALERTS = rules_of("alerts.yaml")
DASHBOARDS = [json.loads(file.read_text()) for file in sorted((DEPLOY / "grafana").glob("*.json"))]
each_dashboard = pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda found: found["uid"])
PANELS = [panel for each in DASHBOARDS for panel in each["panels"] if panel["type"] not in {"row", "text"}]
QUERIES = [(panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]]
DOCUMENTED = [
    (page.name, re.sub(r"#.*", "", block))
    for page in (ROOT / "docs").rglob("*.md")
    for block in re.findall(r"^```\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    if re.search(r"rate\(.*\[\d+[smhd]\]", block)
]
"""The queries of the documents."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def table(tmp_path_factory):
    """Metric -> labels: those of the proxy, the target's own, and those that the recording rules make."""
    known = await metric_table(tmp_path_factory.mktemp("table"))
    known |= {"up": frozenset(), "ALERTS": frozenset({"alertname", "alertstate"})}
    for rule in RECORDED:
        known[rule["record"]] = labels_of(rule["expr"])
    return known


def labels_of(expression):
    """The labels of a recorded series: those by which its expression groups, without `le`."""
    found = names_in(expression).grouped - {"le"}
    return found or TARGET_LABELS


def test_a_recorded_series_is_used(table):
    """A rule that nobody reads costs Prometheus time for nothing."""
    texts = (PROMETHEUS / "recording.yaml").read_text() + (PROMETHEUS / "alerts.yaml").read_text()
    texts += json.dumps(DASHBOARDS)
    assert [rule["record"] for rule in RECORDED if texts.count(rule["record"]) < 2] == []


def test_rules_and_panels_name_metrics_and_labels_that_exist(table):
    named = [(rule.get("record") or rule["alert"], rule["expr"]) for rule in [*RECORDED, *ALERTS]]
    found = {name: problems_of(expression, table) for name, expression in [*named, *QUERIES, *DOCUMENTED]}
    assert {name: problems for name, problems in found.items() if problems} == {}


def test_the_texts_of_an_alert_name_labels_that_it_has(table):
    for rule in ALERTS:
        metrics = names_in(rule["expr"]).metrics
        available = TARGET_LABELS.union(*(table[each] for each in metrics))
        for text in rule["annotations"].values():
            assert set(re.findall(r"\$labels\.(\w+)", text)) <= available, rule["alert"]


def test_an_alert_says_how_urgent_it_is_and_where_its_remedy_is():
    for rule in ALERTS:
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert {"summary", "description", "runbook"} == set(rule["annotations"])
        path, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert ROOT / path == PAGE
        assert anchor == rule["alert"].lower()
        assert anchor in anchors(PAGE)


def test_the_page_has_no_heading_of_an_alert_that_is_gone():
    headings = set(re.findall(r"^### (Tsproxy\w+)$", PAGE.read_text(), re.MULTILINE))
    assert headings == {rule["alert"] for rule in ALERTS}


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("rate(tsproxy_nothing_total[5m])", "no metric tsproxy_nothing_total"),
        ('tsproxy_upstream_up{listener="x"}', "tsproxy_upstream_up has no label listener"),
        ("sum by (client_id) (tsproxy_upstream_up)", "no label client_id in"),
        ("sum by (job) (1)", "names no metric"),
        ("tsproxy_upstream_up == tsproxy_upstream_down", "no metric tsproxy_upstream_down"),
    ],
)
def test_a_wrong_name_is_found(table, expression, problem):
    [found] = problems_of(expression, table)
    assert found.startswith(problem)


def test_the_example_scrapes_under_the_name_that_the_rules_use():
    """`up` and `process_...` are names that every target has."""
    example = yaml.safe_load((PROMETHEUS / "prometheus.yaml").read_text())
    [scrape] = example["scrape_configs"]
    assert all((PROMETHEUS / name).exists() for name in example["rule_files"])
    for expression in [rule["expr"] for rule in ALERTS]:
        for metric in names_in(expression).metrics:
            if not metric.startswith(("tsproxy_", "job:", "instance:")):
                assert f'{metric}{{job=~"{scrape["job_name"]}.*"}}' in expression


def test_a_legend_names_labels_that_its_query_keeps(table):
    for title, target in [(panel["title"], target) for panel in PANELS for target in panel["targets"]]:
        names = names_in(target["expr"])
        kept = names.grouped or TARGET_LABELS.union(*(table[each] for each in names.metrics))
        assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= kept, title


@each_dashboard
def test_the_dashboards_variables_and_marks_come_from_metrics_that_exist(table, dashboard):
    asked = [each["definition"] for each in dashboard["templating"]["list"] if each["type"] == "query"]
    for definition in asked:
        series, _, label = re.fullmatch(r"label_values\((.*)(,) (\w+)\)", definition).groups()
        assert problems_of(series, table) == []
        assert label in TARGET_LABELS
    for each in dashboard["annotations"]["list"]:
        assert problems_of(each["expr"], table) == []
    assert {each["name"] for each in dashboard["templating"]["list"]} == {"datasource", "job", "instance"}


def test_every_query_shows_the_chosen_proxies_alone():
    """A query without the variables would show the proxies, or the reports, of all clusters."""
    chosen = '{job="$job",instance=~"$instance"'
    for title, query in QUERIES:
        selectors = re.findall(r"(?:tsproxy_|process_|\bup\b)\w*(\{|.)", query)
        assert query.count(chosen) == len(selectors), title


@each_dashboard
def test_panels_have_room_of_their_own_and_say_what_they_show(dashboard):
    taken = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
        assert panel["type"] in {"row", "text"} or panel["description"].endswith("."), panel["title"]
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))
