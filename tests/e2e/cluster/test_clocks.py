"""The proxy's clock beside those of several brokers."""

from aiokafka import AIOKafkaProducer

from tsproxy.clock import Clock
from tsproxy.proxy.clock_check.probe import measure


class FiveSecondsAhead(Clock):
    def now_ms(self):
        return super().now_ms() + 5_000


async def test_each_broker_that_leads_a_partition_is_measured(three_brokers, topic):
    await three_brokers.create_topic(topic, partitions=6, config={"message.timestamp.type": "LogAppendTime"})
    async with AIOKafkaProducer(bootstrap_servers=three_brokers.bootstrap_servers, acks=1) as producer:
        offsets = await measure(producer, topic, FiveSecondsAhead())
    assert sorted(offsets) == [1, 2, 3]
    for offset in offsets.values():
        assert abs(offset.ms - 5_000) <= offset.error_ms + 1
