"""`limits.drain_delay`: not ready at once, open to clients a while longer."""

import os
import signal

from tests.proxy.running import (
    EITHER,
    events,
    is_answered,
    is_cut_off,
    one_process,
    page,
    rejects,
    send,
    until_page,
    waiting_consumer,
)
from tests.proxy.world import until
from tsproxy.testing.proxy import RunningProxy

SIGNALLED = one_process("the first test has the delay with workers, test_workers.py their signals")
LONG = {"limits.drain_delay": "10m"}


@EITHER
async def test_after_sigterm_it_is_not_ready_and_still_serves_until_a_second_one_begins_the_drain(
    kafka_440, topic, arguments
):
    """A load balancer learns of it a moment later, and sends clients until then. An operator who skips the
    delay has not asked to cut clients off."""
    count, idle = 2 if arguments else 1, f"{topic}-idle"
    for name in (topic, idle):
        await kafka_440.create_topic(name)
    async with RunningProxy(kafka_440.bootstrap_servers, settings=LONG, arguments=arguments) as proxy:
        client = await waiting_consumer(proxy, idle, 8_000)
        os.kill(proxy.pid, signal.SIGTERM)
        await until_page(proxy, "/readyz", 503, "the proxy stops")
        await send(proxy, topic)
        assert "drain_started" not in events(proxy)
        assert (await page(proxy.admin_address, "/livez"))[0] == 200

        os.kill(proxy.pid, signal.SIGTERM)

        await until(lambda: events(proxy).count("drain_started") == count)
        await until(lambda: rejects(proxy.bootstrap_servers))
        assert await is_answered(client)
        assert await is_cut_off(client)
        assert await proxy.wait() == 0  # the end of the block would send another SIGTERM

    assert events(proxy).count("drain_delayed") == count
    assert proxy.log[-1]["event"] == "proxy_stopped"
    assert proxy.log[-1]["connections_aborted"] == 0


@SIGNALLED
async def test_when_the_delay_is_over_it_drains_by_itself(kafka_440, arguments):
    settings = {"limits.drain_delay": "300ms"}
    async with RunningProxy(kafka_440.bootstrap_servers, settings=settings, arguments=arguments) as proxy:
        os.kill(proxy.pid, signal.SIGTERM)
        await proxy.wait()

    assert events(proxy).index("drain_delayed") < events(proxy).index("drain_started")


@SIGNALLED
async def test_a_third_sigterm_ends_the_drain(kafka_440, topic, arguments):
    await kafka_440.create_topic(topic)
    count = 2 if arguments else 1
    async with RunningProxy(kafka_440.bootstrap_servers, settings=LONG, arguments=arguments) as proxy:
        client = await waiting_consumer(proxy, topic, 300_000)
        for event in ("drain_delayed", "drain_started"):
            os.kill(proxy.pid, signal.SIGTERM)
            await until(lambda event=event: events(proxy).count(event) == count)
        os.kill(proxy.pid, signal.SIGTERM)
        assert await is_cut_off(client)
        await proxy.wait()
    assert proxy.log[-1]["connections_aborted"] == 1


@SIGNALLED
async def test_two_signals_at_once_are_two(kafka_440, arguments):
    """The second comes before anything was done about the first."""
    async with RunningProxy(kafka_440.bootstrap_servers, settings=LONG, arguments=arguments) as proxy:
        for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGCONT):
            os.kill(proxy.pid, number)
        await proxy.wait()

    assert proxy.log[-1]["event"] == "proxy_stopped"
