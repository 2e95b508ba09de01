"""A worker that hangs is found, killed and replaced; nothing says that all is well meanwhile."""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager, suppress
from http import HTTPStatus
from pathlib import Path

import pytest

from tests.config.files import SMALLEST, config_of
from tests.kit.tasks import beside
from tests.proxy.running import TWO, events, pids, send, series, until_page
from tests.proxy.test_admin_pages import OneProxy
from tests.proxy.test_service_manager import Heard
from tests.proxy.world import until
from tsproxy.proxy.admin.pages import pages
from tsproxy.proxy.admin.report import NOTHING
from tsproxy.proxy.service_manager import ServiceManager
from tsproxy.proxy.workers import member as members
from tsproxy.proxy.workers import worker
from tsproxy.proxy.workers.channel import as_text
from tsproxy.proxy.workers.watch import MISSED_AT_START, MISSED_IN_LIFE, CoreWaits, Silence
from tsproxy.testing.proxy import RunningProxy

UNKNOWN = 0
"""A process of which the system does not tell how long it waited."""
IS_COUNTED = Path("/proc/self/schedstat").exists()
"""Whether it tells that at all."""


async def test_a_worker_that_is_not_done_with_an_order_to_prepare_begins_no_other():
    """Its files may be on a disk that hangs while its loop turns. The supervisor asks again and again, and
    each time cost a thread, until none was left to log in to brokers."""
    begun, orders = [], ["prepare", "abandon", "prepare", "abandon", "report"]
    at_work = []
    reported, disk = asyncio.Event(), asyncio.Event()

    class Hangs:
        async def prepare(self, config):
            begun.append(config)
            await disk.wait()

        async def report(self):
            at_work.extend(task for task in asyncio.all_tasks() if task.get_coro().__name__ == "_prepare")
            return NOTHING

        def close(self):
            reported.set()

    class Orders:
        def send(self, message):
            pass

        async def lines(self):
            for number, order in enumerate(orders):
                yield {"order": order, "id": number, "config": as_text(config_of(SMALLEST))}
                await until(lambda: begun)

    async with beside(worker._obey(Orders(), Hangs())):
        await reported.wait()
    assert len(at_work) == 1


async def test_a_worker_that_hangs_is_killed_and_another_takes_its_place(kafka_440, topic):
    await kafka_440.create_topic(topic)
    async with RunningProxy(kafka_440.bootstrap_servers, arguments=TWO) as proxy:
        hung = pids(proxy)[2]
        os.kill(hung, signal.SIGSTOP)
        await until(lambda: pids(proxy)[2] != hung)

        await until_page(proxy, "/readyz", 200, "ready\n")
        assert (await series(proxy))['tsproxy_worker_restarts_total{worker="2"}'] == 1
        for _ in range(10):  # whichever worker the kernel chooses
            await send(proxy, topic)

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
    for now_ms in range(most - 1):
        silence.answer_missed(UNKNOWN, now_ms)
        assert not silence.is_too_long
    silence.answer_missed(UNKNOWN, most)
    assert silence.is_too_long

    silence.message_received()

    assert not silence.is_too_long


async def test_a_page_does_not_wait_for_a_worker_that_has_not_answered_the_last_time(member, monkeypatch):
    """Otherwise every page waits for as long, one after the other, and ends without an answer."""
    asked = []
    monkeypatch.setattr(member, "_ask", lambda order: asked.append(order) or asyncio.sleep(0, True))
    member._receive({"event": "started"})
    assert await member.report()
    member._silence.answer_missed(UNKNOWN, 0)
    assert not await member.report()
    await member.not_ready()
    assert asked == ["report"]
    member._receive({"event": "ready", "not_ready": []})
    await member.not_ready()
    assert asked == ["report", "ready"]


SPINS = (sys.executable, "-c", "print(flush=True)\nwhile True: pass")
"""It says when it has begun: a process that starts waits for its files, and not for a core."""


@contextmanager
def without_a_core(pid):
    """Another process has the one core that process `pid` may use, and goes before it."""
    every_core = os.sched_getaffinity(0)
    core = {min(every_core)}
    with ExitStack() as stack:
        greedy = stack.enter_context(subprocess.Popen(SPINS, stdout=subprocess.PIPE))
        stack.callback(greedy.kill)
        os.sched_setaffinity(greedy.pid, core)
        greedy.stdout.readline()
        _place(pid, core, os.SCHED_IDLE)
        stack.callback(_place, pid, every_core, os.SCHED_OTHER)
        yield


def _place(pid, cores, scheduler):
    for thread in map(int, os.listdir(f"/proc/{pid}/task")):
        os.sched_setaffinity(thread, cores)
        os.sched_setscheduler(thread, scheduler, os.sched_param(0))


@pytest.mark.skipif(not IS_COUNTED, reason="only Linux counts how long processes wait for a core")
async def test_a_worker_that_waits_for_a_core_is_not_killed(member, monkeypatch):
    """It misses a hundred requests. Then it stops, and waits no more: a few further ones are enough."""
    monkeypatch.setattr(members, "REPORT_S", 0.01)
    worker = await asyncio.create_subprocess_exec(*SPINS, stdout=subprocess.PIPE)
    member._process = worker
    try:
        await worker.stdout.readline()
        member._receive({"event": "started"})
        with without_a_core(worker.pid):
            for _ in range(100):
                await member.look_after()
                assert not member.hangs
        os.kill(worker.pid, signal.SIGSTOP)
        while not member.hangs:
            await member.look_after()
        assert await worker.wait() == -signal.SIGKILL
    finally:
        with suppress(ProcessLookupError):
            worker.kill()


LOOKS = {  # the share, and at each look: its time, how long the process ran and waited before, its state
    "waits": (1, [(10, 0, 0, "R"), (20, 0, 0, "R"), (420, 1, 20, "R")]),
    "waits, looked at late": (1, [(100, 1, 99, "R"), (200, 1, 99, "R"), (900, 2, 250, "R")]),
    "spins": (0, [(10, 10, 0, "R"), (20, 20, 0, "R"), (30, 30, 0, "R")]),
    "shares its core": (0.5, [(10, 5, 5, "R"), (20, 10, 10, "R"), (30, 15, 15, "R")]),
    "stands still": (0, [(10, 0, 0, "S"), (20, 0, 0, "S"), (30, 0, 0, "S")]),
}  # fmt: skip


def counted(folder, ran_ms, waited_ms, state, others=()):
    """The system's facts of a process: times of its first thread, its state, waits of others."""
    for name, (ran, waited) in enumerate([(ran_ms, waited_ms), *((0, each) for each in others)], 1):
        (folder / "task" / str(name)).mkdir(parents=True, exist_ok=True)
        (folder / "task" / str(name) / "schedstat").write_text(f"{ran * 1_000_000} {waited * 1_000_000} 1\n")
    (folder / "schedstat").write_bytes((folder / "task" / "1" / "schedstat").read_bytes())
    (folder / "stat").write_text(f"1 (python) {state} 0")
    return f"..{folder}"


@pytest.mark.parametrize(("share", "process"), LOOKS.values(), ids=LOOKS)
def test_a_wait_for_a_core_that_goes_on_counts_from_the_look_before_it_ran_last(tmp_path, share, process):
    """A supervisor that waited for a core itself looked late, and took the whole time for a silence."""
    waits = CoreWaits(counted(tmp_path, 500, 0, process[0][-1]), 0)
    for now_ms, ran_ms, *facts in process:
        counted(tmp_path, 500 + ran_ms, *facts)
        found = waits.share(now_ms)
    assert found == pytest.approx(share, abs=0.01)


def test_two_threads_that_wait_half_the_time_are_no_wait_of_the_whole_time(tmp_path):
    """Otherwise an event loop that is locked is never found while others work on a busy machine."""
    waits = CoreWaits(counted(tmp_path, 500, 0, "S", [0, 0]), 0)
    counted(tmp_path, 500, 0, "S", [50, 50])
    assert waits.share(100) == 0.5


@pytest.mark.parametrize("is_there", [False, True])
def test_a_system_that_counts_no_waits_has_none(tmp_path, is_there):
    """Without the counts, a process in an endless loop seemed to wait for ever, and was never killed."""
    place = counted(tmp_path, 0, 0, "R")
    if not is_there:
        (tmp_path / "schedstat").unlink()
    assert CoreWaits(place, 0).share(10) == 0


async def test_livez_is_for_all_workers():
    supervisor = OneProxy(NOTHING)
    supervisor.hanging = lambda: ["worker 2 hangs"]
    answer = pages(supervisor)["/livez"]()

    assert (answer.status, answer.body) == (HTTPStatus.SERVICE_UNAVAILABLE, b"worker 2 hangs\n")


async def test_the_watchdog_is_not_fed_while_a_worker_hangs(tmp_path):
    heard = Heard(str(tmp_path / "notify"))
    manager = ServiceManager.of({**heard.environment, "WATCHDOG_USEC": "3000"})
    asked = []

    def is_alive():
        asked.append(heard.count("WATCHDOG=1"))
        return len(asked) > 5

    async with beside(manager.beat(is_alive)):
        await until(lambda: heard.count("WATCHDOG=1"))
    assert asked[:6] == [0] * 6
