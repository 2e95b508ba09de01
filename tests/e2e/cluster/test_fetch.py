"""Brokers name the new leader and its address in Fetch answers (KIP-951). The proxy hides the address.

`tests/clients/test_matrix.py` moves leaders while the consumers of all families read.
"""

from uuid import UUID

import pytest
from kafka.protocol.consumer import FetchRequest, FetchResponse
from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from tests.attacks.attacker import answer_to
from tests.full_only import variations
from tsproxy.testing.proxy import RunningProxy

HIDDEN = b"localhost"
VERSIONS = (16, 17, 18)
NOT_LEADER_OR_FOLLOWER = 6

pytestmark = [pytest.mark.broker, pytest.mark.timeout(600)]


async def asked(port, request, version):
    """The payload of the answer: correlation id, header and body."""
    request.with_header(correlation_id=7, client_id="raw")
    return await answer_to(port, request.encode(version=version, header=True, framed=True))


async def topic_id_of(port, topic):
    request = MetadataRequest(
        version=12,
        topics=[MetadataRequest.MetadataRequestTopic(topic_id=UUID(int=0), name=topic)],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    )
    [described] = MetadataResponse.decode((await asked(port, request, 12))[5:], version=12).topics
    return described.topic_id, described.partitions[0].leader_id


def fetch_of(topic_id, version):
    partition = FetchRequest.FetchTopic.FetchPartition(
        partition=0,
        current_leader_epoch=-1,
        fetch_offset=0,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=1000,
    )
    return FetchRequest(
        version=version,
        max_wait_ms=100,
        min_bytes=1,
        max_bytes=1000,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=[FetchRequest.FetchTopic(topic_id=topic_id, partitions=[partition])],
        forgotten_topics_data=[],
        rack_id="",
    )


@pytest.mark.parametrize(
    "version", variations("between the last version without endpoints and the newest", VERSIONS, but=[16, 18])
)
async def test_a_broker_that_does_not_lead_names_the_leader_and_not_where_it_is(
    three_brokers, topic, version
):
    kafka = three_brokers
    await kafka.create_topic(topic, replication=1)
    topic_id, leader = await topic_id_of(kafka.node(kafka.node_ids[0]).port, topic)
    other = next(node_id for node_id in kafka.node_ids if node_id != leader)
    node = kafka.node(other)
    async with RunningProxy(kafka.bootstrap_servers) as proxy:
        request = fetch_of(topic_id, version)
        direct = await asked(node.port, request, version)
        port = proxy.facts["brokers"]["default"][str(other)]
        through = await asked(port, fetch_of(topic_id, version), version)

    said = FetchResponse.decode(direct[5:], version=version)
    heard = FetchResponse.decode(through[5:], version=version)
    assert [each.node_id for each in said.node_endpoints] == [leader]
    assert HIDDEN in direct
    assert HIDDEN not in through
    assert len(through) == len(direct)
    assert heard.node_endpoints == []
    [partition] = heard.responses[0].partitions
    assert partition.error_code == NOT_LEADER_OR_FOLLOWER
    assert partition.current_leader.leader_id == leader
    assert heard.responses == said.responses
