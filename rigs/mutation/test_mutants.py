"""The tool that looks for missing tests misses no change, and notices what no test notices."""

import os

import pytest

from rigs.mutation import in_place, mutants, trial
from rigs.mutation.mutants import untouched

SOURCE = '''
from dataclasses import dataclass

MOST = 3

@dataclass(frozen=True)
class Line:
    text: str | None = None

def few(lines: list, found=None) -> bool | None:
    """3 of them."""
    if found:
        lines.append(1)
    return len(lines) <= MOST and not lines[-1:]
'''

CHANGES = [
    "3 -> 4",
    "3 -> 2",
    "found -> not found",
    "lines.append(1) -> nothing",
    "1 -> 2",
    "1 -> 0",
    "len(lines) <= MOST and (not lines[-1:]) -> len(lines) <= MOST or not lines[-1:]",
    "len(lines) <= MOST -> len(lines) < MOST",
    "not lines[-1:] -> not not lines[-1:]",
    "1 -> 2",
    "1 -> 0",
]


@pytest.fixture
def found(tmp_path, monkeypatch):
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    mutants._tree.cache_clear()
    untouched.cache_clear()
    (tmp_path / "lines.py").write_text(SOURCE)
    yield [*mutants.mutants("lines.py")]
    mutants._tree.cache_clear()
    untouched.cache_clear()


def test_each_mutant_has_one_change(found):
    assert sorted(mutant.change for mutant in found) == sorted(CHANGES)
    assert len({mutant.code() for mutant in found} | {untouched("lines.py")}) == len(CHANGES) + 1


def test_a_function_gets_the_code_of_a_mutant_where_it_lives(found):
    module = {"__name__": "lines"}
    exec(untouched("lines.py"), module)
    functions, few = {module["few"].__code__: [module["few"]]}, module["few"]
    few([])
    changed = {mutant.change: mutant for mutant in found}
    in_place.change(functions, untouched("lines.py"), changed["found -> not found"].code())
    lines = []
    few(lines)
    assert lines == [1]


def test_a_change_outside_of_functions_is_not_made_in_place(found):
    changed = next(mutant for mutant in found if mutant.change == "3 -> 4")
    with pytest.raises(in_place.CannotChangeError):
        in_place.change({}, untouched("lines.py"), changed.code())


def test_the_lines_of_a_condition_end_before_its_body(found):
    changed = next(mutant for mutant in found if mutant.change == "found -> not found")
    assert SOURCE.splitlines()[changed.statement.start - 1 : changed.statement.stop - 1] == ["    if found:"]


@pytest.mark.parametrize(
    ("ending", "verdict"), [(0, trial.SURVIVED), (1, trial.CAUGHT), (2, trial.MUST_BE_IMPORTED)]
)
def test_the_verdict_of_a_trial_is_how_its_process_ends(ending, verdict):
    assert [*trial.verdicts([(7, lambda: ending)], 2)] == [(7, verdict)]


def test_children_of_others_are_left_to_them():
    others = trial.fork(lambda: 3)
    os.waitid(os.P_PID, others, os.WEXITED | os.WNOWAIT)
    assert [*trial.verdicts([(7, lambda: trial.SURVIVED)], 2)] == [(7, trial.SURVIVED)]
    assert os.waitstatus_to_exitcode(os.waitpid(others, 0)[1]) == 3


def test_a_trial_that_raises_or_is_killed_has_caught_its_mutant():
    def killed():
        os.kill(os.getpid(), 9)

    def raises():
        raise MemoryError

    assert sorted(trial.verdicts([(1, killed), (2, raises)], 2)) == [(1, trial.CAUGHT), (2, trial.CAUGHT)]
