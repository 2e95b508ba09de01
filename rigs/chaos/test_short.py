"""The short form of `make chaos`: three rounds with an attacker, and a report."""

import pytest

from rigs.chaos.rounds import live, rounds_of
from rigs.chaos.verdict import read_decisions
from rigs.chaos.world import World
from rigs.truth.books import Books, report_of
from tsproxy.clock import Clock

pytestmark = [pytest.mark.broker, pytest.mark.timeout(1_800)]

FAULTS = ["cut_clients", "kill_worker", "kill_proxy", "kill_supervisor", "roll_proxies"]
SEEDS = range(4376, 4379)
"""A whole proxy and the supervisor of the other one are killed, then a worker while connections are cut. Then
both proxies are restarted, one after the other."""


async def test_processes_are_killed_while_others_attack_and_the_report_names_them_and_no_other(
    spark, tmp_path
):
    """A killed process loses counts since its last heartbeat. Before its first line, no report knows it."""
    began_ms = Clock().now_ms()
    async with World(tmp_path) as world:
        life = await live(world, "short", rounds_of(world, SEEDS, FAULTS), attackers=1)
    assert life.is_clean, life.as_line()
    assert life.acknowledged
    assert life.stored
    assert life.attacks
    assert {fault for each in life.rounds for fault in each.faults} == set(FAULTS)

    lines = read_decisions(world.kept / life.topic)
    report = report_of(world.kept / life.topic, tmp_path, began_ms, days_later=2)
    stopped = {line["boot"] for line in lines if line.get("kind") == "stop"}
    killed = {line["boot"] for line in lines} - stopped
    log = report["log"]
    assert {boot["boot"] for boot in log["silent"]} == killed
    assert killed
    assert (log["state"], log["lost_lines"], log["lines_unusable"]) == ("incomplete", 0, 0)
    counters = [line for line in lines if line["event"] == "counters"]
    Books({}, {}, counters, report).says_the_same(life.topic)
