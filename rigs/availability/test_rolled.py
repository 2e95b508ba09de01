"""Three proxies are upgraded one after the other under load: nothing is lost, doubled or let through.

`python -m rigs.availability` measures how long each client waits meanwhile (docs/guide/high-availability.md).
"""

import pytest

from rigs.availability.cast import players
from rigs.availability.forms import NODES, Addresses, Balancer, Ports
from rigs.availability.play import all_roll, all_roll_once, play
from tests.proxy.test_load_balancers import needs
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.ports import free_ports

pytestmark = pytest.mark.broker


def assert_all_is_well(played):
    for met in played.met:
        assert (met.lost, met.doubled, met.failed, met.unread) == (0, 0, (), 0), met
        assert met.wait_s is not None, met
    assert played.forbidden == 0
    assert played.rejected > 0


def form(kind):
    return kind(Ports(free_ports(Ports.count())[0]))


async def test_proxies_that_are_rolled_lose_and_double_nothing_and_let_nothing_pass(kafka_440, topic):
    """Two addresses that fail lead to the third one."""
    [player] = [each for each in players() if str(each) == "librdkafka"]
    assert_all_is_well(await play(form(Addresses), all_roll_once, [player], kafka_440, topic[:200]))


@pytest.mark.full_only("every family, three brokers of its own; above, one family and one broker")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", [Addresses, pytest.param(Balancer, marks=needs("haproxy"))])
async def test_proxies_that_are_rolled_twice_serve_every_family(kind, topic):
    async with KafkaCluster(nodes=len(NODES)) as kafka:
        assert_all_is_well(await play(form(kind), all_roll, players(), kafka, topic[:200]))
