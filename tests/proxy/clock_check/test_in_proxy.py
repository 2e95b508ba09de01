"""A whole proxy by a clock that is wrong, and then right, before a real broker."""

import asyncio
from types import SimpleNamespace

from tests.config.files import config_of
from tests.e2e.test_policy import BAD, HOUR_MS, OK, sent
from tests.proxy.clock_check.test_offsets import APPEND_TIME, Skewed
from tests.proxy.decision_log.logs import lines
from tests.proxy.running import page, series
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.proxy.server import Proxy

CONFIG = """\
upstream: {{ bootstrap_servers: ['{servers}'] }}
listeners: [{{ bind: 127.0.0.1:0 }}]
admin: {{ bind: 127.0.0.1:0 }}
policy: {{ limits_from: config, defaults: {{ message.timestamp.after.max.ms: 10m }} }}
decisions: {{ directory: '{folder}' }}
clock: {{ max_offset: 2s, when_beyond: audit, probe: {{ topic: '{probe}', every: 100ms }} }}
"""


async def test_good_records_pass_by_a_wrong_clock_and_bad_ones_are_rejected_by_a_right_one(
    kafka_440, topic, tmp_path
):
    """An hour behind, it would take every record for one from the future."""
    probe = f"{topic}.probe"
    await kafka_440.create_topic(topic)
    await kafka_440.create_topic(probe, config=APPEND_TIME)
    clock, announced = Skewed(by_ms=-HOUR_MS), {}
    config = config_of(CONFIG.format(servers=kafka_440.bootstrap_servers, folder=tmp_path, probe=probe))
    proxy = Proxy(config, clock, announced.__setitem__)
    running = asyncio.create_task(proxy.run())
    await until(lambda: "started" in announced)
    client = SimpleNamespace(bootstrap_servers=announced["started"]["listeners"]["default"])
    admin = announced["started"]["admin"]

    async def answered(ahead_ms, code):
        while (await sent(client, topic, Clock().now_ms() + ahead_ms))[0] != code:
            pass

    async with asyncio.timeout(60):
        await answered(0, OK)
        assert "<li>nothing is enforced: this proxy" in (await page(admin, "/"))[1]
        assert (await page(admin, "/readyz"))[0] == 200
        clock.by_ms = 0
        await answered(HOUR_MS // 2, BAD)
        assert (await series(SimpleNamespace(admin_address=admin)))["tsproxy_clock_steps_total"] == 1
        await answered(0, OK)
        proxy.stop()
        await running
    told = [line["facts"]["what"] for line in lines(tmp_path) if line.get("kind") == "clock"]
    assert told == ["beyond", "stepped", "within"]
