"""A whole proxy by a clock that is wrong, and then right, before a real broker."""

import asyncio
import time
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from tests.attacks.kept import proxy_in_this_process
from tests.e2e.test_policy import BAD, HOUR_MS, OK, sent
from tests.full_only import variations
from tests.kit.clocks import MovedClock
from tests.kit.tasks import beside
from tests.kit.topics import records_of
from tests.proxy.clock_check.test_doubts import committing
from tests.proxy.clock_check.test_offsets import APPEND_TIME
from tests.proxy.decision_log.logs import lines
from tests.proxy.running import FAKETIME, events, faked_by, page, series
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.testing.proxy import RunningProxy

CONFIG = """\
upstream: {{ bootstrap_servers: ['{servers}'] }}
listeners: [{{ bind: 127.0.0.1:0 }}]
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
    clock = MovedClock(by_ms=-HOUR_MS)
    text = CONFIG.format(servers=kafka_440.bootstrap_servers, folder=tmp_path, probe=probe)
    async with proxy_in_this_process(text, clock=clock) as proxy, asyncio.timeout(60):
        client = SimpleNamespace(bootstrap_servers=str(proxy._listeners[0].address))
        admin = SimpleNamespace(admin_address=proxy._admin_address)

        async def answered(ahead_ms, code):
            while (await sent(client, topic, Clock().now_ms() + ahead_ms))[0] != code:
                pass

        await answered(0, OK)
        assert "<li>nothing is enforced: this proxy" in (await page(admin.admin_address, "/"))[1]
        assert (await page(admin.admin_address, "/readyz"))[0] == 200
        shown = await series(admin)
        assert shown["tsproxy_enforcement_suspended"] == 1
        assert -3_700 < shown['tsproxy_clock_offset_seconds{broker="1"}'] < -3_500
        clock.by_ms = 0
        await answered(HOUR_MS // 2, BAD)
        assert (await series(admin))["tsproxy_clock_steps_total"] == 1
        await answered(0, OK)
    told = [line["facts"] for line in lines(tmp_path) if line.get("kind") == "clock"]
    assert [facts["what"] for facts in told] == ["beyond", "stepped", "within"]
    assert [told[0]["enforced"], told[2]["enforced"]] == [False, True]


STEPPING = """\
upstream: {{ bootstrap_servers: ['{servers}'] }}
listeners: [{{ bind: 127.0.0.1:0 }}]
decisions: {{ directory: '{folder}/decisions', retention: {{ age: 7d }} }}
policy:
  limits_from: config
  defaults: {{ message.timestamp.before.max.ms: 1h, message.timestamp.after.max.ms: 1h }}
  rules: [{{ name: stamps, match: {{ topics: ['{topic}-stamped'] }}, on_violation: stamp }}]
"""
CALM_AFTER_S = 3.0
"""From when on no good record may be rejected after a step of the clock."""
needs_faketime = pytest.mark.skipif(not FAKETIME.exists(), reason=f"needs {FAKETIME}")


class Stepping:
    """A process of the proxy, whose clock `step` sets, and the answers to good records for two topics."""

    def __init__(self, proxy, clock, topic):
        self.proxy, self._clock, self._topic = proxy, clock, topic
        self.stepped_s, self.answers, self.sent_ms = 0.0, [], []

    def step(self, by_s):
        self._clock.write_text(f"{by_s:+}\n")
        self.stepped_s = time.monotonic()

    async def send_for(self, seconds):
        ends_s = time.monotonic() + seconds
        while time.monotonic() < ends_s:
            began_s, now_ms = time.monotonic() - self.stepped_s, Clock().now_ms()
            code, _ = await sent(self.proxy, self._topic, now_ms)
            self.answers.append((began_s, code))
            code, _ = await sent(self.proxy, f"{self._topic}-stamped", now_ms)
            self.answers.append((began_s, code))
            self.sent_ms.append((began_s, now_ms))

    def rejected(self, from_s):
        return [(began_s, code) for began_s, code in self.answers if began_s >= from_s and code != OK]


@asynccontextmanager
async def stepping(kafka, topic, folder, begins="+0"):
    for name in (topic, f"{topic}-stamped", f"{topic}-committed"):
        await kafka.create_topic(name)
    clock, file = folder / "clock", folder / "tsproxy.yaml"
    clock.write_text(f"{begins}\n")
    file.write_text(STEPPING.format(servers=kafka.bootstrap_servers, topic=topic, folder=folder))
    async with (
        beside(committing(kafka, f"{topic}-committed")),
        RunningProxy(config=file, environment=faked_by(clock)) as proxy,
    ):
        yield Stepping(proxy, clock, topic)


@needs_faketime
@pytest.mark.parametrize(
    "by_s",
    variations("test_doubts.py has steps to either side", [-7_200, 20 * 86_400], but=[-7_200]),
)
async def test_a_step_rejects_and_stamps_no_good_record_after_three_seconds(kafka_440, topic, tmp_path, by_s):
    """With the defaults, 44,354 good records were rejected: all, while the clock was wrong."""
    async with stepping(kafka_440, topic, tmp_path) as stepped:

        async def is_compared():
            return any(
                name.startswith("tsproxy_clock_offset_seconds") for name in await series(stepped.proxy)
            )

        await until(is_compared, "the clock has been compared with the brokers'")
        stepped.step(by_s)
        await stepped.send_for(8)
        assert [answer for answer in stepped.answers if answer[0] >= CALM_AFTER_S]
        assert stepped.rejected(CALM_AFTER_S) == []
        stored = {record.timestamp for record in await records_of(kafka_440, f"{topic}-stamped")}
        assert [one for one in stepped.sent_ms if one[0] >= CALM_AFTER_S and one[1] not in stored] == []
        assert (await series(stepped.proxy))["tsproxy_enforcement_suspended"] == 1
        stepped.step(0)
        await until(lambda: "clock_offset_within" in events(stepped.proxy))
        assert (await sent(stepped.proxy, topic, Clock().now_ms() + 2 * HOUR_MS))[0] == BAD
        assert (await sent(stepped.proxy, topic, Clock().now_ms()))[0] == OK


@needs_faketime
async def test_a_proxy_that_begins_20_days_ahead_deletes_no_decision_file(kafka_440, topic, tmp_path):
    """It sees no step. It deleted the whole log while it tidied the folder for the first time."""
    old = tmp_path / "decisions" / "decisions-20261120T100000Z-proxy-1-0001.jsonl"
    old.parent.mkdir()
    old.write_text("{}\n")
    async with stepping(kafka_440, topic, tmp_path, begins="+20d") as began:
        await until(lambda: "clock_offset_beyond" in events(began.proxy))
    assert old.exists()
    assert "decision_files_deleted" not in events(began.proxy)
