"""Evidence against the proxy's clock for which nothing is written: kernel, brokers, clients."""

import asyncio
from dataclasses import replace

import pytest
import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition

from tests.config.files import SMALLEST, config_of
from tests.decisions.outcomes import outcome
from tests.proxy.clock_check.test_offsets import Sane, Skewed
from tests.proxy.measured import rendered
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.proxy.brokers.discovery import Cluster
from tsproxy.proxy.clock_check.crowd import FEWEST_CLIENTS, Crowd
from tsproxy.proxy.clock_check.probe import Offset
from tsproxy.proxy.clock_check.system_clock import meaning
from tsproxy.proxy.server import Proxy

HOUR_MS, MINUTE_MS = 3_600_000, 60_000
NOW_MS = 1_800_000_000_000


def logged_by(logs, event="clock_suspected"):
    return [line["by"] for line in logs if line["event"] == event]


# -- The kernel --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "status", "is_synchronised"),
    [(0, 0x2001, True), (1, 0x2001, True), (5, 0x40, False), (0, 0x40, False), (5, 0, False)],
)
def test_the_kernels_word_is_its_state_and_its_status(state, status, is_synchronised):
    """adjtimex(2): TIME_ERROR, STA_UNSYNC."""
    assert meaning(state, status) is is_synchronised


async def test_a_clock_that_nothing_keeps_is_told_once_and_so_is_its_end():
    says = [False]
    sane = Sane(config_of(SMALLEST), Clock(), kernel_is_synchronised=lambda: says[0])
    with structlog.testing.capture_logs() as logs:
        async with sane.running():
            await until(lambda: sane.monitor.warnings())
            sane.monitor._check_kernel()
            assert rendered(sane.metrics)['tsproxy_clock_suspected{by="kernel"}'] == 1
            says[0] = True
            await until(lambda: not sane.monitor.warnings())
    assert logged_by(logs) == ["kernel"]
    assert logged_by(logs, "clock_suspicion_ended") == ["kernel"]
    assert rendered(sane.metrics)['tsproxy_clock_suspected{by="kernel"}'] == 0
    assert sane.suspended == []


# -- Clients -----------------------------------------------------------------------------------------


def crowd_of(drifts_ms):
    crowd = Crowd()
    for number, drift_ms in enumerate(drifts_ms):
        one = outcome(now_ms=NOW_MS)
        batch = replace(one.batch, max_timestamp_ms=NOW_MS + drift_ms)
        crowd.book(replace(one, peer=replace(one.peer, client_id=f"client-{number}"), batch=batch))
    return crowd


def test_clients_that_are_all_off_by_the_same_speak_against_our_clock():
    drifts = [2 * HOUR_MS - 100 * n for n in range(19)] + [0]
    found = crowd_of(drifts).agreement(NOW_MS, 1_000)

    assert (found.clients, found.of) == (19, 20)
    assert abs(found.offset_ms + 2 * HOUR_MS) < MINUTE_MS


@pytest.mark.parametrize(
    "drifts",
    [
        [2 * HOUR_MS] * (FEWEST_CLIENTS - 1),
        [0] * 20,
        [2 * HOUR_MS] * 17 + [0] * 3,
        [n * HOUR_MS for n in range(20)],
        [-4 * MINUTE_MS] * 20,
    ],
    ids=["few", "right", "not nearly all", "by different amounts", "a little late"],
)
def test_others_do_not(drifts):
    assert crowd_of(drifts).agreement(NOW_MS, 1_000) is None


def test_one_client_counts_once_and_what_was_long_ago_not_at_all():
    crowd = Crowd()
    for _ in range(20):
        one = outcome(now_ms=NOW_MS)
        crowd.book(replace(one, batch=replace(one.batch, max_timestamp_ms=NOW_MS + 2 * HOUR_MS)))
    assert crowd.agreement(NOW_MS, 1_000) is None
    assert crowd_of([2 * HOUR_MS] * 20).agreement(NOW_MS + HOUR_MS, 1_000) is None


def test_little_is_kept_of_a_client_and_nothing_for_long():
    """A client id may be 32 KiB long: 2,000 of them were 250 MiB that nobody counted."""
    crowd, one = Crowd(), outcome(now_ms=NOW_MS)
    for number in range(50):
        crowd.book(replace(one, peer=replace(one.peer, client_id=f"{number}" + "\N{GRINNING FACE}" * 8_000)))
    assert sum(len(client_id) for _, client_id in crowd.clients) < 50 * 300
    crowd.agreement(NOW_MS + HOUR_MS, 1_000)
    assert not crowd.clients


async def test_clients_that_agree_are_told_of_and_never_end_what_is_enforced():
    clock = Skewed()
    sane = Sane(config_of(SMALLEST + "clock: { when_beyond: audit }\n"), clock)
    for number in range(FEWEST_CLIENTS):
        one = outcome(now_ms=clock.now_ms())
        batch = replace(one.batch, max_timestamp_ms=clock.now_ms() + 2 * HOUR_MS)
        sane.monitor.crowd.book(replace(one, peer=replace(one.peer, client_id=f"c-{number}"), batch=batch))
    with structlog.testing.capture_logs() as logs:
        async with sane.running():
            await until(lambda: sane.monitor.warnings())
    assert logged_by(logs) == ["clients"]
    assert "10 of 10 clients" in sane.monitor.warnings()[0]
    assert "behind" in sane.monitor.warnings()[0]
    assert sane.suspended == []


async def test_a_step_of_our_clock_moves_what_was_found_of_brokers_with_it():
    """Enforcement stayed suspended after the clock was set right, while brokers wrote nothing."""
    clock = Skewed()
    sane = Sane(config_of(SMALLEST + "clock: { when_beyond: audit }\n"), clock)
    sane.monitor.offsets = {1: Offset(0.0, 1.0)}
    async with sane.running():
        clock.by_ms = HOUR_MS
        await until(lambda: sane.suspended == [True])
        clock.by_ms = 0
        await until(lambda: sane.suspended == [True, False])


# -- Brokers -----------------------------------------------------------------------------------------


async def committing(kafka, topic):
    """A group that commits again and again: its coordinator writes each time, by its own clock."""
    partition = TopicPartition(topic, 0)
    consumer = AIOKafkaConsumer(
        bootstrap_servers=kafka.bootstrap_servers, group_id=topic, enable_auto_commit=False
    )
    await consumer.start()
    try:
        consumer.assign([partition])
        for offset in range(1_000_000):
            await consumer.commit({partition: offset})
            await asyncio.sleep(0.2)
    finally:
        await consumer.stop()


PROXY = """\
upstream: {{ bootstrap_servers: ['{servers}'] }}
listeners: [{{ bind: 127.0.0.1:0 }}]
admin: {{ bind: off }}
decisions: {{ directory: '{folder}' }}
clock: {{ when_beyond: {when_beyond} }}
"""


async def until_suspected(kafka, topic, folder, by_ms, when_beyond):
    """A whole proxy with a clock that is off, before a real broker: its lines, when it has found out."""
    await kafka.create_topic(topic)
    clock = Skewed(by_ms=by_ms)
    text = PROXY.format(servers=kafka.bootstrap_servers, folder=folder, when_beyond=when_beyond)
    proxy = Proxy(config_of(text), clock, lambda *_: None)
    group = asyncio.create_task(committing(kafka, topic))
    with structlog.testing.capture_logs() as logs:
        running = asyncio.create_task(proxy.run())
        try:
            await until(lambda: "brokers" in logged_by(logs))
            is_suspended, texts = proxy._sanity.is_suspended, proxy._sanity.warnings()
            shown = rendered(proxy.metrics)
            clock.by_ms = 0
            await until(lambda: "brokers" in logged_by(logs, "clock_suspicion_ended"))
        finally:
            group.cancel()
            proxy.stop()
            await running
            await asyncio.gather(group, return_exceptions=True)
    return is_suspended, texts, shown


async def test_a_clock_that_is_slow_is_found_by_what_brokers_write_anyway(kafka, topic, tmp_path):
    is_suspended, texts, shown = await until_suspected(kafka, topic, tmp_path, -2 * HOUR_MS, "warn")

    assert not is_suspended
    assert any("behind the brokers'" in text for text in texts)
    assert shown['tsproxy_clock_suspected{by="brokers"}'] == 1
    assert abs(shown['tsproxy_clock_offset_seconds{broker="1"}'] + 7_200) < 60


async def test_a_clock_that_is_fast_is_found_too_and_suspends_what_is_enforced(kafka_431, topic, tmp_path):
    is_suspended, texts, _ = await until_suspected(kafka_431, topic, tmp_path, 3 * HOUR_MS, "audit")

    assert is_suspended
    assert any("ahead of the brokers'" in text for text in texts)


async def test_a_clock_that_is_right_is_not_suspected_by_them(kafka_431, topic):
    await kafka_431.create_topic(topic)
    node = kafka_431.node(1)
    config = config_of(
        f"upstream: {{ bootstrap_servers: ['{node.host}:{node.port}'] }}\n" + SMALLEST.partition("\n")[2]
    )
    cluster = Cluster(config.upstream, None, Clock(), lambda _: None, lambda _: None)
    sane = Sane(config, Clock(), connections=cluster.connections, stamped_topics=cluster.stamped_topics)
    tasks = [asyncio.create_task(cluster.run()), asyncio.create_task(committing(kafka_431, topic))]
    try:
        async with sane.running():
            await until(lambda: sane.monitor.offsets)
            assert abs(sane.monitor.offsets[1].ms) <= sane.monitor.offsets[1].error_ms + 250
            assert sane.monitor.warnings() == []
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
