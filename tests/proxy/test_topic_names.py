"""The names of topic ids, read from a real broker on the proxy's own connection."""

from rigs.differential.run import id_of
from tests.proxy.test_cluster import ADDRESS, learning, upstream_of
from tests.proxy.world import until
from tsproxy.proxy.brokers import topic_ids as module
from tsproxy.proxy.brokers.wanted import MAX_OF_ADDRESS, PAUSES_MS

HOUR_MS = 3_600_000
AFTER = "message.timestamp.after.max.ms"


async def test_a_name_comes_with_the_topics_limits(kafka, topic):
    """Otherwise the first batches would be judged by none."""
    async with learning(upstream_of(kafka)) as learned:
        await until(lambda: learned.logged)
        await kafka.create_topic(topic, config={AFTER: str(HOUR_MS)})
        topic_id = id_of(kafka, topic)
        learned.cluster.want_topic(topic_id, ADDRESS)
        await until(lambda: topic_id in learned.facts.topic_names)

        named = [facts for facts in learned.logged if topic_id in facts.topic_names]
        assert all(facts.topics[topic].after_max_ms == HOUR_MS for facts in named)
        assert learned.facts.topic_names[topic_id] == topic
        assert learned.facts.topics[topic].after_max_ms == HOUR_MS


async def test_where_no_limits_are_read_names_are(kafka, topic):
    async with learning(upstream_of(kafka), reads_limits=False) as learned:
        await until(lambda: learned.logged)
        await kafka.create_topic(topic)
        topic_id = id_of(kafka, topic)
        learned.cluster.want_topic(topic_id, ADDRESS)
        learned.cluster.want_topic(topic, ADDRESS)
        assert not learned.cluster._wanted
        await until(lambda: learned.facts.topic_names.get(topic_id) == topic)
        assert learned.facts.topics == {}
        assert learned.facts.reads_limits  # a reload may ask for them at any time


async def test_names_and_limits_of_topics_are_known_before_the_first_client_is_served(kafka, topic):
    await kafka.create_topic(topic, config={AFTER: str(HOUR_MS)})
    topic_id = id_of(kafka, topic)
    async with learning(upstream_of(kafka)) as learned:
        await until(lambda: learned.logged)
        assert learned.logged[0].topic_names[topic_id] == topic
        assert learned.logged[0].topics[topic].after_max_ms == HOUR_MS
        assert learned.logged[0].may_describe
        assert learned.logged[0].reads_limits


async def test_ids_that_no_topic_has_cause_a_few_questions_whoever_invents_them(kafka, monkeypatch):
    asked = []

    async def counted(connection, ids):
        asked.append(tuple(ids))
        return await real(connection, ids)

    real = module.topic_names
    monkeypatch.setattr(module, "topic_names", counted)
    ids = [number.to_bytes(16, "big") for number in range(1, 500)]
    async with learning(upstream_of(kafka)) as learned:
        await until(lambda: learned.logged)
        for topic_id in ids:
            learned.cluster.want_topic(topic_id, ADDRESS)
        await until(lambda: learned.cluster._topic_ids.due_ms is None)
    assert sorted({each for group in asked for each in group}) == ids[:MAX_OF_ADDRESS]
    assert len(asked) == 1 + len(PAUSES_MS)
