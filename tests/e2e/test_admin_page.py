"""The page for people in a real browser: it names who sends bad timestamps, and no name gets out of it."""

import asyncio
import json
import shutil

import pytest
from aiokafka import AIOKafkaProducer
from prometheus_client.parser import text_string_to_metric_families

from tests.attacks.attacker import answer_to, far_ahead, metric, produce
from tests.kit.tasks import beside
from tests.proxy.running import page
from tests.proxy.test_admin_pages import OneProxy, Tags, report_of
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.model.addresses import Address
from tsproxy.proxy.admin.http import AdminHttp
from tsproxy.proxy.admin.pages import pages
from tsproxy.testing.proxy import RunningProxy

CHROMIUM = shutil.which("chromium")
REJECTED = 'tsproxy_batches_total{listener="default",reason="too_far_ahead",verdict="rejected"}'
HOSTILE = [b"<script>document.title='caught'</script>", b"\xff\xfe\x00\x1b[31m\n", b"c" * 32767]


async def as_chromium_shows_it(address, folder):
    """The document after some of its own time has passed, as Chromium has it then."""
    process = await asyncio.create_subprocess_exec(
        CHROMIUM,
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *(f"--user-data-dir={folder}", "--virtual-time-budget=9000", "--dump-dom"),
        f"http://{address}/",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    text, _ = await process.communicate()
    return text.decode()


needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (apt-get install chromium)")


@needs_chromium
async def test_the_script_runs_under_the_policy_of_the_page_and_shows_the_next_state(tmp_path):
    class NotReadyAtFirst(OneProxy):
        async def report(self):
            await super().report()
            return report_of(not_ready=["no broker"] if self.reports == 1 else ())

    proxy = NotReadyAtFirst(report_of())
    server = AdminHttp(pages(proxy))
    shown = await as_chromium_shows_it(server.start(Address("127.0.0.1", 0)), tmp_path)
    server.stop()
    assert proxy.reports > 1
    assert "Clients are served" in shown
    assert "Clients cannot be served" not in shown


@needs_chromium
async def test_the_page_lives_in_a_browser_and_shows_who_sends_bad_times(kafka_440, topic, tmp_path):
    await kafka_440.create_topic(topic)
    async with RunningProxy(kafka_440.bootstrap_servers, arguments=["--workers", "2"]) as proxy:
        port = proxy.facts["brokers"]["default"]["1"]

        async def all_are_rejected_here():
            for client_id in HOSTILE:
                await answer_to(port, produce(topic.encode(), far_ahead(Clock()), client_id=client_id))
            return await metric(proxy, REJECTED) >= 10 * len(HOSTILE)

        await until(all_are_rejected_here, "both workers know the limits")

        async def produces():
            async with AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer:
                while True:
                    await producer.send_and_wait(topic, b"x")

        async with beside(produces()):
            shown = await as_chromium_shows_it(proxy.admin_address, tmp_path)
        document = Tags()
        document.feed(shown)
        assert "Clients are served, 3 producers sent bad timestamps in the last 5 minutes" in document.text
        assert "2 workers" in document.text
        for client_id in HOSTILE[:1]:
            assert client_id.decode() in document.text
        assert "<title>tsproxy</title>" in shown
        assert document.tags.count("script") == 1
        assert 'class="lost"' not in shown
        status, top = await page(proxy.admin_address, "/decisions/top")
        assert status == 200
        assert {row["topic"] for row in json.loads(top)["offenders"]} == {topic}
        _, metrics = await page(proxy.admin_address, "/metrics")
        series = [s for family in text_string_to_metric_families(metrics) for s in family.samples]
        assert {s.labels["topic"] for s in series if "topic" in s.labels} == {topic, "other"}
        assert all(len(value) < 250 for s in series for value in s.labels.values())
