"""Compressed batches that stay unread, before a real broker: it reads every record, and has the last word."""

import time

import pytest

from tests.e2e.test_policy import proxy_of
from tests.kit.client import connect
from tests.proxy.running import series
from tests.session.messages import produce
from tests.wire.batches import LZ4, batch
from tsproxy.fastpath.adaptive import ONE_READ_OF, TRUSTED_AFTER
from tsproxy.model.kafka import ErrorCode
from tsproxy.wire import k00_produce

DAY_MS = 86_400_000
VERSION = 9

pytestmark = pytest.mark.broker


async def sent(client, topic, *offsets_ms):
    """The broker's answer for a batch with these times, counted from now."""
    now_ms = time.time_ns() // 1_000_000
    asked = {topic: {0: batch([now_ms + each for each in offsets_ms], LZ4)}}
    answer = await client.frame(produce(asked, version=VERSION))
    return k00_produce.read_response(VERSION, answer[5:]).topics[0].partitions[0]


async def test_a_hidden_old_record_is_rejected_by_proxy_or_broker_and_never_stored(
    kafka_440, topic, tmp_path
):
    await kafka_440.create_topic(topic, config={"message.timestamp.before.max.ms": str(DAY_MS)})
    good, hidden = TRUSTED_AFTER + ONE_READ_OF, 20
    async with proxy_of("Compressed batches", kafka_440, tmp_path) as proxy:
        async with await connect(proxy.bootstrap_servers) as client:
            for _ in range(good):
                assert (await sent(client, topic, 0, 1)).error_code == ErrorCode.NONE
            rejected = [await sent(client, topic, 0, -3 * DAY_MS, 1) for _ in range(hidden)]
            last = await sent(client, topic, 0)
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
