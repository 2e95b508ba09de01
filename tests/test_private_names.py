"""Each private name of another project that the product uses stands in a table here.

A release may take such a name away without a word. The table names a test that fails then: these tests are
the first to run with a new Python, or with a new version of a package.
"""

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import tsproxy

ROOT = Path(__file__).parents[1]
PRODUCT = ("tsproxy", "spark_reports", "deploy", "benchmarks")
DOCUMENTED = {"_asdict", "_exit", "_fields", "_replace", "_value_"}
"""Names of the standard library that are public all the same."""

NOTHING_LEFT = (
    "tests/proxy/test_own_producer.py::test_it_logs_in_with_the_password_of_today_and_leaves_nothing_behind"
)
SPARK_FILES = "tests/spark_reports/test_cli.py::test_every_path_may_be_on_another_file_system"
NAMES = {
    # CPython
    "_ssl": "tests/proxy/test_tls_sessions.py::test_this_python_lets_the_proxy_turn_it_off",
    "_sslobj": "tests/proxy/test_tls_connection.py::test_everything_is_read_however_it_comes",
    # aiokafka
    "_create_reader_task": "tests/attacks/test_hostile_broker.py::test_the_largest_answer_is_read",
    "_do_version_lookup": "tests/proxy/test_upstream_names.py::test_a_login_may_take_longer_than_a_silence",
    "_message_accumulator": NOTHING_LEFT,
    "_sender": NOTHING_LEFT,
    "_versions": "tests/proxy/test_upstream_lost.py::test_a_controllers_port_is_called_what_it_is",
    # pyspark
    "_gateway": "tests/benchmarks/test_benchmarks.py::test_what_needs_a_real_broker_is_measured_with_one",
    "_jsc": SPARK_FILES,
    "_jvm": SPARK_FILES,
}
"""A name -> a test that fails without it, or if it means something else."""


def is_private(name):
    return name.startswith("_") and not name.endswith("_") and name not in DOCUMENTED


def product():
    """The syntax tree of each module of the product."""
    return [ast.parse(file.read_text()) for top in PRODUCT for file in (ROOT / top).rglob("*.py")]


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
    """The private names that a module reads and does not make."""
    for tree in product():
        yield from set(used(tree)) - set(made(tree))


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


@pytest.mark.parametrize("test", sorted({*NAMES.values()}))
def test_each_test_of_the_tables_is_there(test):
    file, _, name = test.partition("::")
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    assert name in {
        node.name for node in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(node, functions)
    }
