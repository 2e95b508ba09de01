"""Each private name of another project, and each file that asks for Python's version, stands in a table here.

A release may take such a name away without a word. The table names a test that fails then: these tests are
the first to run with a new Python, or with a new version of a package.
"""

import ast
import importlib
import inspect
import pkgutil
import re
from functools import cache
from pathlib import Path

import pytest

import tsproxy

ROOT = Path(__file__).parents[1]
PRODUCT = ("tsproxy", "spark_reports", "deploy", "benchmarks")
DOCUMENTED = {"_asdict", "_exit", "_fields", "_replace", "_value_"}
"""Names of the standard library that are public all the same."""

PAGES = "tests/documents/test_generated.py::test_a_generated_text_is_current"
SPARK_FILES = "tests/spark_reports/test_cli.py::test_every_path_may_be_on_another_file_system"
METRIC_TABLE = "tests/deploy/test_monitoring.py::test_a_rule_names_metrics_and_labels_that_exist"
NAMES = {
    # CPython
    "_ssl": "tests/proxy/test_tls_sessions.py::test_this_python_lets_the_proxy_turn_it_off",
    "_sslobj": "tests/proxy/test_tls_connection.py::test_everything_is_read_however_it_comes",
    "_set_running_loop": "rigs/simulated/test_simulated.py::test_the_invariants_hold_whatever_happens",
    "_SubParsersAction": PAGES,
    "_HelpAction": PAGES,
    "_actions": PAGES,
    "_choices_actions": PAGES,
    "_expand_help": PAGES,
    "_format_args": PAGES,
    "_get_formatter": PAGES,
    # aiokafka
    "_create_reader_task": "tests/attacks/test_hostile_broker.py::test_the_largest_answer_is_read",
    "_versions": "tests/proxy/test_upstream_lost.py::test_a_controllers_port_is_called_what_it_is",
    "_DefaultRecordBatchBuilderPy": "tests/wire/test_record_batch.py::test_batches_of_other_clients_are_read",
    # pyspark
    "_gateway": "tests/benchmarks/test_benchmarks.py::test_what_needs_a_real_broker_is_measured_with_one",
    "_jdf": "tests/spark_reports/test_small_days.py::test_a_log_of_many_bytes_or_many_files_is_not_small",
    "_jsc": SPARK_FILES,
    "_jvm": SPARK_FILES,
    # prometheus_client, pytest
    "_collector_to_names": METRIC_TABLE,
    "_labelnames": METRIC_TABLE,
    "_fixtureinfo": "tests/test_markers.py::test_a_test_is_marked_by_what_it_and_its_fixtures_start",
    "_pytest": "tests/deploy/test_testing_page.py::test_every_fixture_of_the_plug_in_is_in_the_table",
}
"""A name -> a test that fails without it, or if it means something else."""

DEB = "tests/deploy/test_deb.py"
VERSIONS = {
    "deploy/machine.py": "tests/test_machine.py::test_a_python_that_is_too_old_or_too_new_is_named",
    "deploy/release/debian.py": f"{DEB}::test_the_package_holds_nothing_of_the_machine_that_built_it",
    "tsproxy/tls/sessions.py": "tests/proxy/test_tls_sessions.py::test_this_python_was_read",
}
"""The files of the product that ask for Python's version, and a test of that."""


MADE = re.compile(r"(?:def|class) (_\w+)|(?:self|cls)\.(_\w+)(?=[^=\n]*=)|^ *(_\w+)[^=\n(.]*=", re.MULTILINE)
USED = re.compile(r"[\w)\]]\.(_[A-Za-z]\w*)|\"(_[A-Za-z]\w*)\"|import .*\b(_\w+)|from (_\w+)")
"""For tests, which are too many to parse all: the names that they make, and those that they may read."""


def is_private(name):
    return name.startswith("_") and not name.endswith("_") and name not in DOCUMENTED


def texts(*folders):
    files = [file for top in folders for file in (ROOT / top).rglob("*.py")]
    return {file.relative_to(ROOT): file.read_text() for file in files}


@cache
def product():
    """The syntax tree of each module of the product, by its path."""
    return {path: ast.parse(text) for path, text in texts(*PRODUCT).items()}


def names(pattern, text):
    return {name for groups in pattern.findall(text) for name in groups if is_private(name)}


def made(tree):
    """The private names that a module makes itself. An annotation alone makes none."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Attribute(value=ast.Name("self" | "cls"), ctx=ast.Store()):
                yield node.attr
            case ast.AnnAssign(target=ast.Name() as name, value=None):
                name.ctx = ast.Load()  # walked after this node
            case ast.Name(ctx=ast.Store()):
                yield node.id


def used(tree):
    """The private names that a module reads."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute():
                found = [node.attr]
            case ast.Call(
                func=ast.Name("getattr" | "setattr" | "hasattr"), args=[_, ast.Constant(str(name)), *_]
            ):
                found = [name]
            case ast.ImportFrom(module=str(module)) if not (ROOT / module.partition(".")[0]).exists():
                found = [*module.split("."), *(each.name for each in node.names)]
            case ast.Import():
                found = [part for each in node.names for part in each.name.split(".")]
            case _:
                continue
        yield from filter(is_private, found)


def of_others():
    """The private names that nobody here makes: in a file of the product that file itself, in tests anybody,
    since they look into the product."""
    for tree in product().values():
        yield from set(used(tree)) - set(made(tree))
    tests = texts("tests", "rigs")
    everywhere = {name for tree in product().values() for name in made(tree)}
    everywhere |= {name for text in tests.values() for name in names(MADE, text)}
    for text in tests.values():
        if names(USED, text) - everywhere:
            yield from set(used(ast.parse(text))) - everywhere


def replaced():
    """The private methods of other projects' classes that a class of the proxy replaces."""
    for module in pkgutil.walk_packages(tsproxy.__path__, "tsproxy."):
        if ".testing" in module.name or module.name.endswith("__main__"):
            continue
        for kind in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(kind) and kind.__module__ == module.name:
                for base in kind.__mro__[1:]:
                    if not base.__module__.startswith("tsproxy"):
                        both = filter(is_private, vars(kind).keys() & vars(base).keys())
                        yield from (name for name in both if inspect.isfunction(vars(base)[name]))


def test_each_private_name_of_another_project_is_in_the_table():
    assert {*of_others(), *replaced()} == set(NAMES)


def test_each_file_that_asks_for_pythons_version_is_in_the_table():
    asking = {
        path.as_posix()
        for path, tree in product().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ("version_info", "hexversion", "implementation")
    }
    assert asking == set(VERSIONS)


@pytest.mark.parametrize("test", sorted({*NAMES.values(), *VERSIONS.values()}))
def test_each_test_of_the_tables_is_there(test):
    file, _, name = test.partition("::")
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    assert name in {
        node.name for node in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(node, functions)
    }
