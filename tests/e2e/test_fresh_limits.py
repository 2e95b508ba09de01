"""A good record is not rejected by limits that are no more: within a second of any change, or at once."""

import asyncio
import time
from dataclasses import replace

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import InvalidTimestampError

from tests.e2e.test_policy import proxy_by
from tests.full_only import variations
from tests.kit.client import connect as connect_raw
from tests.kit.tasks import beside
from tests.proxy.running import TWO
from tests.proxy.world import until
from tests.session.messages import produce
from tests.wire.batches import batch
from tsproxy.model.kafka import ErrorCode
from tsproxy.testing.admin import connect
from tsproxy.testing.client_options import ClientOptions
from tsproxy.testing.proxy import RunningProxy
from tsproxy.wire.k00_produce import read_response

pytestmark = pytest.mark.broker

BEFORE = "message.timestamp.before.max.ms"
HOUR_MS = 3_600_000
NONE, INVALID_TIMESTAMP = ErrorCode.NONE, ErrorCode.INVALID_TIMESTAMP
NARROW = {BEFORE: str(HOUR_MS)}
FRESH_S = 1.0


class Probe:
    """A producer at one proxy. `seen` are its records: (when it was sent, whether it was accepted)."""

    def __init__(self, proxy, topic, options=None):
        here = replace(options or ClientOptions(""), bootstrap_servers=proxy.bootstrap_servers)
        self._producer = AIOKafkaProducer(**here.aiokafka())
        self._topic = topic
        self.seen = []

    async def __aenter__(self):
        await self._producer.start()
        return self

    async def __aexit__(self, *_):
        await self._producer.stop()

    async def accepts(self, hours=2):
        """Whether a record of that age is accepted."""
        began_s, is_accepted = time.monotonic(), True
        age_ms = hours * HOUR_MS
        try:
            await self._producer.send_and_wait(
                self._topic, b"x", timestamp_ms=int(time.time() * 1000) - age_ms
            )
        except InvalidTimestampError:
            is_accepted = False
        self.seen.append((began_s, is_accepted))
        return is_accepted

    async def keep_sending(self):
        while True:
            await self.accepts()
            await asyncio.sleep(0.01)


def sending(*probes):
    return beside(*(probe.keep_sending() for probe in probes))


async def widened(kafka, _, topic):
    await kafka.alter_topic(topic, {BEFORE: str(10 * HOUR_MS)})


async def widened_by_default(kafka, _, topic):
    await kafka.alter_topic(topic, {BEFORE: None})


async def stamped(kafka, _, topic):
    await kafka.alter_topic(topic, {"message.timestamp.type": "LogAppendTime"})


async def made_anew(kafka, _, topic):
    await kafka.delete_topic(topic)
    await kafka.create_topic(topic)


async def widened_through_the_proxy(kafka, proxy, topic):
    host, _, port = proxy.bootstrap_servers.rpartition(":")
    async with connect(host, int(port)) as admin:
        await admin.alter_topic(topic, {BEFORE: str(10 * HOUR_MS)})
    await until(lambda: is_set(kafka, topic))


async def is_set(kafka, topic):
    return (await kafka.topic_config(topic))[BEFORE] == str(10 * HOUR_MS)


CHANGES = [widened, widened_by_default, stamped, made_anew, widened_through_the_proxy]
ANOTHER_CHANGE = "another change, which the proxy learns of in the same way: by what it rejects"


@pytest.mark.parametrize("change", variations(ANOTHER_CHANGE, CHANGES, but=[widened, made_anew]))
async def test_no_record_is_rejected_by_old_limits_from_a_second_after_a_change_on(
    kafka, topic, change, tmp_path
):
    """Two proxies: the change passes through one of them at most, and through one of its workers. The other
    has a preset for the topic's own limits."""
    await kafka.create_topic(topic, config=NARROW)
    async with (
        RunningProxy(kafka.bootstrap_servers, arguments=TWO) as one,
        proxy_by("policy: { rules: [{ name: ours, preset: kafka-4 }] }", kafka, tmp_path) as other,
        Probe(one, topic) as first,
        Probe(one, topic) as second,
        Probe(other, topic) as third,
    ):
        probes = first, second, third
        async with sending(*probes):
            await until(lambda: all(len(probe.seen) > 20 for probe in probes))
            await change(kafka, one, topic)
            changed_s = time.monotonic()
            await asyncio.sleep(FRESH_S + 1)

    for probe in probes:
        assert not any(accepted for began_s, accepted in probe.seen[:20])
        late = [accepted for began_s, accepted in probe.seen if began_s >= changed_s + FRESH_S]
        assert len(late) > 5
        assert all(late)
    if change is widened:
        [told] = [line for line in other.log if line["event"] == "topic_limits_changed"]
        assert told["topic"] == topic
        assert (told["old"], told["new"], told["learnt_by"]) == ({BEFORE: "1h"}, {BEFORE: "10h"}, "rejection")


async def test_a_preset_holds_for_sixty_new_topics_and_for_one_that_was_named_before_it_existed(
    kafka_391, topic, tmp_path
):
    """The broker stores any time ahead. A topic whose own limit is wider is served by it."""
    new, wide = [f"{topic}-{number}" for number in range(60)], f"{topic}-wide"
    policy = "policy: { rules: [{ name: ours, preset: kafka-4 }] }"
    async with proxy_by(policy, kafka_391, tmp_path) as proxy:
        for each in new:
            await kafka_391.create_topic(each)
        await kafka_391.create_topic(wide, config={"message.timestamp.after.max.ms": str(48 * HOUR_MS)})
        async with await connect_raw(proxy.bootstrap_servers) as client:

            async def codes(*topics):
                ahead = batch([int(time.time() * 1000) + 24 * HOUR_MS])
                answer = await client.frame(produce({each: {0: ahead} for each in topics}, version=8))
                return [each.partitions[0].error_code for each in read_response(8, answer[4:]).topics]

            assert await codes(*new) == [INVALID_TIMESTAMP] * 60
            assert await codes(wide) == [NONE]
            assert await codes(topic) == [INVALID_TIMESTAMP]
            await kafka_391.create_topic(topic)
            assert await codes(topic) == [INVALID_TIMESTAMP]
        for each in (*new, topic):
            assert sum((await kafka_391.end_offsets(each)).values()) == 0
