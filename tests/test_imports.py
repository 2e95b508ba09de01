"""The modules that an import loads: a Spark driver imports `tsproxy.decisions`, and the core runs
anywhere."""

import subprocess
import sys
from graphlib import TopologicalSorter

import grimp
import pytest

HEAVY = {
    "aiokafka",
    "asyncio",
    "orjson",
    "prometheus_client",
    "pyspark",
    "socket",
    "ssl",
    "structlog",
    "yaml",
}


def loaded_by(module):
    """The top-level modules that are there after `import module`, and were not before."""
    program = (
        "import sys; before = set(sys.modules); "
        f"import {module}; print(*{{name.partition('.')[0] for name in set(sys.modules) - before}})"
    )
    return set(subprocess.check_output([sys.executable, "-I", "-c", program], text=True).split())


@pytest.mark.parametrize("module", ["tsproxy", "tsproxy.model.view", "tsproxy.decisions"])
def test_what_a_spark_driver_imports_needs_the_standard_library_alone(module):
    loaded = loaded_by(module)
    assert loaded <= {"tsproxy"} | set(sys.stdlib_module_names)
    assert not loaded & HEAVY


@pytest.mark.parametrize("module", ["tsproxy.wire", "tsproxy.policy.judge", "tsproxy.session.session"])
def test_the_core_loads_nothing_that_waits_or_talks(module):
    assert not loaded_by(module) & HEAVY


def test_reports_load_no_part_of_the_proxy_but_its_decision_log():
    program = (
        "import sys, spark_reports.log.schema; "
        "print(*{'.'.join(name.split('.')[:2]) for name in sys.modules if name.startswith('tsproxy.')})"
    )
    loaded = subprocess.check_output([sys.executable, "-I", "-c", program], text=True).split()
    assert set(loaded) <= {"tsproxy.decisions", "tsproxy.model"}


def test_no_modules_import_each_other_in_a_circle():
    """Imports for the types alone count, too."""
    graph = grimp.build_graph("tsproxy", "spark_reports", cache_dir=None)
    imported = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imported).prepare()  # CycleError has the circle
