"""Produce 13 before a real broker: Kafka's own producer names topics by id (KIP-516)."""

import pytest

from deploy.demo.java_producer import Acknowledged, JavaProducer, JavaRecord, Rejected
from rigs.differential.run import id_of
from tests.attacks.attacker import answer_to, port_of
from tests.e2e.test_policy import now_ms
from tests.proxy.running import file_for
from tests.session.conversation import id_of as session_id_of
from tests.session.messages import produce
from tests.wire.batches import batch
from tsproxy.testing.proxy import RunningProxy

HOUR_MS = 3_600_000
AFTER = "message.timestamp.after.max.ms"

pytestmark = pytest.mark.broker


async def sent(bootstrap_servers, *records):
    """One batch each."""
    async with JavaProducer({"bootstrap.servers": bootstrap_servers}) as producer:
        return [(await producer.send_all([record]))[0] for record in records]


def counted(proxy):
    return [line for line in proxy.decisions() if line["event"] in ("counters", "decision")]


async def test_the_newest_client_uses_it_and_everything_names_the_topic(kafka_440, topic):
    await kafka_440.create_topic(topic, config={AFTER: str(HOUR_MS)})
    good, ahead = (
        JavaRecord(topic, b"v", timestamp_ms=now_ms()),
        JavaRecord(topic, b"v", timestamp_ms=now_ms() * 1000),
    )
    async with RunningProxy(kafka_440.bootstrap_servers) as proxy:
        through = await sent(proxy.bootstrap_servers, good, ahead, good)
    direct = await sent(kafka_440.bootstrap_servers, ahead)

    assert [type(each) for each in through] == [Acknowledged, Rejected, Acknowledged]
    assert through[1].exception == direct[0].exception
    lines = counted(proxy)
    assert {line["topic"] for line in lines} == {topic}
    assert {line["api_version"] for line in lines if line["event"] == "decision"} == {13}
    assert sum(line["records"] for line in lines if line["event"] == "counters") == 3


async def test_a_topic_that_is_made_again_gets_its_own_limits(kafka_440, topic):
    """By name the limits are those of the refresh before. By id they are those of the topic that has it."""
    ahead = JavaRecord(topic, b"v", timestamp_ms=now_ms() + 5 * HOUR_MS)
    settings = {"upstream.admin.refresh": "1h"}
    async with RunningProxy(kafka_440.bootstrap_servers, settings=settings) as proxy:
        await kafka_440.create_topic(topic, config={AFTER: str(HOUR_MS)})
        (first,) = await sent(proxy.bootstrap_servers, ahead)
        await kafka_440.delete_topic(topic)
        await kafka_440.create_topic(topic, config={AFTER: str(10 * HOUR_MS)})
        (second,) = await sent(proxy.bootstrap_servers, ahead)

    assert isinstance(first, Rejected)
    assert isinstance(second, Acknowledged)
    assert {line["topic"] for line in counted(proxy)} == {topic}


async def test_an_id_that_no_topic_has_is_answered_as_by_the_broker(kafka_440):
    """UNKNOWN_TOPIC_ID (100), byte for byte."""
    asked = produce({"nobody's topic": {0: batch([now_ms()])}}, version=13)
    direct = await answer_to(int(kafka_440.bootstrap_servers.rpartition(":")[2]), asked)
    async with RunningProxy(kafka_440.bootstrap_servers) as proxy:
        through = await answer_to(port_of(proxy), asked)
    assert through == direct
    assert b"\x00\x64" in through
    (line,) = [line for line in proxy.decisions() if line["event"] == "counters"]
    assert line["topic"].startswith("id:")
    facts = {"verdict": "rejected", "reason": "unknown_topic_id", "error_code": 100, "is_final": False}
    assert line.items() >= facts.items()


async def test_a_forbidden_record_behind_a_thousand_invented_ids_is_not_stored(kafka_440, topic, tmp_path):
    """By name and by id it is rejected. Invented ids, of one client or of another, never change that."""
    rule = f"{{ name: r, match: {{ topics: ['{topic}'] }}, message.timestamp.before.max.ms: 1h }}"
    more = f"policy: {{ limits_from: stricter, rules: [{rule}] }}\n"
    config = file_for(kafka_440, tmp_path, "{ bind: '127.0.0.1:0', brokers: { ports_from: 0 } }", more)
    old = batch([now_ms() - 10 * 24 * HOUR_MS])
    async with RunningProxy(config=config) as proxy:
        await kafka_440.create_topic(topic)
        invented = {f"invented {number}": {0: batch([now_ms()])} for number in range(1_000)}
        asked = produce({**invented, topic: {0: old}}, version=13)
        asked = asked.replace(session_id_of(topic), id_of(kafka_440, topic))
        answer = await answer_to(port_of(proxy), asked)
        assert answer.count(b"\x00\x64" + b"\xff" * 8) == 1_001
        alone = produce({topic: {0: old}}, version=13)
        alone = alone.replace(session_id_of(topic), id_of(kafka_440, topic))
        assert b"\x00\x20" + b"\xff" * 8 in await answer_to(port_of(proxy), alone)
    assert await kafka_440.end_offsets(topic) == {0: 0}
