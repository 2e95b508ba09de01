"""The judges' queue: turns are short and go round, what is cancelled is let go of, the process can end."""

import gc
import threading
import weakref

import pytest

from tests.proxy.test_limits import Connection
from tests.proxy.world import PATIENCE_S, until
from tsproxy.model.view import SessionLimits
from tsproxy.proxy.connections import judge_pool as module
from tsproxy.proxy.connections.judge_pool import JudgePool
from tsproxy.proxy.limits.admission import Limit
from tsproxy.proxy.limits.connection_monitor import Memory
from tsproxy.session.job import Job, Work


class Frame(bytearray):
    """One that can be watched."""


@pytest.fixture
def one_judge():
    judges = JudgePool(1)
    yield judges
    judges.stop()
    assert judges.join(PATIENCE_S)


class Gate:
    """A job whose steps are told, and wait until they may."""

    def __init__(self, name="gate", steps=1, told=None, cost=1, *, is_light=False):
        self.name, self.steps, self.cost = name, steps, cost
        self.logged = [] if told is None else told
        self.may_go = threading.Event()
        self.begun = threading.Event()
        self.ended = threading.Event()
        self.frame = Frame(1000)
        self.job = Job(self.begin_with(self.frame), Work(SessionLimits()), len(self.frame), is_light=is_light)

    def begin_with(self, frame):
        def begin(work):
            for _ in range(self.steps):
                self.begun.set()
                assert self.may_go.wait(PATIENCE_S)
                self.logged.append(self.name)
                work.look(self.cost)
                yield
            return frame

        return begin

    def done(self, _):
        self.ended.set()

    def release(self):
        """Nothing here keeps the frame from now on."""
        watch = weakref.ref(self.frame)
        self.frame = self.job = self.begin_with = None
        return watch


def line_up(judges, gate, address):
    return judges.begin(gate.job, address, gate.done)


def judge_all(judges, gates):
    """All of these (gate, address) are in line when the first one, which is at work, may go on."""
    for number, (gate, address) in enumerate(gates):
        line_up(judges, gate, address)
        assert number or gate.begun.wait(PATIENCE_S)
    for gate, _ in gates:
        gate.may_go.set()
    assert all(gate.ended.wait(PATIENCE_S) for gate, _ in gates)


def test_what_is_cancelled_while_it_waits_is_gone_at_once(one_judge):
    """Finding 4: forty frames of 20 MiB stayed behind busy judges, after their connections had closed."""
    busy, waiting = Gate(), Gate()
    line_up(one_judge, busy, "a")
    ticket = line_up(one_judge, waiting, "b")
    assert busy.begun.wait(PATIENCE_S)
    frame = waiting.release()
    one_judge.cancel(ticket)
    gc.collect()
    assert frame() is None
    assert (one_judge.waiting, one_judge.abandoned_bytes) == (0, 0)
    busy.may_go.set()


async def test_what_is_cancelled_at_work_is_counted_until_it_is_gone(one_judge):
    busy = Gate(steps=1_000)
    ticket = line_up(one_judge, busy, "a")
    assert busy.begun.wait(PATIENCE_S)
    one_judge.cancel(ticket)
    one_judge.cancel(ticket)
    assert one_judge.abandoned_bytes == 1000
    busy.may_go.set()
    await until(lambda: one_judge.abandoned_bytes == 0)
    assert busy.logged == ["gate"], "it ended at its next look"
    assert not busy.ended.is_set()


def test_a_good_request_waits_for_one_slice_of_a_dear_one_and_not_for_all_of_it(one_judge):
    """Finding 3: a good producer's batch had no answer while an attacker's request was judged."""
    told = []
    expensive = Gate("expensive", steps=100, told=told, cost=module.SLICE // 2)
    good = Gate("good", told=told)
    good.may_go.set()
    line_up(one_judge, expensive, "attacker")
    assert expensive.begun.wait(PATIENCE_S)
    line_up(one_judge, good, "good")
    expensive.may_go.set()
    assert good.ended.wait(PATIENCE_S)
    assert expensive.ended.wait(PATIENCE_S)
    assert told.index("good") <= 2
    assert told.count("expensive") == 100


def test_addresses_take_turns_however_many_requests_each_has(one_judge):
    told = []
    judge_all(one_judge, [(Gate(name, told=told), name) for name in ["attacker"] * 50 + ["good"]])
    assert told.index("good") <= 2
    assert len(told) == 51


@pytest.mark.parametrize("is_light", [False, True])
def test_a_request_of_few_partitions_does_not_wait_behind_expensive_ones_of_its_own_address(
    one_judge, is_light
):
    """It waited until one of the first four was over: 8 s behind six. Behind light ones it has turns, too."""
    told = []
    gates = [Gate("expensive", 100, told, module.SLICE, is_light=is_light) for _ in range(6)]
    good = Gate("good", told=told, is_light=True)
    judge_all(one_judge, [(gate, "a") for gate in (*gates, good)])
    assert told.index("good") <= 7
    assert len(told) == 601


@pytest.mark.parametrize(("is_light", "most"), [(False, module.MAX_BEGUN), (True, module.MAX_LIGHT_BEGUN)])
def test_few_requests_of_one_address_are_begun_at_a_time(one_judge, is_light, most):
    """All hundred were half done at once: 12 frames of 120 KB kept 1.1 GB that nobody counted."""
    told = []
    gates = [Gate(n, steps=10, told=told, cost=module.SLICE, is_light=is_light) for n in range(100)]
    judge_all(one_judge, [(gate, "attacker") for gate in gates])

    steps_of = {n: [at for at, name in enumerate(told) if name == n] for n in range(100)}
    begun_at_once = max(
        sum(steps[0] <= at <= steps[-1] for steps in steps_of.values()) for at in range(len(told))
    )
    assert begun_at_once <= most


def test_a_mistake_in_one_job_is_told_and_the_next_is_judged(one_judge):
    told = []

    def begin(_):
        raise KeyError("ours")
        yield

    one_judge.begin(Job(begin, Work(SessionLimits()), 0), "a", told.append)
    good = Gate()
    good.may_go.set()
    line_up(one_judge, good, "a")
    assert good.ended.wait(PATIENCE_S)
    assert isinstance(told[0], KeyError)


def test_once_stopped_nothing_more_is_judged():
    judges = JudgePool(1)
    busy, waiting = Gate(steps=1_000), Gate()
    line_up(judges, busy, "a")
    line_up(judges, waiting, "b")
    assert busy.begun.wait(PATIENCE_S)
    judges.stop()
    line_up(judges, Gate("late"), "c")
    busy.may_go.set()
    assert judges.join(PATIENCE_S)
    assert (len(busy.logged), waiting.logged) == (1, [])


def test_what_the_judges_still_hold_counts_with_what_connections_hold():
    one = Connection(held_bytes=600, was_heard=True)
    memory = Memory(lambda: [one], 1000)
    memory.count(one)
    assert not one.ended
    memory.beside = lambda: 500
    memory.count(one)
    assert one.ended == [Limit.BUFFERED]
