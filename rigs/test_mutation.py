import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def test_all_packages_that_a_test_may_import_lie_beside_the_mutants():
    tool = tomllib.loads(PYPROJECT.read_text())["tool"]
    beside = {*tool["mutmut"]["source_paths"], *tool["mutmut"]["also_copy"]}
    assert {*tool["importlinter"]["root_packages"], "rigs"} <= beside
