"""Compressed batches that stay unread, before a real broker: it reads every record, and has the last word."""

import asyncio
import time

import pytest

from tests.attacks.attacker import HOST, PATIENCE_S, port_of
from tests.e2e.test_policy import proxy_of
from tests.proxy.running import series
from tests.session.messages import produce
from tests.wire.batches import LZ4, batch
from tsproxy.fastpath.adaptive import ONE_READ_OF, TRUSTED_AFTER
from tsproxy.model.kafka import ErrorCode
from tsproxy.wire import k00_produce

DAY_MS = 86_400_000
VERSION = 9

pytestmark = pytest.mark.broker


class Connection:
    """One connection of a producer. Each batch is answered before the next one is sent."""

    def __init__(self, reader, writer, topic):
        self._reader, self._writer, self._topic = reader, writer, topic
        self._sent = 0

    async def sends(self, *offsets_ms):
        """The broker's answer for a batch with these times, counted from now."""
        now_ms, self._sent = time.time_ns() // 1_000_000, self._sent + 1
        asked = {self._topic: {0: batch([now_ms + each for each in offsets_ms], LZ4)}}
        self._writer.write(produce(asked, version=VERSION, correlation_id=self._sent))
        async with asyncio.timeout(PATIENCE_S):
            size = int.from_bytes(await self._reader.readexactly(4), "big")
            answer = memoryview(await self._reader.readexactly(size))
        response = k00_produce.read_response(VERSION, answer[5:])
        return response.topics[0].partitions[0]


async def test_a_hidden_old_record_is_rejected_by_proxy_or_broker_and_never_stored(
    kafka_440, topic, tmp_path
):
    await kafka_440.create_topic(topic, config={"message.timestamp.before.max.ms": str(DAY_MS)})
    good, hidden = TRUSTED_AFTER + ONE_READ_OF, 20
    async with proxy_of("Compressed batches", kafka_440, tmp_path) as proxy:
        reader, writer = await asyncio.open_connection(HOST, port_of(proxy))
        producer = Connection(reader, writer, topic)
        for _ in range(good):
            assert (await producer.sends(0, 1)).error_code == ErrorCode.NONE
        rejected = [await producer.sends(0, -3 * DAY_MS, 1) for _ in range(hidden)]
        last = await producer.sends(0)
        writer.close()
        counted = (await series(proxy))['tsproxy_records_unread_total{listener="default"}']

    for answered in rejected:
        assert answered.error_code == ErrorCode.INVALID_TIMESTAMP
        assert [error.batch_index for error in answered.record_errors] == [1]
    assert last.base_offset == 2 * good  # nothing of the rejected batches is stored
    counters = [line for line in proxy.decisions() if line["event"] == "counters"]
    by_verdict = dict.fromkeys(("accepted", "rejected", "broker_rejected"), 0)
    for line in counters:
        by_verdict[line["verdict"]] += line["batches"]
        assert line["verdict"] == "accepted" or line["reason"] == "too_old"
        if line["verdict"] == "broker_rejected":
            assert line["records_unread"] == line["records"] == 3
    assert by_verdict["accepted"] == good + 1
    assert by_verdict["rejected"] + by_verdict["broker_rejected"] == hidden
    assert by_verdict["broker_rejected"] <= 1  # from then on every batch is read
    unread = sum(line.get("records_unread", 0) for line in counters if line["verdict"] == "accepted")
    assert unread < 2 * ONE_READ_OF
    assert unread
    assert counted == sum(line.get("records_unread", 0) for line in counters)
