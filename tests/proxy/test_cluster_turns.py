"""Questions about the cluster take turns: none waits for long behind the others."""

from itertools import count

from tests.proxy.test_cluster import ADDRESS, learning, upstream_of
from tests.proxy.world import until
from tsproxy.cluster.admin_connection import AdminConnection
from tsproxy.proxy.brokers import discovery
from tsproxy.proxy.brokers.discovery import Cluster


async def test_brokers_and_limits_are_read_though_clients_always_name_other_topics(kafka, topic, monkeypatch):
    """If a broker is slow, the next question for clients is due before the last one is answered."""
    numbers, refreshed, plain = count(), [], (Cluster._refresh, Cluster._read_wanted)

    async def refresh(cluster, connection):
        refreshed.append(None)
        await plain[0](cluster, connection)

    async def read_wanted(cluster, connection):
        await plain[1](cluster, connection)
        number = next(numbers)
        cluster.want_topic(
            f"{topic}-{number}", f"192.0.2.{number % 256}"
        )  # an address has a hundred questions

    monkeypatch.setattr(discovery, "WANTED_EVERY_MS", 0)
    monkeypatch.setattr(Cluster, "_refresh", refresh)
    monkeypatch.setattr(Cluster, "_read_wanted", read_wanted)
    await kafka.create_topic(topic)
    async with learning(upstream_of(kafka, refresh_ms=200)) as learned:
        await learned.limits_of(topic)
        before = len(refreshed)
        await until(lambda: len(refreshed) > before + 3)


async def test_a_wanted_topic_does_not_wait_for_the_limits_of_all_others(kafka, topic, monkeypatch):
    """A request waits for a second. To read the limits of 20,000 topics takes longer."""
    monkeypatch.setattr(discovery, "TOPICS_A_REQUEST", 1)
    known, read, plain = [f"{topic}-{number}" for number in range(6)], [], AdminConnection.describe
    async with learning(upstream_of(kafka, refresh_ms=500)) as learned:
        for each in known:
            await kafka.create_topic(each)
            await learned.limits_of(each)
        await kafka.create_topic(topic)

        async def describe(connection, topics, *names):
            if known[0] in topics:
                learned.cluster.want_topic(topic, ADDRESS)
            if read or known[0] in topics:  # a round may be under way, which began before
                read.extend(topics)
            return await plain(connection, topics, *names)

        monkeypatch.setattr(AdminConnection, "describe", describe)
        await until(lambda: topic in learned.facts.topics and known[-1] in read)
    assert read.index(topic) < read.index(known[-1])


async def test_while_brokers_are_read_each_second_limits_are_read_at_their_interval(
    kafka, topic, monkeypatch
):
    """A broker that is not served makes them be read each second. Limits of 20,000 topics take seconds."""
    monkeypatch.setattr(discovery, "NODES_EVERY_MS", 10)
    brokers_read, topics_read, plain = [], [], (AdminConnection.cluster, AdminConnection.describe)

    def cluster(*given, **named):
        brokers_read.append(given)
        return plain[0](*given, **named)

    def describe(connection, topics, *names):
        topics_read.extend(topics)
        return plain[1](connection, topics, *names)

    monkeypatch.setattr(AdminConnection, "cluster", cluster)
    monkeypatch.setattr(AdminConnection, "describe", describe)
    await kafka.create_topic(topic)
    async with learning(upstream_of(kafka)) as learned:
        await learned.limits_of(topic)
        for _ in range(30):
            before = len(brokers_read)
            learned.cluster.request_brokers()
            await until(lambda before=before: len(brokers_read) > before)
    assert (
        1 <= topics_read.count(topic) <= 15
    )  # at the start, when it was wanted, and as an example of brokers
