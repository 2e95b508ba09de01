"""The short form of `make chaos`: two rounds with an attacker, and one without rules."""

import pytest

from rigs.chaos import world as worlds
from rigs.chaos.rounds import live
from rigs.chaos.world import World

pytestmark = pytest.mark.broker

FAULTS = ["cut_clients", "kill_worker"]


async def test_clients_are_cut_and_workers_killed_while_others_attack(tmp_path):
    async with World(tmp_path) as world:
        life = await live(world, "short", range(2), FAULTS, attackers=1)
    assert life.is_clean, life.as_line()
    assert life.acknowledged
    assert life.stored
    assert life.attacks


@pytest.mark.full_only("starts a cluster again; test_verdict.py plants each violation")
async def test_a_proxy_that_rejects_nothing_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(worlds, "POLICY", "policy: { mode: audit }\n")
    async with World(tmp_path) as world:
        life = await live(world, "audit", range(1), ["reload_config"])
    assert life.verdict.forbidden
    assert not life.is_clean
