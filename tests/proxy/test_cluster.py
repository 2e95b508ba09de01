"""The proxy reads real clusters on its own connection."""

import asyncio
import contextlib
import ssl
from collections import Counter

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import InvalidTimestampError

from tests.kit.tasks import beside
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.cluster import upstream
from tsproxy.cluster.admin_connection import ConversationError, TopicAnswer, connected
from tsproxy.cluster.topic_limits import ANY_RECORD_SIZE
from tsproxy.config.settings import Password, Sasl, SaslMechanism, Secret, Upstream
from tsproxy.model.addresses import Address
from tsproxy.model.kafka import ErrorCode, TimestampType
from tsproxy.proxy.brokers.discovery import Cluster
from tsproxy.proxy.brokers.topics import Topics
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.ports import free_ports

ADDRESS = "192.0.2.1"
MINUTE_MS = 60_000
HOUR_MS = 3_600_000


class Learned:
    """A cluster that runs, and what it has told so far."""

    def __init__(self, upstream, tls=None, *, reads_limits=True):
        self.logged = []
        self.cluster = Cluster(upstream, tls, Clock(), self.logged.append, reads_limits=reads_limits)

    @property
    def facts(self):
        return self.logged[-1]

    async def limits_of(self, topic):
        """The view of a topic that a session would get."""
        self.cluster.want_topic(topic, ADDRESS)
        return await until(lambda: self.logged and self.facts.topics.get(topic))


@contextlib.asynccontextmanager
async def learning(upstream, tls=None, **options):
    learned = Learned(upstream, tls, **options)
    async with beside(learned.cluster.run()):
        yield learned


def upstream_of(kafka, *, sasl=None, tls=None, refresh_ms=30_000):
    servers = tuple(
        Address(host, int(port))
        for host, _, port in (each.rpartition(":") for each in kafka.bootstrap_servers.split(","))
    )
    return Upstream(servers, tls, sasl=sasl, refresh_ms=refresh_ms)


async def test_the_limits_of_a_wanted_topic_are_read_at_once(kafka, topic):
    await kafka.create_topic(
        topic,
        config={
            "message.timestamp.before.max.ms": "5000",
            "message.timestamp.after.max.ms": "7000",
            "max.message.bytes": "12345",
            "cleanup.policy": "compact",
        },
    )
    async with learning(upstream_of(kafka)) as learned:
        limits = await learned.limits_of(topic)

        assert (limits.before_max_ms, limits.after_max_ms) == (5000, 7000)
        assert limits.max_message_bytes == 12345
        assert limits.is_compacted
        assert limits.timestamp_type is TimestampType.CREATE_TIME


async def test_a_limit_for_the_size_of_a_decompressed_record_is_followed_when_it_changes(kafka_440, topic):
    """Brokers have it since 4.4. Its default is the largest array of Java."""
    await kafka_440.create_topic(topic)
    async with learning(upstream_of(kafka_440, refresh_ms=200)) as learned:
        assert (await learned.limits_of(topic)).max_decompressed_message_bytes == ANY_RECORD_SIZE

        def known():
            return learned.facts.topics[topic].max_decompressed_message_bytes

        await kafka_440.alter_topic(topic, {"max.decompressed.message.bytes": "100"})
        await until(lambda: known() == 100)
        await kafka_440.alter_topic(topic, {"max.decompressed.message.bytes": None})
        await until(lambda: known() == ANY_RECORD_SIZE)


async def test_the_limits_of_many_topics_are_read_in_few_requests(kafka, topic):
    names = [f"{topic}-{n}"[-200:] for n in range(10)]
    for name in names:
        await kafka.create_topic(name)
    async with learning(upstream_of(kafka)) as learned:
        for name in names:
            learned.cluster.want_topic(name, ADDRESS)
        await until(lambda: learned.logged and learned.facts.topics.keys() >= set(names))

        assert len(learned.logged) <= 3


async def test_defaults_are_those_of_the_brokers_version(kafka_440, kafka_391, topic):
    for kafka, after_max_ms in ((kafka_440, 3_600_000), (kafka_391, None)):
        await kafka.create_topic(topic)
        async with learning(upstream_of(kafka)) as learned:
            limits = await learned.limits_of(topic)

            assert (limits.before_max_ms, limits.after_max_ms) == (None, after_max_ms)


async def test_log_append_time_is_learned(kafka, topic):
    await kafka.create_topic(topic, config={"message.timestamp.type": "LogAppendTime"})
    async with learning(upstream_of(kafka)) as learned:
        assert (await learned.limits_of(topic)).timestamp_type is TimestampType.LOG_APPEND_TIME
        assert topic in learned.cluster.stamped_topics()


async def accepts(kafka, topic, drift_ms):
    """Whether the broker itself takes a record that far from its clock."""
    async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as producer:
        try:
            await producer.send_and_wait(topic, b"x", timestamp_ms=Clock().now_ms() + drift_ms)
        except InvalidTimestampError:
            return False
    return True


async def assert_both_mean_the_same(kafka, topic, before_ms, after_ms):
    """The limits learned are these, and the broker judges a minute to either side as they say."""
    async with learning(upstream_of(kafka)) as learned:
        limits = await learned.limits_of(topic)

    assert (limits.before_max_ms, limits.after_max_ms) == (before_ms, after_ms)
    for sign, bound_ms in ((-1, before_ms), (1, after_ms)):
        assert await accepts(kafka, topic, sign * (bound_ms - MINUTE_MS))
        assert not await accepts(kafka, topic, sign * (bound_ms + MINUTE_MS))


@pytest.mark.parametrize(
    ("config", "before_ms", "after_ms"),
    [
        ({"difference": HOUR_MS}, HOUR_MS, HOUR_MS),
        ({"difference": HOUR_MS, "before": 2 * HOUR_MS}, 2 * HOUR_MS, HOUR_MS),
        ({"difference": HOUR_MS, "after": 2 * HOUR_MS}, HOUR_MS, 2 * HOUR_MS),
    ],
    ids=["alone", "beside before", "beside after"],
)
async def test_a_topics_difference_limits_what_the_broker_itself_limits(
    kafka_391, topic, config, before_ms, after_ms
):
    """KIP-937: difference.max.ms is deprecated in 3.6 to 3.9, and still works."""
    settings = {f"message.timestamp.{name}.max.ms": str(value) for name, value in config.items()}
    await kafka_391.create_topic(topic, config=settings)

    await assert_both_mean_the_same(kafka_391, topic, before_ms, after_ms)


@pytest.mark.broker
@pytest.mark.full_only("a cluster of its own; above, a topic has the same property")
async def test_a_brokers_difference_limits_all_topics_and_hides_their_own(topic):
    properties = {"log.message.timestamp.difference.max.ms": str(HOUR_MS)}
    async with KafkaCluster("3.9.1", properties=properties) as kafka:
        await kafka.create_topic(topic)
        await assert_both_mean_the_same(kafka, topic, HOUR_MS, HOUR_MS)

        own = {"message.timestamp.difference.max.ms": str(9 * HOUR_MS)}
        await kafka.create_topic(f"{topic}-own", config=own)
        await assert_both_mean_the_same(kafka, f"{topic}-own", HOUR_MS, HOUR_MS)


async def test_a_topic_that_does_not_exist_stays_unknown_until_it_does(kafka, topic):
    async with learning(upstream_of(kafka)) as learned:
        learned.cluster.want_topic(topic, ADDRESS)
        await until(lambda: topic in learned.cluster._topics.absent)
        assert topic not in learned.facts.topics
        await kafka.create_topic(topic, config={"message.timestamp.before.max.ms": "42"})

        await until(lambda: topic in learned.facts.topics)
        assert learned.facts.topics[topic].before_max_ms == 42


async def test_a_deleted_topic_is_forgotten(kafka, topic):
    await kafka.create_topic(topic)
    async with learning(upstream_of(kafka, refresh_ms=100)) as learned:
        await learned.limits_of(topic)
        await kafka.delete_topic(topic)

        await until(lambda: topic not in learned.facts.topics)


def test_each_name_that_never_comes_costs_the_broker_few_queries():
    """Also while a client brings ever new ones: a new name does not begin the others anew."""
    topics, queried, refresh_ms = Topics(), Counter(), 60_000
    for now_ms in range(0, 30_000, 50):
        if now_ms < 15_000:
            topics.update([absent(f"never-{now_ms}")], now_ms)
        due = topics.due_absent(now_ms, refresh_ms)
        topics.update(map(absent, due), now_ms)
        queried.update(due)
    assert len(topics.absent) == len(queried) == 300
    assert max(queried.values()) <= 7  # after 0.25, 0.75, 1.75 … 31.75 s
    assert min(queried.values()) >= 5


def test_a_topic_stays_unreadable_until_its_new_limits_are_in_force():
    """Brokers may still be asked for their values: until they have answered, looser limits hold."""
    topics, values = Topics(), {"message.timestamp.after.max.ms": "42"}
    denied = TopicAnswer("orders", ErrorCode.TOPIC_AUTHORIZATION_FAILED, {})
    granted = TopicAnswer("orders", ErrorCode.NONE, values, overrides=frozenset(values))
    for answers in ([denied], [granted]):
        topics.update(answers, 0)
        assert "orders" in topics.unreadable
    topics.settled()
    assert "orders" not in topics.unreadable
    topics.update([denied], 0)  # taken back: the limits that are known stay in force
    topics.settled()
    assert "orders" in topics.unreadable
    topics.update([granted], 0)
    topics.update([denied], 0)
    topics.settled()
    assert "orders" in topics.unreadable


def test_brokers_are_asked_for_their_values_by_topics_that_exist_and_may_be_read():
    """By one that is gone or denied, they show nothing, and their old values would stay in force."""
    topics, values = Topics(), {"message.timestamp.after.max.ms": "42"}
    topics.update([TopicAnswer(topic, ErrorCode.NONE, values) for topic in ("denied", "gone?", "orders")], 0)
    topics.update([TopicAnswer("denied", ErrorCode.TOPIC_AUTHORIZATION_FAILED, {})], 0)
    topics.settled()
    assert topics.examples() == ("gone?",)
    assert topics.examples(["orders"]) == ("orders",)
    topics.update([TopicAnswer("denied", ErrorCode.NONE, values)], 0)  # granted
    assert topics.examples(["denied"]) == ("denied",)


def test_a_topic_that_comes_to_have_limits_is_one_that_a_producer_uses():
    """It was kept because a producer had named it. Its producer may send next after the next refresh."""
    topics, values = Topics(), {"message.timestamp.after.max.ms": "42"}
    answers = (
        ("wanted", ErrorCode.TOPIC_AUTHORIZATION_FAILED, {}),
        ("wanted", ErrorCode.NONE, values),
        ("listed", ErrorCode.NONE, values),
    )
    topics.update([TopicAnswer(*each) for each in answers], 1_000)
    topics.forget_unused(2_000)
    assert topics.names == ["wanted"]


def absent(topic):
    return TopicAnswer(topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, {})


async def test_limits_that_nobody_needs_are_forgotten_and_those_in_use_are_read_again(kafka_440, topic):
    """A limit that is not read again may be an old one, so the next batch waits for it."""
    used = f"used-{topic}"[:200]
    for each in (topic, used):
        await kafka_440.create_topic(each)
    async with learning(upstream_of(kafka_440, refresh_ms=500)) as learned:
        await until(lambda: learned.logged)
        learned.cluster.topic_used(used)
        await until(lambda: topic not in learned.facts.topics)
        await kafka_440.alter_topic(used, {"message.timestamp.before.max.ms": "42"})
        await until(lambda: learned.facts.topics[used].before_max_ms == 42)


def sasl_of(user, password, mechanism=SaslMechanism.PLAIN):
    return Sasl(mechanism, Password(user, Secret(password)))


async def test_a_tls_connection_to_a_plain_cluster_is_explained(kafka_440):
    """To the proxy's own connection, and to a client's."""
    node = kafka_440.node(1)
    address, context = Address(node.host, node.port), ssl.create_default_context()
    with pytest.raises(ConversationError, match="does it speak TLS"):
        async with connected(address, context, None):
            pass
    with pytest.raises(upstream.UpstreamError, match="does it speak TLS"):
        await upstream.Upstream(lambda: context).connect([address], asyncio.Protocol())


async def test_what_does_not_answer_is_told_with_its_address():
    address = Address("127.0.0.1", free_ports(1)[0])

    with pytest.raises(ConversationError, match=rf"^{address}: "):
        async with connected(address, None, None):
            pass
