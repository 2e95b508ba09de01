"""An operator's daily work, while clients of all kinds send: nothing is lost, and no producer notices."""

import shutil

import pytest

from rigs.chaos.faults import NEW
from rigs.chaos.producers import families
from rigs.chaos.rounds import live, rounds_of
from rigs.chaos.world import World

pytestmark = [pytest.mark.broker, pytest.mark.timeout(1_800)]

DAILY = ["restart_broker", "renew_certificates", "reload_config", "roll_proxies"]
DAYS = range(9, 12)
"""Each of them is in these rounds."""
REJECTED = {"c-rejected", "c-acks-1", "c-acks-0", "java-rejected"}
"""The clients that send forbidden records."""


async def test_an_operators_daily_work_loses_and_doubles_nothing_and_no_producer_notices(tmp_path):
    async with World(tmp_path) as world:
        life = await live(world, "daily", rounds_of(world, DAYS, DAILY))
        events = [event for proxy in world.proxies for event in proxy.events()]
    assert life.is_clean, life.as_line()
    assert life.acknowledged
    assert life.consumed
    assert not life.failed.keys() - REJECTED
    assert {fault for one in life.rounds for fault in one.faults} == set(DAILY)
    assert not [event for event in events if event.endswith("_crashed")]
    assert {"certificates_reloaded", "config_reloaded", "proxy_stopped"} <= set(events)


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
