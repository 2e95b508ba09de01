import tomllib
from pathlib import Path

from rigs.mutation import sampled

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def test_all_packages_that_a_test_may_import_lie_beside_the_mutants():
    tool = tomllib.loads(PYPROJECT.read_text())["tool"]
    beside = {*tool["mutmut"]["source_paths"], *tool["mutmut"]["also_copy"]}
    assert {*tool["importlinter"]["root_packages"], "rigs"} <= beside


def test_a_sample_keeps_its_mutants_where_other_code_comes_goes_and_moves():
    names = [f"tsproxy.wire.frames.x_{function}__mutmut_1" for function in "abcdefghijklmnopqrst"]
    sample = sampled(names, 5, seed=1)
    assert len(sample) == 5
    assert sampled([name for name in names if name in sample or name < names[9]], 5, seed=1) == sample
    moved = [name.replace("wire.frames", "wire.lower.frames") for name in names]
    assert sampled(moved, 5, seed=1) == [name.replace("wire.frames", "wire.lower.frames") for name in sample]
    assert sampled(names, 5, seed=2) != sample
