"""The short form of `make chaos`: three rounds with an attacker and a report, and clients of all families."""

import shutil

import pytest
import pytest_asyncio

from rigs.chaos.attackers import WORKERS
from rigs.chaos.faults import NEW
from rigs.chaos.producers import families
from rigs.chaos.rounds import live, rounds_of
from rigs.chaos.world import World
from rigs.truth.books import Books, lines_of, report_of
from tsproxy.clock import Clock

pytestmark = [pytest.mark.broker, pytest.mark.timeout(1_800), pytest.mark.asyncio(loop_scope="module")]

FAULTS = ["cut_clients", "kill_worker", "kill_proxy", "kill_supervisor", "roll_proxies"]
SEEDS = range(4376, 4379)
"""A whole proxy and the supervisor of the other one are killed, then a worker while connections are cut. Then
both proxies are restarted, one after the other."""


DAILY = ["restart_broker", "renew_certificates", "reload_config", "roll_proxies"]
DAYS = range(9, 12)
"""Each of them is in these rounds."""
REJECTED = {"c-rejected", "c-acks-1", "c-acks-0", "java-rejected"}
"""The clients that send forbidden records."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory):
    async with World(tmp_path_factory.mktemp("chaos")) as world:
        yield world


async def test_an_operators_daily_work_loses_and_doubles_nothing_and_no_producer_notices(world):
    life = await live(world, "daily", rounds_of(world, DAYS, DAILY))
    assert life.is_clean, life.as_line()
    assert life.acknowledged
    assert life.consumed
    assert not life.failed.keys() - REJECTED
    assert {fault for one in life.rounds for fault in one.faults} == set(DAILY)
    events = [event for proxy in world.proxies for event in proxy.events()]
    assert not [event for event in events if event.endswith("_crashed")]
    assert {"certificates_reloaded", "config_reloaded", "proxy_stopped"} <= set(events)


async def test_processes_are_killed_while_others_attack_and_the_report_names_them_and_no_other(
    spark, world, tmp_path
):
    """A process that is killed loses its counts since its last heartbeat."""
    began_ms = Clock().now_ms()
    life = await live(world, "short", rounds_of(world, SEEDS, FAULTS), attackers=1)
    assert life.is_clean, life.as_line()
    assert life.acknowledged
    assert life.stored
    assert life.attacks
    assert {fault for each in life.rounds for fault in each.faults} == set(FAULTS)

    lines = lines_of(world.kept / life.topic)
    report = report_of(world.kept / life.topic, tmp_path, began_ms, days_later=2)
    stopped = {line["boot"] for line in lines if line.get("kind") == "stop"}
    killed = {line["boot"] for line in lines} - stopped
    log = report["log"]
    assert {boot["boot"] for boot in log["silent"]} == killed
    assert len(killed) >= WORKERS + 1
    assert (log["state"], log["lost_lines"], log["lines_unusable"]) == ("incomplete", 0, 0)
    counters = [line for line in lines if line["event"] == "counters"]
    Books({}, {}, counters, report).says_the_same(life.topic)


@pytest.mark.full_only("minutes; the test before has the clients that need no other language")
@pytest.mark.parametrize("has_haproxy", [False, True], ids=["relays", "haproxy"])
async def test_proxies_that_are_rolled_serve_every_family(tmp_path, has_haproxy):
    """Nothing is lost, doubled or unread, and no client is told of an error."""
    if has_haproxy and not shutil.which("haproxy"):
        pytest.skip("haproxy is not installed")
    async with World(tmp_path, has_haproxy=has_haproxy) as world:
        life = await live(world, "families", rounds_of(world, range(2), ["roll_proxies"]), cast=families)
    assert life.is_clean, life.as_line()
    assert not life.failed
    assert life.acknowledged == life.stored


@pytest.mark.full_only("three brokers of its own; above, a broker is upgraded as well")
@pytest.mark.parametrize("before", ["4.3.1", "3.9.1"])
async def test_a_rolling_upgrade_loses_and_doubles_nothing_and_lets_nothing_pass(tmp_path, before):
    async with World(tmp_path, version=before) as world:
        life = await live(world, "upgrade", rounds_of(world, range(1), ["roll_brokers"]))
        assert set(world.kafka.versions.values()) == {NEW}
    assert life.is_clean, life.as_line()
    assert not life.failed.keys() - REJECTED
