"""Work beside the loop that does not hold up the end of the process."""

import subprocess
import sys
import threading
import weakref
from concurrent.futures import CancelledError
from functools import partial

import pytest

from tests.proxy.world import PATIENCE_S
from tsproxy.proxy.daemon_threads import DaemonThreads, Queued

EXIT_S = 120

DEAD_LETTERS = """
import asyncio
from tests.config.files import SMALLEST, config_of
from tsproxy.decisions import Privacy
from tsproxy.clock import Clock
from tsproxy.proxy.dead_letters.sender import DeadLetters
sender = DeadLetters(config_of(SMALLEST), None, Privacy(), Clock(), lambda: False)
threads = sender._thread
"""
NEVER_ENDS = """
import threading
begun = threading.Event()

def never_ends():
    begun.set()
    while True:
        pass
"""
BUSY = f"""{NEVER_ENDS}
threads.submit(never_ends)
begun.wait()
"""
JUDGES = """
import threading
from tsproxy.model.view import SessionLimits
from tsproxy.proxy.connections.judge_pool import JudgePool
from tsproxy.session.job import Job, Work
begun = threading.Event()

def never_ends(work):
    begun.set()
    while True:
        pass
    yield

judges = JudgePool()
judges.begin(Job(never_ends, Work(SessionLimits()), 0), "a", print)
begun.wait()
judges.stop()
assert not judges.join(0.1)
"""
LOOP = f"""{NEVER_ENDS}
from asyncio import create_task, to_thread
from tsproxy.proxy.loop import LoopName, run

async def main():
    reading = create_task(to_thread(never_ends))
    await to_thread(begun.wait)

run(LoopName("%s"), main)
"""
STOPPED = "asyncio.run(sender.stop(0, asyncio.Event()))\n"


PROGRAMS = {
    "dead letters": DEAD_LETTERS + BUSY + STOPPED,
    "judges": JUDGES,
    "asyncio": LOOP % "asyncio",
    "uvloop": LOOP % "uvloop",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_process_ends_while_one_is_busy(program):
    """Python joins those of a ThreadPoolExecutor before it exits.

    A worker on a file system without its server was killed in place of ending, with status 1.
    Finding 3: 70 s after its last word a process still burnt a core, and would have for hours.
    """
    subprocess.run([sys.executable, "-c", program], timeout=EXIT_S, check=True)


@pytest.fixture
def one():
    threads = DaemonThreads(1, "one")
    yield threads
    threads.shutdown()


class Gate:
    """Work that waits until it may go on."""

    def __init__(self):
        self.begun = threading.Event()
        self.may_go = threading.Event()

    def __call__(self, told=None):
        self.begun.set()
        assert self.may_go.wait(PATIENCE_S)
        return told


@pytest.fixture
def busy(one):
    gate = Gate()
    one.submit(gate)
    assert gate.begun.wait(PATIENCE_S)
    yield gate
    gate.may_go.set()


def test_work_is_done_in_its_order_by_daemons(one):
    done = [one.submit(lambda n: (n, threading.current_thread().daemon), n) for n in range(100)]
    assert [each.result(PATIENCE_S) for each in done] == [(n, True) for n in range(100)]


def test_a_mistake_is_told_and_the_next_is_done(one):
    with pytest.raises(KeyError):
        one.submit({}.__getitem__, "ours").result(PATIENCE_S)
    assert one.submit(sum, [1, 2]).result(PATIENCE_S) == 3


def test_there_are_as_many_as_there_is_work_for_and_no_more():
    threads, gates = DaemonThreads(2, "two"), [Gate(), Gate(), Gate()]
    third = [threads.submit(gate, n) for n, gate in enumerate(gates)][-1]
    assert all(gate.begun.wait(PATIENCE_S) for gate in gates[:2])
    assert not gates[2].begun.is_set()
    for gate in gates:
        gate.may_go.set()
    assert third.result(PATIENCE_S) == 2
    threads.shutdown()


class Bytes(bytearray):
    """It has a size, and can be weakly referenced."""


def test_what_is_cancelled_before_its_turn_is_not_kept_behind_what_is_busy(one, busy):
    held = Bytes(8)
    seen = weakref.ref(held)
    waiting = one.submit(held.hex)
    del held
    assert seen() is not None
    assert waiting.cancel()
    assert seen() is None


def test_once_shut_down_nothing_is_taken_and_what_waited_is_done_or_cancelled(one, busy):
    waiting = one.submit(sum, [1])
    one.shutdown(wait=False)
    with pytest.raises(RuntimeError, match="one take no more work"):
        one.submit(sum, [2])
    assert not waiting.done()
    one.shutdown(wait=False, cancel_futures=True)
    with pytest.raises(CancelledError):
        waiting.result(PATIENCE_S)


def test_shutdown_waits_for_what_was_taken():
    threads = DaemonThreads(1, "one")
    done = [threads.submit(sum, [n]) for n in range(10)]
    threads.shutdown()
    assert [each.done() for each in done] == [True] * 10


def test_lines_take_turns(one, busy):
    """A hundred connections of one address ask for large answers. Another client's answer does not wait for
    all of them."""
    order = []
    many = [one.submit(Queued("many", partial(order.append, "many"))) for _ in range(100)]
    other = one.submit(Queued("other", partial(order.append, "other")))
    last = one.submit(Queued("other", partial(order.append, "cancelled")))
    assert last.cancel()
    busy.may_go.set()
    assert other.result(PATIENCE_S) is None
    for each in many:
        each.result(PATIENCE_S)
    assert order.index("other") <= 2
    assert (order.count("many"), len(order)) == (100, 101)
