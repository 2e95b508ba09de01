"""A client whose versions Kafka 4 does not take, before a real broker (KIP-896)."""

import json

from rigs.differential.message_sets import Message, write_message
from tests.attacks.attacker import answer_to, port_of
from tests.proxy.running import page
from tests.session.messages import produce
from tsproxy.testing.proxy import RunningProxy


async def test_a_client_whose_versions_kafka_4_does_not_take_is_named_before_and_after_the_upgrade(
    kafka, topic
):
    await kafka.create_topic(topic)
    old = produce({topic: {0: write_message(Message(0, 0))}}, version=0, client_id="oura")
    async with RunningProxy(kafka.bootstrap_servers) as proxy:
        assert (await answer_to(port_of(proxy), old) is None) == kafka.version.startswith("4")
        _, top = await page(proxy.admin_address, "/decisions/top")
    assert json.loads(top)["refused_by_kafka_4"] == [
        {
            "client_id": "oura",
            "client_address": "127.0.0.1",
            "api": "Produce",
            "version_min": 0,
            "version_max": 0,
        }
    ]
