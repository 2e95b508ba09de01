"""Kafka's own command line tools, and kcat, work through the proxy and show its addresses alone."""

import asyncio
import re

import pytest
from aiokafka import AIOKafkaConsumer

from tests.clients.kcat import needs_kcat
from tests.clients.play import ports_of
from tests.full_only import IS_FULL
from tests.kit.commands import output_of
from tsproxy.testing.jars import fetch_tools
from tsproxy.testing.java import java_command
from tsproxy.testing.proxy import RunningProxy

GROUP = "readers"
TOOLS = "org.apache.kafka.tools"


def ports_in(text):
    """The port of every host:port in the text."""
    return {int(port) for port in re.findall(r"(?<=[\w.]:)(\d{4,5})\b", text)}


@pytest.fixture
async def proxy(kafka, topic):
    """With a topic, and a group that has a member."""
    await kafka.create_topic(topic)
    async with (
        RunningProxy(kafka.bootstrap_servers) as proxy,
        AIOKafkaConsumer(topic, bootstrap_servers=proxy.bootstrap_servers, group_id=GROUP),
    ):
        yield proxy


COMMON = {
    f"{TOOLS}.TopicCommand AT --describe": False,
    f"{TOOLS}.MetadataQuorumCommand AT describe --status": False,
    f"{TOOLS}.consumer.group.ConsumerGroupCommand AT --describe --state --group {GROUP}": True,
    "kafka.admin.ConfigCommand AT --describe --all --entity-type brokers --entity-name 1": False,
}
"""Whether the tool's answer names brokers."""

ADMIN_TOOLS = {
    "4.4.0": {
        **COMMON,
        f"{TOOLS}.ClusterTool list-endpoints AT": True,
        f"{TOOLS}.BrokerApiVersionsCommand AT": True,
    },
    "3.9.1": {**COMMON, "kafka.admin.BrokerApiVersionsCommand AT": True},
}


async def test_kafkas_admin_tools_show_the_proxys_addresses_alone(kafka, proxy):
    served = {int(proxy.bootstrap_servers.rpartition(":")[2]), *proxy.facts["brokers"]["default"].values()}
    jars = fetch_tools(kafka.version) / "*"
    for tool, names_brokers in ADMIN_TOOLS[kafka.version].items():
        if not (IS_FULL or names_brokers):  # each costs a Java of its own
            continue
        command = tool.replace("AT", f"--bootstrap-server {proxy.bootstrap_servers}").split()
        told = await asyncio.to_thread(output_of, *java_command([jars], "256m", *command))
        assert not ports_of(kafka) & ports_in(told), told
        assert served & ports_in(told) or not names_brokers, told


@needs_kcat
async def test_kcat_shows_the_proxys_addresses_alone(kafka_440, topic):
    await kafka_440.create_topic(topic)
    async with RunningProxy(kafka_440.bootstrap_servers) as proxy:
        told = await asyncio.to_thread(output_of, "kcat", "-L", "-b", proxy.bootstrap_servers)

        assert f'topic "{topic}"' in told
        assert not ports_of(kafka_440) & ports_in(told)
        assert f"broker 1 at 127.0.0.1:{proxy.facts['brokers']['default']['1']} (controller)" in told
