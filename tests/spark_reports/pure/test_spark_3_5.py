"""The product uses no name that Spark 3.5 lacks. PySpark's documentation says since when one is there."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "spark_reports"
MODULES = (
    "sql.functions",
    "sql.column",
    "sql.dataframe",
    "sql.session",
    "sql.readwriter",
    "errors",
    "logger",
)
NEWER = re.compile(r"^\.\. versionadded:: [4-9]", re.MULTILINE)
"""That of the name itself: what its parameters are is indented."""
TWO_SINCE_4 = {"ltrim", "rtrim", "btrim", "trim"}
"""Functions whose second argument is new in Spark 4."""


def is_newer(made):
    return callable(made) and NEWER.search(inspect.getdoc(made) or "") is not None


@pytest.fixture(scope="module")
def newer():
    """The names that are newer than 3.5, but for plain words, which others use as well."""
    modules = [vars(importlib.import_module(f"pyspark.{name}")) for name in MODULES]
    classes = [vars(made) for module in modules for made in module.values() if inspect.isclass(made)]
    members = {name for names in (*modules, *classes) for name, made in names.items() if is_newer(made)}
    functions = {f"F.{name}" for name, made in modules[0].items() if is_newer(made)}
    return functions | {name for name in members if not name.islower() or "_" in name}


def used(tree):
    """The names that a module takes from others, and functions of TWO_SINCE_4 with two arguments."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name("F"), attr=name):
                yield f"F.{name}"
            case ast.Attribute(attr=name) | ast.alias(name=name):
                yield name
            case ast.Call(func=ast.Attribute(attr=name), args=[_, _, *_]) if name in TWO_SINCE_4:
                yield f"{name} of two arguments"


def test_no_name_is_newer_than_spark_3_5(newer):
    places = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in PACKAGE.rglob("*.py")
        for name in used(ast.parse(path.read_text(encoding="utf-8")))
        if name in newer or name.endswith(" of two arguments")
    }
    assert places == set()


def test_newer_names_are_found(newer):
    assert {"toArrow", "F.listagg", "try_cast", "PySparkLogger", "getCondition"} <= newer
    assert not {"DataFrame", "F.ltrim", "toLocalIterator", "withColumns", "getErrorClass"} & newer
    assert "ltrim of two arguments" in set(used(ast.parse("F.ltrim(name, F.lit('x'))")))
