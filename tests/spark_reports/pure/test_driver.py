"""The places where rows come from Spark to its driver stand in driver.md, each with what bounds them."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
COLLECTING = {"collect", "take", "head", "tail", "toPandas", "toLocalIterator"}
ELSEWHERE = ("log/frames.py: rows", "report/table_source.py")
"""The function that the others call, and a module of pyarrow, whose rows are on the driver already."""


def collects(call):
    """Whether a call brings the rows of a frame to the driver."""
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
        return False
    of = call.func.value
    if isinstance(of, ast.Name) and of.id == "frames":
        return call.func.attr == "rows"
    return call.func.attr in COLLECTING and not (isinstance(of, ast.Name) and of.id == "tables")


def places_in(package):
    for path in package.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef) and any(map(collects, ast.walk(function))):
                yield f"{path.relative_to(package)}: {function.name}"


def test_each_place_that_collects_rows_says_what_bounds_them():
    page = Path(__file__).with_name("driver.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `((?:log|report|commands|render)/[^`]+)` \|", page, re.MULTILINE)
    found = {each for each in places_in(ROOT / "spark_reports") if not each.startswith(ELSEWHERE)}
    assert sorted(told) == sorted(found)


def test_a_new_place_is_found(tmp_path):
    (tmp_path / "new.py").write_text(
        "def many(frame):\n    return [row for row in frame.toLocalIterator()]\n"
    )
    assert [*places_in(tmp_path)] == ["new.py: many"]
