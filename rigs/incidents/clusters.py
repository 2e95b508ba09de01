"""Brokers for incidents, and what an administrator does to them."""

from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from rigs.incidents.incident import TOPIC
from rigs.incidents.runbook import run
from tests.kit.admin import internal
from tests.proxy.world import until
from tsproxy.testing.certificates import CertificateAuthority
from tsproxy.testing.kafka_cluster import KafkaCluster

NAME = "kafka.incidents.test"
PATIENCE_S = 120


@asynccontextmanager
async def cluster(kind):
    """The brokers of this kind, with the topic."""
    with TemporaryDirectory(prefix="tsproxy-incidents-") as folder:
        async with KafkaCluster(**CLUSTERS[kind](Path(folder))) as kafka:
            many = {"partitions": 6, "replication": 3} if len(kafka.node_ids) == 3 else {}
            await kafka.create_topic(TOPIC, **many)
            yield kafka


CLUSTERS = {
    "plain": lambda _: {"properties": {"auto.create.topics.enable": "false"}},
    "three": lambda _: {"nodes": 3},
    "named": lambda _: {"advertised_host": NAME},
    "with_tls": lambda folder: {"security": "SSL", "authority": CertificateAuthority(folder)},
    "with_logins": lambda _: {
        "security": "SASL_PLAINTEXT",
        "users": {"app": "right", "proxy": "own"},
    },
}
"""Kind -> the arguments of `KafkaCluster`, which may keep certificates in a folder."""


async def configure_brokers(kafka, change):
    brokers = "--entity-type brokers --entity-default"
    command = f'kafka-configs.sh --bootstrap-server "$BROKER" --alter {brokers} {change}'
    status, printed = await run(command, {"BROKER": internal(kafka)})
    assert status == 0, printed


async def led_as_preferred(kafka):
    """Each broker leads its partitions again. A broker that was away leads none, and no client needs it."""
    command = "kafka-leader-election.sh --election-type PREFERRED --all-topic-partitions"

    async def is_led():
        status, _ = await run(f'{command} --bootstrap-server "$BROKER"', {"BROKER": internal(kafka)})
        return status == 0

    await until(is_led, "each broker leads its partitions", PATIENCE_S)
