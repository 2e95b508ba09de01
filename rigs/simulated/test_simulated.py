"""Simulated worlds: the invariants hold in them, the same seed is the same world, and a mistake is found."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rigs.simulated.mistakes import (
    HOSTILE_MISTAKES,
    MISTAKES,
    RARE_MISTAKES,
    SEEDS,
    leaves_a_timer,
    takes_a_lost_client_for_a_full_one,
)
from rigs.simulated.requests import PLANTED
from rigs.simulated.shrink import shrink
from rigs.simulated.violations import INVARIANTS, ViolationError
from rigs.simulated.world import rendered_metrics, run_world
from tests.authority.inputs import INPUTS
from tests.full_only import IS_FULL
from tests.planted import traces

pytestmark = pytest.mark.slow

WORLDS = 300 if IS_FULL else 150
"""Worlds of the short form."""

ENOUGH = 120
"""Worlds within which each planted mistake is found."""

TRACED = range(6)

HOSTILE, HOSTILE_WORLDS = 3, 60
"""Hostile clients in each world of the short form."""


SAY_ALL_NAMES = ("violations.py", "mistakes.py", "test_simulated.py")
"""These name violations, and find none."""


def hashes():
    return [run_world(seed, is_traced=True).trace_hash for seed in TRACED]


def first_failed(worlds, adversaries=0):
    runs = (run_world(seed, adversaries=adversaries) for seed in range(worlds))
    return next((world for world in runs if world.violation), None)


def assert_found(noticed_by, worlds, adversaries=0):
    failed = first_failed(worlds, adversaries)
    assert failed is not None, f"{worlds} worlds hold in spite of it"
    assert failed.violation.name in noticed_by, f"seed {failed.seed}: {failed.violation}"


def test_the_invariants_hold_whatever_happens():
    results = [run_world(seed) for seed in range(WORLDS)]
    assert [f"seed {each.seed}: {each.violation}" for each in results if each.violation] == []
    assert sum(each.connections for each in results) > 3 * WORLDS
    assert sum(each.requests for each in results) > 15 * WORLDS
    assert traces(rendered_metrics(), PLANTED) == []
    changes = {event for each in results for event in each.events if event.startswith("changes: ")}
    wanted = ("reload", "limits", "suspension", "certificate", "clock step", "versions", "drain")
    assert {f"changes: {name}" for name in wanted} <= changes


def test_the_invariants_hold_beside_hostile_clients():
    """No other client's verdict changes, and nothing forbidden of a hostile client comes to a broker."""
    results = [run_world(seed, adversaries=HOSTILE) for seed in range(HOSTILE_WORLDS)]
    assert [f"seed {each.seed}: {each.violation}" for each in results if each.violation] == []
    tried = {event.rpartition(": ")[2] for each in results for event in each.events if ": tries " in event}
    assert tried == {each.attempt.__name__ for each in INPUTS if each.attempt is not None}


@pytest.mark.parametrize("plant", HOSTILE_MISTAKES, ids=lambda plant: plant.__name__)
def test_a_mistake_that_only_a_hostile_client_meets_is_found(plant, monkeypatch):
    plant(monkeypatch)
    assert_found(HOSTILE_MISTAKES[plant], HOSTILE_WORLDS, HOSTILE)


def test_a_client_that_is_lost_while_it_is_full_ends(monkeypatch):
    """This world has one. If it has none any more, another seed has: see the mistake."""
    seed, adversaries = 46, 8
    assert run_world(seed, adversaries=adversaries).violation is None
    takes_a_lost_client_for_a_full_one(monkeypatch)
    assert run_world(seed, adversaries=adversaries).violation.name == "lingers"


def test_each_violation_that_a_world_can_find_is_of_an_invariant_and_the_other_way_round():
    sources = [each for each in Path(__file__).parent.glob("*.py") if each.name not in SAY_ALL_NAMES]
    nodes = [node for each in sources for node in ast.walk(ast.parse(each.read_text(encoding="utf-8")))]
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    calls = [node for node in nodes if isinstance(node, ast.Call) and node.args]
    raised = [each.args[0] for each in calls if getattr(each.func, "id", "") == ViolationError.__name__]
    named = {name for names in INVARIANTS.values() for name in names}
    assert {each.value for each in raised if isinstance(each, ast.Constant)} <= named
    assert named <= texts
    with pytest.raises(ValueError, match="add it to INVARIANTS"):
        ViolationError("booked_thrice", "")


def test_the_same_seed_is_the_same_world_in_any_process():
    expected = hashes()
    assert len(set(expected)) == len(expected)
    assert hashes() == expected
    code = "from rigs.simulated.test_simulated import hashes; print(*hashes())"
    for hash_seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout.split() == expected


@pytest.mark.parametrize("plant", MISTAKES, ids=lambda plant: plant.__name__)
def test_a_mistake_is_found(plant, monkeypatch):
    plant(monkeypatch)
    assert_found(MISTAKES[plant], ENOUGH)


@pytest.mark.parametrize("plant", RARE_MISTAKES, ids=lambda plant: plant.__name__)
def test_a_mistake_that_few_worlds_meet_is_found(plant, monkeypatch):
    assert run_world(SEEDS[plant]).violation is None
    plant(monkeypatch)
    assert {run_world(SEEDS[plant]).violation.name} == RARE_MISTAKES[plant]


def test_a_world_that_fails_shrinks_to_the_events_that_it_takes(monkeypatch):
    leaves_a_timer(monkeypatch)
    found = first_failed(ENOUGH)
    shrunk = shrink(found.seed)
    assert shrunk.violation.name == found.violation.name
    assert len(shrunk.events) <= 3 < len(found.events)
    again = run_world(found.seed, shrunk.left_out, is_traced=True)
    assert again.trace_hash == shrunk.trace_hash
