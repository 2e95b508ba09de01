"""A worker that hangs is found, killed and replaced; nothing says that all is well meanwhile."""

import asyncio
import os
import signal
import socket
from http import HTTPStatus

import pytest
from aiokafka import AIOKafkaProducer

from tests.proxy.running import TWO, events, pids, series, until_page
from tests.proxy.test_admin_pages import CONFIG
from tests.proxy.test_service_manager import Heard
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.proxy.admin.pages import pages
from tsproxy.proxy.service_manager import ServiceManager
from tsproxy.proxy.workers.channel import Channel
from tsproxy.proxy.workers.member import Member
from tsproxy.proxy.workers.watch import MISSED_AT_START, MISSED_IN_LIFE, Silence
from tsproxy.testing.proxy import RunningProxy


async def test_a_worker_that_hangs_is_killed_and_another_takes_its_place(kafka_440, topic):
    await kafka_440.create_topic(topic)
    async with RunningProxy(kafka_440.bootstrap_servers, arguments=TWO) as proxy:
        hung = pids(proxy)[2]
        os.kill(hung, signal.SIGSTOP)
        await until(lambda: pids(proxy)[2] != hung)

        await until_page(proxy, "/readyz", 200, "ready\n")
        assert (await series(proxy))['tsproxy_worker_restarts_total{worker="2"}'] == 1
        for _ in range(10):  # whichever worker the kernel chooses
            async with AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer:
                await producer.send_and_wait(topic, b"x")

    [line] = [line for line in proxy.log if line["event"] == "worker_hangs"]
    assert (line["worker"], line["pid"]) == (2, hung)
    [ended] = [line for line in proxy.log if line["event"] == "worker_ended"]
    assert ended["worker"] == 2
    assert "hung" in ended["error"]
    assert events(proxy).index("worker_hangs") < events(proxy).index("worker_ended")


@pytest.mark.parametrize(("was_heard", "most"), [(True, MISSED_IN_LIFE), (False, MISSED_AT_START)])
def test_a_worker_hangs_when_it_has_missed_some_questions_in_a_row_more_while_it_begins(was_heard, most):
    """Questions are counted and not seconds: a machine that slept for an hour has missed one."""
    silence = Silence()
    if was_heard:
        silence.message_received()
    for _ in range(most - 1):
        silence.answer_missed()
        assert not silence.is_too_long
    silence.answer_missed()
    assert silence.is_too_long

    silence.message_received()

    assert not silence.is_too_long


async def test_a_worker_that_is_heard_again_does_not_hang():
    ours, theirs = socket.socketpair()
    member = Member(1, None, Clock(), lambda _: None, asyncio.Lock())
    member._channel, worker = await Channel.over(ours), await Channel.over(theirs)
    try:
        member._receive({"event": "started"})
        for _ in range(MISSED_IN_LIFE):
            member._silence.answer_missed()
        assert member.hangs

        member._receive({"event": "started"})

        assert not member.hangs
    finally:
        await worker.close()
        await member._channel.close()


async def test_livez_is_for_all_workers():
    class Supervisor:
        config = CONFIG

        def hanging(self):
            return ["worker 2 hangs"]

    answer = pages(Supervisor())["/livez"]()

    assert (answer.status, answer.body) == (HTTPStatus.SERVICE_UNAVAILABLE, b"worker 2 hangs\n")


async def test_the_watchdog_is_not_fed_while_a_worker_hangs(tmp_path):
    heard = Heard(str(tmp_path / "notify"))
    manager = ServiceManager.of({**heard.environment, "WATCHDOG_USEC": "3000"})
    asked = []

    def is_alive():
        asked.append(heard.count("WATCHDOG=1"))
        return len(asked) > 5

    beating = asyncio.create_task(manager.beat(is_alive))
    await until(lambda: heard.count("WATCHDOG=1"))
    beating.cancel()

    assert asked[:6] == [0] * 6
