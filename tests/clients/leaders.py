"""Moves the leaders of topics while everything runs, as an operator does: new order, preferred election."""

import asyncio

from kafka import TopicPartition
from kafka.admin import KafkaAdminClient

_PREFERRED = 0


async def lead_elsewhere(kafka, topics):
    """Every partition of the topics gets another leader, of those that have it already."""
    await asyncio.to_thread(_lead_elsewhere, kafka, topics)


def _lead_elsewhere(kafka, topics):
    node = kafka.node(kafka.node_ids[0])
    servers = f"{node.host}:{node.internal_port}"
    admin = KafkaAdminClient(bootstrap_servers=servers, request_timeout_ms=60_000)
    try:
        turned = {}
        for topic in admin.describe_topics(topics):
            for partition in topic["partitions"]:
                replicas = partition["replica_nodes"]
                key = TopicPartition(topic["name"], partition["partition_index"])
                turned[key] = [*replicas[1:], replicas[0]]
        rejected = {key: error for key, error in admin.alter_partition_reassignments(turned).items() if error}
        assert not rejected, rejected
        admin.elect_leaders(_PREFERRED, {t: list(range(3)) for t in topics}, raise_errors=False)
        leaders = {
            TopicPartition(topic["name"], partition["partition_index"]): partition["leader_id"]
            for topic in admin.describe_topics(topics)
            for partition in topic["partitions"]
        }
    finally:
        admin.close()
    assert leaders.keys() == turned.keys()
    return leaders
