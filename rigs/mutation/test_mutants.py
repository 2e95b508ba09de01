"""The tool that looks for missing tests misses no change, and notices what no test notices."""

import os
import subprocess
import sys

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


TRIALS = """
from functools import partial
from rigs.mutation import trial
from rigs.mutation.mutants import mutants

file = "tests/policy/test_units.py"
tests = {f"{file}::test_the_words_name_it_and_say_what_to_do": 1.0}
found = mutants("tsproxy/policy/units.py")
mutant = next(one for one in found if one.change == "found is None -> found is not None")
trials = [(None, tests), (mutant, tests)]
in_place = trial.in_loaded_process(trials, [file], 1)
imported = trial.verdicts(((number, partial(trial.imported, *one)) for number, one in enumerate(trials)), 1)
print(*(verdict for _, verdict in [*in_place, *imported]))
"""


def test_a_mutant_of_the_product_is_caught_in_both_kinds_of_trial():
    """Two things hid all mutants: conftest.py freezes objects, and pytest loads the modules of a plugin."""
    run = subprocess.run([sys.executable, "-c", TRIALS], capture_output=True, text=True, cwd=mutants.ROOT)
    assert run.stdout.split() == [str(verdict) for verdict in 2 * [trial.SURVIVED, trial.CAUGHT]], run.stderr
