"""Clients see the same rejection from the broker itself and through the real `tsproxy` command.

Each client does the same twice, with two topics of the same configuration: once directly and once through
the proxy. Its application must see the same exceptions, messages and culprits. A consumer of committed
records must find the same afterwards, at the same offsets.
"""

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from rigs.differential.lines import now_ms
from tests import full_only
from tests.clients.families import FAMILIES
from tests.clients.refused import NOT_ALWAYS_IDEMPOTENT, aside_of, told_by
from tests.verdicts.rows import DAY, HOUR, KEEP, limits
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

SIDES = ("directly", "by-proxy")
"""Names of one length, so that batches are as long as each other."""

CLIENTS = {"java", "librdkafka", "aiokafka", "kafka-python"}
CASES = [
    pytest.param(family, is_idempotent, id=f"{family}{'' if is_idempotent else ' without idempotence'}")
    for family in FAMILIES
    for is_idempotent in (True, False)
    if family.name in CLIENTS and (is_idempotent or family.name in NOT_ALWAYS_IDEMPOTENT)
]

pytestmark = pytest.mark.timeout(func_only=True)
"""The first of these tests starts its broker as well, and each with Java two more processes that compile
before they send. On a machine that others keep busy all that together took five minutes; the broker's start
has a bound of its own."""


@pytest.fixture(params=full_only.brokers("test_rows.py compares the bytes that clients get of 3.9.1 as well"))
def kafka(request: pytest.FixtureRequest) -> KafkaCluster:
    return request.getfixturevalue(request.param)


async def first_sent(kafka: KafkaCluster, proxy: RunningProxy, direct: str, proxied: str) -> None:
    """Creates both topics, and sends good records to them until the proxy knows its topic's limits."""
    for name in (direct, proxied):
        await kafka.create_topic(name, config=KEEP | limits(DAY, HOUR))
    async with (
        AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as straight,
        AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as through,
    ):
        # The log tells a topic's limits with the first batch that was judged by them.
        while not any(line["topic"] == proxied for line in proxy.decisions() if line.get("kind") == "limits"):
            await straight.send_and_wait(direct, b"first", timestamp_ms=now_ms())
            await through.send_and_wait(proxied, b"first", timestamp_ms=now_ms())


async def committed(kafka: KafkaCluster, topic: str) -> list[tuple[bytes | None, int]]:
    """(value, offset) of every record that a consumer of committed records sees."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=kafka.bootstrap_servers,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
    )
    partition = TopicPartition(topic, 0)
    async with consumer:
        consumer.assign([partition])
        # A commit is answered before its marker lies in the log: until then its records are not to be seen.
        end = -1
        while end < (await kafka.end_offsets(topic))[0]:
            end = (await consumer.end_offsets([partition]))[partition]
        stored: list[tuple[bytes | None, int]] = []
        while await consumer.position(partition) < end:
            for records in (await consumer.getmany(timeout_ms=100)).values():
                stored += [(record.value, record.offset) for record in records]
        return stored


def was_rejected_by_the_proxy(proxy: RunningProxy) -> bool:
    """True where no bad time came as far as the broker."""
    rejected = [
        line for line in proxy.decisions() if line["event"] == "decision" and line["error_code"] == 32
    ]
    return bool(rejected) and {line["verdict"] for line in rejected} == {"rejected"}


@pytest.mark.parametrize(("family", "is_idempotent"), CASES)
async def test_a_client_sees_the_same_and_goes_on(kafka, topic, family, is_idempotent):
    """Good batches, bad ones, and bad records among good ones; then transactions, if the client has any.

    Offsets of these differ: a broker has added the partition to the transaction before it looks at the
    records, and its abort leaves a marker there. A batch that the proxy rejects leaves none. aiokafka goes on
    after a rejected batch only if it is not idempotent, so its transactions store nothing.
    """
    direct, proxied = (f"{topic[:160]}.{side}" for side in SIDES)
    async with RunningProxy(kafka.bootstrap_servers) as proxy:
        await first_sent(kafka, proxy, direct, proxied)
        await first_sent(kafka, proxy, aside_of(direct), aside_of(proxied))
        seen, by_proxy = [
            await told_by(family, servers, name, kafka.version, is_idempotent=is_idempotent)
            for servers, name in ((kafka.bootstrap_servers, direct), (proxy.bootstrap_servers, proxied))
        ]
    assert by_proxy == seen
    assert await committed(kafka, proxied) == await committed(kafka, direct)
    values, values_by_proxy = [
        [value for value, _ in await committed(kafka, aside_of(name)) if value != b"first"]
        for name in (direct, proxied)
    ]
    assert values_by_proxy == values
    assert bool(values) == (is_idempotent and family.knows_transactions)
    assert "timestamp" in str(seen).lower()
    assert was_rejected_by_the_proxy(proxy)
