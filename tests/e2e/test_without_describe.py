"""A proxy whose user may do little, before a real broker with ACLs: it may not describe topics, or not all of
them, and writes only where security.md says.

Producers without retries lose a record for each closed connection and each retriable error. So what the proxy
may not ask must not concern them.
"""

import asyncio
import os
import signal
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
import pytest_asyncio
from aiokafka import AIOKafkaProducer
from confluent_kafka.admin import AclOperation, ResourcePatternType

from deploy.demo.java_producer import Acknowledged, JavaProducer, JavaRecord, Rejected
from rigs.incidents.runbook import follow_back
from tests.attacks.attacker import metric, port_of
from tests.e2e.test_versions_offered import offered
from tests.full_only import IS_FULL
from tests.kit.admin import ANY, AUTHORIZER, DENY, grant, internal, own_login, right, take_back
from tests.kit.client import connect, plain, produced
from tests.proxy.running import EVERY_SECOND, TWO, events, file_for, page, pids, until_page
from tests.proxy.test_cluster import ADDRESS, HOUR_MS, learning, sasl_of, upstream_of
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.model.kafka import ApiKey, ErrorCode
from tsproxy.proxy.brokers import discovery
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

pytestmark = pytest.mark.broker

USERS = {"root": "root-secret", "proxy": "proxy-secret", "till": "till-secret", "eve": "eve-secret"}
OWN_LOGIN = own_login("PLAIN", "proxy", USERS["proxy"], **{"upstream.admin.refresh": "1s"})
WITHOUT_RETRIES = {"retries": "0", "enable.idempotence": "false"}
STARTS = 3 if IS_FULL else 1


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def guarded():
    properties = {**AUTHORIZER, "super.users": "User:root"}
    async with KafkaCluster(security="SASL_PLAINTEXT", users=USERS, properties=properties) as it:
        yield it


@pytest.fixture
async def kafka(guarded):
    """Nobody but root has a right, until the test grants it."""
    yield guarded
    await take_back(guarded)


def through(kafka, proxy, more):
    options = kafka.client_options("root").java() | {"bootstrap.servers": proxy.bootstrap_servers}
    return JavaProducer(options | more)


async def all_acknowledged(kafka, proxy, *topics, more=WITHOUT_RETRIES):
    """One record to each topic, from a client that has just started."""
    async with through(kafka, proxy, more) as producer:
        results = await producer.send_all([JavaRecord(topic, b"v") for topic in topics])
    assert all(isinstance(each, Acknowledged) for each in results), (results, warnings_of(proxy))


def warnings_of(proxy):
    return [line["event"] for line in proxy.log if line["level"] in ("warning", "error")]


@asynccontextmanager
async def proxy_of(kafka, config=None):
    async with RunningProxy(kafka.bootstrap_servers, config=config, settings=OWN_LOGIN) as proxy:
        yield proxy


async def reloaded(proxy, config):
    before = events(proxy).count("config_reloaded")
    lines = config.read_text().splitlines()[:2]
    config.write_text("\n".join([*lines, f"limits: {{ idle: {20 + before}m }}", ""]))
    os.kill(proxy.pid, signal.SIGHUP)
    await until(lambda: events(proxy).count("config_reloaded") > before)


async def test_no_first_record_is_lost_whatever_the_proxy_may_describe(kafka, topic, tmp_path):
    """After each of several starts, and after a reload, for topics that exist and for a new one."""
    config = file_for(kafka, tmp_path, "{ bind: '127.0.0.1:0', brokers: { ports_from: 0 } }")
    visible, hidden = f"open-{topic}"[:200], topic
    for each in (visible, hidden):
        await kafka.create_topic(each)
    await grant(kafka, right(AclOperation.DESCRIBE_CONFIGS, ANY))
    for number in range(STARTS):
        async with proxy_of(kafka) as proxy:
            await kafka.create_topic(f"{number}-{topic}"[:200])
            await all_acknowledged(kafka, proxy, hidden, visible, f"{number}-{topic}"[:200])
        assert warnings_of(proxy).count("topic_names_denied") == 1

    await grant(kafka, right(AclOperation.DESCRIBE, ("open-", ResourcePatternType.PREFIXED)))
    async with proxy_of(kafka, config) as proxy:
        await all_acknowledged(kafka, proxy, visible, hidden)
        await reloaded(proxy, config)
        await all_acknowledged(kafka, proxy, hidden, visible)


async def test_rights_that_change_while_it_runs_lose_no_record(kafka, topic):
    every = right(AclOperation.DESCRIBE, ANY)
    await kafka.create_topic(topic)
    await grant(kafka, right(AclOperation.DESCRIBE_CONFIGS, ANY), every)
    async with proxy_of(kafka) as proxy, through(kafka, proxy, WITHOUT_RETRIES) as early:
        assert all(isinstance(r, Acknowledged) for r in await early.send_all([JavaRecord(topic, b"v")]))
        await take_back(kafka, every)
        await until(lambda: offers(proxy, 12))
        # The connections that were offered topic ids go on with the names that are known.
        assert all(isinstance(r, Acknowledged) for r in await early.send_all([JavaRecord(topic, b"v")]))
        await all_acknowledged(kafka, proxy, topic)

        # A single topic that is hidden: its producers get an error that they repeat, then use names.
        hidden = right(AclOperation.DESCRIBE, f"hidden-{topic}"[:200], DENY)
        await grant(kafka, every, hidden)
        await until(lambda: offers(proxy, 13))
        for each in (f"new-{topic}"[:200], f"hidden-{topic}"[:200]):
            await kafka.create_topic(each)
        await all_acknowledged(kafka, proxy, topic, f"new-{topic}"[:200])
        assert await offers(proxy, 13)
        await all_acknowledged(kafka, proxy, f"hidden-{topic}"[:200], topic, more={})
        assert await offers(proxy, 12)
        await all_acknowledged(kafka, proxy, f"hidden-{topic}"[:200], topic)
    (refused,) = [line for line in proxy.decisions() if line.get("reason") == "unknown_topic_id"][:1]
    assert refused["topic"].startswith("id:")


async def test_workers_that_replace_others_serve_without_the_right_that_the_first_ones_needed(kafka, topic):
    """As their neighbours do, from which it was taken while they ran."""
    own = right(AclOperation.DESCRIBE_CONFIGS, ANY)
    await kafka.create_topic(topic)
    await grant(kafka, right(AclOperation.DESCRIBE, ANY), own)
    async with RunningProxy(kafka.bootstrap_servers, arguments=TWO, settings=OWN_LOGIN) as proxy:
        await take_back(kafka, own)
        killed = {*pids(proxy).values()}
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        await until(lambda: not killed & {*pids(proxy).values()})
        await all_acknowledged(kafka, proxy, topic)
        await until_page(proxy, "/readyz?verbose", 200, f"limits of topics cannot be read: 1 ({topic})")


async def offers(proxy, newest):
    """True if this is the newest version of Produce that a client of this address is offered now."""
    versions, _ = await offered(port_of(proxy))
    return versions[ApiKey.PRODUCE][1] == newest


async def test_the_permissions_of_the_document_are_needed_and_enough(kafka, topic):
    """DescribeConfigs on the topic of the producer, which may be described, and Write on three of the proxy's
    own."""
    own = {name: f"{name}-{topic}"[:200] for name in ("log", "letters", "clock")}
    await kafka.create_topic(topic, config={"message.timestamp.before.max.ms": "60000"})
    for name in own.values():
        await kafka.create_topic(name, config={"message.timestamp.type": "LogAppendTime"})
    rights = (AclOperation.DESCRIBE_CONFIGS, AclOperation.DESCRIBE)
    await grant(kafka, *(right(each, topic) for each in rights))
    settings = {
        **OWN_LOGIN,
        **EVERY_SECOND,
        "decisions.topic.name": own["log"],
        "dead_letters.topic": own["letters"],
        "policy.defaults.dead_letters": "yes",
        "clock.probe.topic": own["clock"],
        "clock.probe.every": "1s",
    }
    async with RunningProxy(kafka.bootstrap_servers, settings=settings) as proxy:
        async with through(kafka, proxy, WITHOUT_RETRIES) as producer:
            records = [JavaRecord(topic, b"good"), JavaRecord(topic, b"bad", timestamp_ms=1)]
            results = [(await producer.send_all([each]))[0] for each in records]
        assert [type(each) for each in results] == [Acknowledged, Rejected]
        failed = {"decision_topic_failed", "dead_letters_failed", "clock_not_measured"}
        await until(lambda: failed <= set(warnings_of(proxy)))
        assert [sum((await kafka.end_offsets(name)).values()) for name in own.values()] == [0, 0, 0]

        await grant(kafka, *(right(AclOperation.WRITE, name) for name in own.values()))
        for name in own.values():

            async def has_records(name=name):
                return sum((await kafka.end_offsets(name)).values()) > 0

            await until(has_records, name)
        await until_page(proxy, "/metrics", 200, 'tsproxy_clock_offset_seconds{broker="1"}')
    assert set(warnings_of(proxy)) == {"topic_names_denied", *failed}


async def test_only_a_client_that_may_write_leaves_anything_in_the_dead_letter_topic(kafka, topic):
    """The proxy judges before brokers check a client's rights, and writes the copies with its own."""
    letters, invented = (f"{kind}-{topic}"[:200] for kind in ("letters", "invented"))
    for name in (topic, letters):
        await kafka.create_topic(name)
    may_write = right(AclOperation.WRITE, topic, user="till")
    await grant(kafka, may_write, right(AclOperation.WRITE, letters))
    settings = {
        **OWN_LOGIN,
        "policy.limits_from": "config",
        "policy.defaults.message.timestamp.before.max.ms": "1h",
        "policy.defaults.dead_letters": "yes",
        "dead_letters.topic": letters,
    }

    async def send(client, *batches):
        return [await produced(client, name, Clock().now_ms() - age_ms) for name, age_ms in batches]

    async with RunningProxy(kafka.bootstrap_servers, settings=settings) as proxy, AsyncExitStack() as ends:
        clients = {}
        for user in ("eve", "till"):
            clients[user] = await connect(proxy.bootstrap_servers)
            ends.callback(clients[user].close)
            await clients[user].handshake("PLAIN")
            assert (await clients[user].authenticate(plain(user, USERS[user])))[0] == 0
        bad, good = (topic, 2 * HOUR_MS), (topic, 0)
        assert await send(clients["till"], bad, good, bad) == [32, 0, 32]
        assert await send(clients["eve"], bad, (invented, 2 * HOUR_MS), good, bad) == [32, 32, 29, 32]
        await take_back(kafka, may_write)
        await until(lambda: taken_back(clients["till"], topic))
        assert await send(clients["till"], bad) == [32]
        await until_page(proxy, "/metrics", 200, 'tsproxy_dead_letters_lost_total{reason="not_proven"} 5.0')
        await until_page(proxy, "/metrics", 200, "tsproxy_dead_letters_total 1.0")
    assert sum((await kafka.end_offsets(letters)).values()) == 1


async def taken_back(client, topic):
    return await produced(client, topic, Clock().now_ms()) == ErrorCode.TOPIC_AUTHORIZATION_FAILED


async def test_one_topic_whose_limits_may_be_read_is_enough_to_start(kafka, topic, monkeypatch):
    """It may be one of thousands that are visible, and those that are tried first may not be read."""
    monkeypatch.setattr(discovery, "TOPICS_PROBED", 1)
    for name in (topic, f"first-{topic}"[:200], f"last-{topic}"[:200]):
        await kafka.create_topic(name)
    one = right(AclOperation.DESCRIBE_CONFIGS, topic)
    await grant(kafka, right(AclOperation.DESCRIBE, ANY), one)
    async with learning(upstream_of(kafka, sasl=sasl_of("proxy", USERS["proxy"]))) as learned:
        assert await learned.limits_of(topic)


async def test_brokers_clocks_are_read_from_topics_that_may_be_described(kafka, topic):
    """The proxy's user may describe this topic alone, to which the broker writes its own times."""
    await kafka.create_topic(topic, config={"message.timestamp.type": "LogAppendTime"})
    await grant(kafka, right(AclOperation.DESCRIBE_CONFIGS, ANY))
    clients = kafka.client_options("root").aiokafka()
    async with (
        proxy_of(kafka) as proxy,
        AIOKafkaProducer(**clients | {"bootstrap_servers": proxy.bootstrap_servers}) as producer,
    ):

        async def is_measured():
            await producer.send_and_wait(topic, b"v")
            return (
                'tsproxy_clock_offset_seconds{broker="1"}' in (await page(proxy.admin_address, "/metrics"))[1]
            )

        assert not await is_measured()
        await grant(kafka, right(AclOperation.DESCRIBE, topic))
        await until(is_measured)


async def test_topics_whose_limits_may_not_be_read_are_a_number_and_a_warning(kafka, topic):
    """Clients are served: brokers judge these topics alone. Metrics and log count what they judged. The
    command of the runbook ends it."""
    await kafka.create_topic(topic)
    await kafka.create_topic("visible")
    own = right(AclOperation.DESCRIBE_CONFIGS, "visible")
    await grant(kafka, right(AclOperation.DESCRIBE, ANY), own)
    async with proxy_of(kafka) as proxy:
        assert await metric(proxy, "tsproxy_topics_unreadable") == 0
        await all_acknowledged(kafka, proxy, topic, "visible")
        assert await metric(proxy, "tsproxy_topics_unreadable") == 1
        _, ready = await page(proxy.admin_address, "/readyz?verbose")
        assert f"limits of topics cannot be read: 1 ({topic})" in ready
        assert await metric(proxy, 'tsproxy_records_limits_unknown_total{listener="default"}') == 1
        granted = {"BROKER": internal(kafka), "PROXY_USER": "proxy"}
        await follow_back("Nothing is rejected", "kafka-acls.sh", granted)
        await until(lambda: is_readable(proxy))
    assert warnings_of(proxy).count("topic_limits_denied") == 1
    await warned_until_limits_are_in_force(kafka, topic)
    counted = {line["topic"]: line for line in proxy.decisions() if line["event"] == "counters"}
    assert {name: line.get("records_limits_unknown") for name, line in counted.items()} == {
        topic: 1,
        "visible": None,
    }


async def is_readable(proxy):
    return await metric(proxy, "tsproxy_topics_unreadable") == 0


async def warned_until_limits_are_in_force(kafka, topic):
    """After a grant, the warning ends with the facts that sessions judge by, and not before."""
    hidden = right(AclOperation.DESCRIBE_CONFIGS, topic, DENY)
    await grant(kafka, hidden)
    async with learning(upstream_of(kafka, sasl=sasl_of("proxy", USERS["proxy"]), refresh_ms=200)) as learned:
        await until(lambda: learned.logged)
        learned.cluster.want_topic(topic, ADDRESS)
        await until(learned.cluster.warnings)
        assert topic not in learned.facts.topics
        await take_back(kafka, hidden)
        while learned.cluster.warnings():  # noqa: ASYNC110  # it has no event
            await asyncio.sleep(0)  # so it looks between any two steps of the cluster
        assert learned.facts.topics[topic].after_max_ms == HOUR_MS
