"""A librdkafka producer whose records time out stores others again, with a broker alone as through the proxy.

Chaos counts such records as `sent_again` and not as `doubled_clean`.
"""

import asyncio
import threading

import pytest

from rigs.chaos.producers import LibrdkafkaClient, Told
from rigs.chaos.relay import Relays
from rigs.chaos.stored import read_log
from rigs.chaos.verdict import judge
from rigs.chaos.world import BROKERS_FACE, HOST
from tests.proxy.world import until
from tsproxy.testing.client_options import ClientOptions
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

pytestmark = [
    pytest.mark.broker,
    pytest.mark.full_only(
        "waits for time-outs of a client; test_verdict.py has what is counted, and what is not"
    ),
]

TIMEOUT_MS = 10_000


class Impatient(LibrdkafkaClient):
    """Sends a record and waits for its answer. After `go_on`: one more, and another when most of its time is
    over. Returns when all have an end."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.go_on = threading.Event()

    def send(self):
        producer = self._producer(**{"message.timeout.ms": TIMEOUT_MS})
        self._produce(producer, "before", is_forbidden=False)
        producer.flush()
        self.go_on.wait()
        for value in ("first", "second"):
            self._produce(producer, value, is_forbidden=False)
            producer.poll(0.7 * TIMEOUT_MS / 1000)
        producer.flush()


async def test_records_whose_answers_are_late_are_stored_again_in_an_epoch_that_the_client_began():
    async with (
        KafkaCluster(advertised_host=BROKERS_FACE) as kafka,
        RunningProxy(kafka.bootstrap_servers) as proxy,
    ):
        relays = Relays(BROKERS_FACE, HOST)
        port = kafka.node(1).port
        await relays.open([port])
        addresses = {"direct": f"{BROKERS_FACE}:{port}", "proxied": proxy.bootstrap_servers}
        for topic in addresses:
            await kafka.create_topic(topic, partitions=1)
        clients = [
            Impatient(Told(f"c-{topic}", "all"), topic, ClientOptions(address))
            for topic, address in addresses.items()
        ]
        try:
            await _answers_are_late(relays, clients)
            logs = [await read_log(kafka, topic) for topic in addresses]
        finally:
            await relays.close()
    for client, log in zip(clients, logs, strict=True):
        told, (first, second) = client.told, (log.by_value[value] for value in ("first", "second"))
        assert told.failed == {"first": "_MSG_TIMED_OUT"}
        assert told.acknowledged == {"before", "second"}
        assert (len(first), len(second), len(set(second))) == (1, 2, 2), (
            "the second one was stored in two epochs"
        )
        assert told.given_up == set(first)
        assert _doubled(told, log) == 0
        told.given_up.clear()
        assert _doubled(told, log) == 1


def _doubled(told, log):
    return judge([told], log, [], "t", counts_are_exact=False).doubled_clean


async def _answers_are_late(relays, clients):
    """Answers wait until the first record of each client has timed out, and are lost then."""
    sending = [asyncio.create_task(each.run()) for each in clients]
    await until(lambda: all(each.told.acknowledged for each in clients), "the clients have producer ids")
    relays.stall_answers()
    for each in clients:
        each.go_on.set()
    await until(lambda: all(each.told.failed for each in clients), "the first records have timed out")
    relays.cut_now()
    relays.heal()
    await asyncio.gather(*sending)
