"""A waiver's end before a real broker: nobody reloads or connects anew, and not one batch too many passes."""

import asyncio
from contextlib import asynccontextmanager
from types import SimpleNamespace

import structlog

from tests.config.files import config_of
from tests.e2e.test_policy import BAD, DAY_MS, HOUR_MS, OK, VERSION
from tests.proxy.clock_check.test_offsets import Skewed
from tests.proxy.decision_log.logs import lines
from tests.proxy.running import page
from tests.proxy.world import PATIENCE_S, until
from tests.session.messages import produce
from tests.wire.batches import batch
from tsproxy.clock import Clock
from tsproxy.config.values import instant_text
from tsproxy.proxy.server import Proxy
from tsproxy.wire import k00_produce

CONFIG = """\
upstream: {{ bootstrap_servers: ['{servers}'] }}
listeners: [{{ bind: 127.0.0.1:0 }}]
admin: {{ bind: 127.0.0.1:0 }}
decisions: {{ directory: '{folder}' }}
policy:
  limits_from: config
  defaults: {{ message.timestamp.before.max.ms: 1d, message.timestamp.after.max.ms: unlimited }}
  waivers:
    - name: backfill
      match: {{ client_ids: [etl] }}
      until: '{end}'
      owner: data-platform
      reason: OPS-123
"""
SERIES = 'tsproxy_waiver_expiry_seconds{waiver="backfill"} '
PIPELINED = 40


@asynccontextmanager
async def proxy_by(clock, kafka, folder, end_ms):
    """A whole proxy in this process, by a clock that the test moves: where it is, and its log."""
    announced = {}
    config = config_of(
        CONFIG.format(servers=kafka.bootstrap_servers, folder=folder, end=instant_text(end_ms))
    )
    with structlog.testing.capture_logs() as log:
        proxy = Proxy(config, clock, announced.__setitem__)
        running = asyncio.create_task(proxy.run())
        try:
            await until(lambda: "started" in announced)
            said = announced["started"]
            yield SimpleNamespace(listener=said["listeners"]["default"], admin=said["admin"], log=log)
        finally:
            proxy.stop()
            await running


class Producer:
    """One connection that sends before it is answered; all answers in their order, with the times sent."""

    def __init__(self, reader, writer, topic, client_id):
        self._reader, self._writer, self._topic, self._client_id = reader, writer, topic, client_id
        self.codes = []

    def send(self, *timestamps_ms):
        records = batch(timestamps_ms)
        self._writer.write(produce({self._topic: {0: records}}, version=VERSION, client_id=self._client_id))

    async def answer(self):
        async with asyncio.timeout(PATIENCE_S):
            size = int.from_bytes(await self._reader.readexactly(4), "big")
            frame = await self._reader.readexactly(size)
        [said] = k00_produce.read_response(VERSION, frame[4:]).topics[0].partitions
        self.codes.append(said.error_code)
        return said.error_code


@asynccontextmanager
async def producer(proxy, topic, client_id):
    host, _, port = proxy.listener.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield Producer(reader, writer, topic, client_id)
    finally:
        writer.close()


async def test_what_a_waiver_lets_pass_is_rejected_from_its_end_on(kafka_391, topic, tmp_path):
    """On the same connection, with requests in flight, and although the fast path has forwarded good ones."""
    await kafka_391.create_topic(topic)
    clock = Skewed()
    end_ms = Clock().now_ms() + 8 * DAY_MS
    async with (
        proxy_by(clock, kafka_391, tmp_path, end_ms) as proxy,
        producer(proxy, topic, "etl") as waived,
        producer(proxy, topic, "app") as other,
    ):

        def told(event):
            return [line for line in proxy.log if line["event"] == event]

        async def left_s():
            text = (await page(proxy.admin, "/metrics"))[1]
            return float(
                next(line for line in text.splitlines() if line.startswith(SERIES)).rpartition(" ")[2]
            )

        # Good ones show the fast path what it may forward; the other one needs the waiver.
        for _ in range(3):
            waived.send(clock.now_ms())
            waived.send(clock.now_ms() - 2 * DAY_MS)
            assert (await waived.answer(), await waived.answer()) == (OK, OK)
        other.send(clock.now_ms() - 2 * DAY_MS)
        assert await other.answer() == BAD
        assert told("waiver_ends_soon") == []

        clock.by_ms = 2 * DAY_MS
        await until(lambda: told("waiver_ends_soon"))
        assert told("waiver_ends_soon")[0]["owner"] == "data-platform"
        assert 5 * DAY_MS < 1000 * await left_s() < 6 * DAY_MS

        # Requests are on their way while it ends: those behind the first rejection are rejected as well.
        for _ in range(PIPELINED):
            waived.send(clock.now_ms() - 2 * DAY_MS)
            waived.send(clock.now_ms())
        assert await waived.answer() == OK
        clock.by_ms = 8 * DAY_MS + HOUR_MS
        for _ in range(PIPELINED):
            waived.send(clock.now_ms() - 2 * DAY_MS)
            waived.send(clock.now_ms())
        for _ in range(4 * PIPELINED - 1):
            await waived.answer()
        old, good = waived.codes[6::2], waived.codes[7::2]
        assert good == [OK] * 2 * PIPELINED
        assert old == sorted(old)  # OK is 0: once rejected, never again let pass
        assert old[PIPELINED:] == [BAD] * PIPELINED

        await until(lambda: told("waiver_ended"))
        assert -2 * HOUR_MS < 1000 * await left_s() < 0
        _, shown = await page(proxy.admin, "/config")
        assert instant_text(end_ms) in shown
        assert len(told("waiver_ended")) == 1

    stored = (await kafka_391.end_offsets(topic))[0]
    passed = old.count(OK) + 3
    assert stored == passed + 3 + 2 * PIPELINED
    counted = [line for line in lines(tmp_path) if line["event"] == "counters"]
    by_waiver = [line for line in counted if line.get("waiver") == "backfill"]
    assert sum(line["batches"] for line in by_waiver) == passed
    assert {(line["verdict"], line["would_reject"]) for line in by_waiver} == {("accepted", True)}
    rejected = [line for line in counted if line["verdict"] == "rejected" and line["client_id"] == "etl"]
    assert sum(line["batches"] for line in rejected) == old.count(BAD)
    assert not [line for line in rejected if "waiver" in line]
