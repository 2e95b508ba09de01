"""Code makes metrics from the catalogue only."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tsproxy.proxy.metrics.catalogue import connections
from tsproxy.proxy.metrics.catalogue.sections import ALL, SECTIONS
from tsproxy.proxy.metrics.described import Described, Kind
from tsproxy.proxy.metrics.registry import Metrics
from tsproxy.session.effects import SessionCounter

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
NOT_SECTIONS = ("__init__", "sections")
METRICS = ROOT / "tsproxy" / "proxy" / "metrics"
CATALOGUE = [file for file in sorted((METRICS / "catalogue").glob("*.py")) if file.stem not in NOT_SECTIONS]
TEXTS = [file.read_text(encoding="utf-8") for file in CATALOGUE]
MODULES = [import_module(f"tsproxy.proxy.metrics.catalogue.{file.stem}") for file in CATALOGUE]
CONSTRUCTORS = re.compile(r"(Counter|Gauge|Histogram|Summary|Info|Enum|Untyped)(MetricFamily)?|Metric")


def test_every_metric_is_described_once():
    assert len(ALL) == sum(len(rows) for rows in SECTIONS.values())


def test_every_row_that_a_module_of_the_catalogue_makes_is_in_a_section():
    made = [name for text in TEXTS for name in re.findall(r'_row\(\s*"(\w+)"', text)]
    events = [f"tsproxy_{event}_total" for event in SessionCounter]
    assert sorted([*made, *events]) == sorted(ALL)


def test_every_module_of_the_catalogue_is_a_section_with_rows():
    assert sorted(module.TITLE for module in MODULES) == sorted(SECTIONS)
    assert all(SECTIONS.values())


@pytest.mark.parametrize("event", SessionCounter)
def test_each_event_that_sessions_count_is_a_metric(event):
    row = connections.SESSION_EVENTS[event]
    assert (ALL[f"tsproxy_{event}_total"], row.unit, row.meaning) == (row, event.unit, event.meaning)
    assert f"\ntsproxy_{event}_total 0.0\n" in Metrics().render().decode()


@pytest.mark.parametrize("row", ALL.values(), ids=lambda row: row.name)
def test_a_name_has_the_endings_that_prometheus_expects(row):
    assert (row.kind is Kind.COUNTER) == row.name.endswith("_total")
    if row.kind is Kind.HISTOGRAM or row.unit == "seconds":
        assert row.name.removesuffix("_total").endswith("_seconds")


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
        if "catalogue" not in file.parts
        for line in file.read_text(encoding="utf-8").splitlines()
        if not line.startswith("from ")
    ]
    rows = {name for module in MODULES for name, row in vars(module).items() if isinstance(row, Described)}
    assert len(rows) == len(ALL) - len(SessionCounter)
    unused = {name for name in rows if not any(re.search(rf"\b{name}\b", line) for line in uses)}
    assert unused == {name for name in rows if name.startswith("PROCESS_")}  # the library makes those
