"""Code makes metrics from the catalogue only, and the page has a row for each."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents.tables import rows_of
from tsproxy.proxy.metrics import catalogue
from tsproxy.proxy.metrics.catalogue import SESSION_EVENTS
from tsproxy.proxy.metrics.described import Described, Joined, Kind
from tsproxy.proxy.metrics.registry import Metrics
from tsproxy.session.effects import SessionCounter

ROOT = Path(__file__).parents[2]
METRICS = ROOT / "tsproxy" / "proxy" / "metrics"
CONSTRUCTORS = re.compile(r"(Counter|Gauge|Histogram|Summary|Info|Enum|Untyped)(MetricFamily)?|Metric")
ROWS = rows_of("reference/metrics.md", "metric", "type, unit", "meaning, and what to do with it")
CONSTANTS = {name: row for name, row in vars(catalogue).items() if isinstance(row, Described)}


def described(row: Described) -> tuple[str, str, str]:
    """The metric as the page names it, its kind, and how the values of workers become one."""
    labels = f" {{{', '.join(row.labels)}}}" if row.labels else ""
    words = f"; {row.joined.words}" if row.joined is not Joined.SUM else ""
    return f"`{row.name}`{labels}", row.kind, words


def test_the_page_has_each_metric_once_with_its_labels_and_kind():
    kinds = [(metric.removesuffix(" †"), kind) for metric, kind, *_ in ROWS]
    found = [(metric, *re.fullmatch(r"(\w+), [^;]+(.*)", kind).groups()) for metric, kind in kinds]
    assert sorted(found) == sorted(map(described, [*CONSTANTS.values(), *SESSION_EVENTS.values()]))
    assert [row for row in ROWS if not all(row)] == []


@pytest.mark.parametrize("event", SessionCounter)
def test_each_event_that_sessions_count_is_a_metric(event):
    assert SESSION_EVENTS[event].name == f"tsproxy_{event}_total"
    assert f"\ntsproxy_{event}_total 0.0\n" in Metrics().render().decode()
    session = [file.read_text() for file in (ROOT / "tsproxy" / "session").glob("*.py")]
    assert any(f"Count(SessionCounter.{event.name})" in text for text in session), "no session counts it"


@pytest.mark.parametrize(("metric", "kind"), [row[:2] for row in ROWS])
def test_a_name_has_the_endings_that_prometheus_expects(metric, kind):
    name, unit = metric.split("`")[1], kind.split(", ")[1]
    assert kind.startswith(Kind.COUNTER) == name.endswith("_total")
    if kind.startswith(Kind.HISTOGRAM) or unit.startswith("seconds;") or unit == "seconds":
        assert name.removesuffix("_total").endswith("_seconds")


def made_in(tree: ast.Module) -> Iterator[str]:
    """The metric classes of prometheus_client that a module calls."""
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("prometheus_client")
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in imported and CONSTRUCTORS.fullmatch(name):
                yield name


def test_code_makes_metrics_from_the_catalogue_only():
    found = {
        file
        for file in (ROOT / "tsproxy").rglob("*.py")
        if any(made_in(ast.parse(file.read_text(encoding="utf-8"))))
    }
    assert found == {METRICS / "described.py"}


def test_every_row_of_the_catalogue_is_used():
    uses = [
        line
        for file in (ROOT / "tsproxy" / "proxy").rglob("*.py")
        if file.name != "catalogue.py"
        for line in file.read_text(encoding="utf-8").splitlines()
        if not line.startswith("from ")
    ]
    unused = {name for name in CONSTANTS if not any(re.search(rf"\b{name}\b", line) for line in uses)}
    assert unused == {name for name in CONSTANTS if name.startswith("PROCESS_")}  # the library makes those
