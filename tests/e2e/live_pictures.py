"""The pictures of the live page: `python -m tests.e2e.live_pictures docs/guide`.

A real broker, a proxy in front of it, three good producers, and two that send bad timestamps.
"""

import asyncio
import sys
from asyncio.subprocess import DEVNULL
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from tests.e2e.test_policy import now_ms
from tests.spark_reports.browser import chromium
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

_WEEK = {"message.timestamp.before.max.ms": "604800000"}
_TRAFFIC_S = 20
_PICTURES = {
    "live-1280.png": ("--window-size=1280,450",),
    "live-400-dark.png": ("--window-size=400,990", "--blink-settings=preferredColorScheme=0"),
}


PRODUCERS = (
    # client id, topic, timestamp, pause in seconds, records each time
    ("checkout", "orders", now_ms, 0.05, 20),
    ("web-clicks", "clicks", lambda: now_ms() - 20 * 60_000, 0.05, 40),
    ("payments-gateway", "payments", now_ms, 0.1, 5),
    ("loyalty-import", "orders", lambda: now_ms() // 1000, 0.2, 3),
    ("mobile-sdk", "clicks", lambda: now_ms() + 3 * 3_600_000, 1, 2),
)


async def send(servers, client_id, topic, timestamp, pause_s, records):
    async with AIOKafkaProducer(bootstrap_servers=servers, client_id=client_id, linger_ms=5) as producer:
        while True:
            sent = [await producer.send(topic, b"x" * 200, timestamp_ms=timestamp()) for _ in range(records)]
            for each in sent:
                with suppress(KafkaError):  # the two bad ones are rejected
                    await each
            await asyncio.sleep(pause_s)


async def take(url, path, options):
    with TemporaryDirectory() as profile:
        process = await asyncio.create_subprocess_exec(
            *(chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            *("--hide-scrollbars", f"--user-data-dir={profile}", "--virtual-time-budget=9000", *options),
            *(f"--screenshot={path}", url),
            stdout=DEVNULL,
            stderr=DEVNULL,
        )
        assert await process.wait() == 0


async def main(folder):
    async with AsyncExitStack() as stack:
        kafka = await stack.enter_async_context(KafkaCluster())
        for topic in ("orders", "payments", "clicks"):
            await kafka.create_topic(topic, partitions=3, config=_WEEK)
        proxy = await stack.enter_async_context(RunningProxy(kafka.bootstrap_servers))
        async with asyncio.TaskGroup() as group:
            sending = [group.create_task(send(proxy.bootstrap_servers, *each)) for each in PRODUCERS]
            await asyncio.sleep(_TRAFFIC_S)  # traffic of some seconds is what the picture is of
            for name, options in _PICTURES.items():
                await take(f"http://{proxy.admin_address}/", (folder / name).resolve(), options)
            for each in sending:
                each.cancel()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
