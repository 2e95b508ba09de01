"""A large compressed batch is judged beside the loop: everybody else is served meanwhile."""

import random
import threading
import time
from dataclasses import replace

import pytest

from tests.attacks.test_small_and_expensive import culprits
from tests.proxy import test_reading
from tests.proxy.frames import answer, request
from tests.proxy.loops import on_both_loops
from tests.proxy.wire import is_reading, wire
from tests.proxy.world import PATIENCE_S, World, until
from tests.session.conversation import NOW_MS, view_by, view_of
from tests.session.messages import produce
from tests.wire.batches import LZ4, batch
from tsproxy.clock import Clock
from tsproxy.config.settings import ConnectionLimits
from tsproxy.model.custom_rule import CustomRule
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.records import Fault
from tsproxy.model.verdict import TopicLimits
from tsproxy.model.view import SessionLimits
from tsproxy.policy.checks.faults import OUR_LIMITS
from tsproxy.proxy.connections.judge_pool import JudgePool
from tsproxy.proxy.limits.process import ProcessLimits
from tsproxy.session.job import Job

HALF_MIB = random.Random(7).randbytes(1 << 19)
LARGE = batch([NOW_MS], LZ4, value=HALF_MIB)
"""Stays large in whatever codec."""
GOOD = batch([NOW_MS])
OTHER = produce({"t": {0: GOOD}}, correlation_id=2)


class Gated(JudgePool):
    """One thread, whose jobs wait until they may."""

    def __init__(self):
        super().__init__(1)
        self.may_go = threading.Event()
        self.begun = threading.Event()

    def begin(self, job, address, done):
        def when_it_may(work):
            self.begun.set()
            assert self.may_go.wait(PATIENCE_S)
            yield
            return (yield from job.steps())

        return super().begin(Job(when_it_may, job.work, job.size), address, done)


def connection(world):
    return wire(world, gate=world.judges)


def large(acks=-1):
    return produce({"t": {0: LARGE}}, correlation_id=1, acks=acks)


@on_both_loops
async def test_another_client_is_answered_while_a_large_batch_is_judged():
    """Also the client's own earlier request; what it sends behind the large one keeps its place."""
    world = World(judges=Gated())
    async with connection(world) as one, connection(world) as another:
        await one.asks(request(0))
        await one.client_sends(large())
        await until(world.judges.begun.is_set)
        await one.client_sends(OTHER)
        await another.asks(request(5))
        await another.is_told(answer(5))
        await one.is_told(answer(0))
        assert not is_reading(one.relay.client)

        world.judges.may_go.set()
        assert await one.broker_gets(len(large() + OTHER)) == large() + OTHER
        await until(lambda: is_reading(one.relay.client))


async def client_goes(the):
    the.client.close()


async def client_connection_breaks(the):
    """Under TLS a client's goodbye ends the connection at once."""
    the.relay.client.abort()
    await until(lambda: not the.relay.client.is_open)


async def proxy_drains(the):
    the.relay.drain()
    assert not the.relay.is_settled


@on_both_loops
@pytest.mark.parametrize("happens", [client_goes, client_connection_breaks, proxy_drains])
async def test_a_batch_that_is_being_judged_is_still_sent_on(happens):
    """acks=0: nobody waits for an answer, and a broker would have read it before it saw the end."""
    world = World(judges=Gated())
    async with connection(world) as the:
        await the.client_sends(large(acks=0))
        await until(world.judges.begun.is_set)
        await happens(the)
        world.judges.may_go.set()
        assert await the.broker_gets(len(large(acks=0))) == large(acks=0)
        assert await the.broker_sees_end()


@on_both_loops
async def test_a_broker_that_goes_while_a_batch_is_judged_ends_the_connection():
    world = World(judges=Gated())
    async with connection(world) as the:
        await the.client_sends(large())
        await until(world.judges.begun.is_set)
        the.broker.close()
        assert await the.client_sees_end()
    assert world.outcomes == []
    [line] = world.logged.lines
    assert (line["event"], line["reason"]) == ("session_closed", "broker_closed_early")


@on_both_loops
async def test_a_mistake_of_ours_in_a_job_ends_its_connection_alone():
    world = World(judges=Gated())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tsproxy.session.produce.judge_request.judge_steps", lambda *_: 1 / 0)
        async with connection(world) as the:
            await the.client_sends(large())
            await until(world.judges.begun.is_set)
            world.judges.may_go.set()
            assert await the.client_sees_end()
    assert world.logged.events() == ["session_crashed", "session_closed"]


@on_both_loops
async def test_an_answer_of_our_own_that_nobody_reads_counts_at_once():
    """A MiB that names 10,000 records, for a request of a few hundred bytes. Nothing comes behind it."""
    world = World(judges=Gated(), limits=ProcessLimits(ConnectionLimits(buffered=100_000), Clock()))
    async with wire(world, view_of()) as the:
        world.limits.admit("192.0.2.7")
        world.limits.join(the.relay, "192.0.2.7")
        world.judges.may_go.set()
        await the.client_sends(produce({"t": {0: culprits(10_000, 2 * NOW_MS)}}, version=8))
        await until(lambda: not the.relay.client.is_open)
        assert world.metric('tsproxy_limits_total{limit="buffered"}') == 1


@on_both_loops
async def test_a_connection_without_ends_that_is_cut_while_threads_work_for_it_is_over():
    world = World(judges=Gated(), decoders=test_reading.Gated())
    async with wire(world, view_of()) as the:
        await test_reading.being_read(the)
        await the.client_sends(large())
        await until(world.judges.begun.is_set)
        the.relay.client.abort()
        the.relay.broker.abort()
        await until(lambda: not (the.relay.client.is_open or the.relay.broker.is_open))
        assert not the.ended.is_set()
        the.relay.abort()
        assert the.ended.is_set()
        world.judges.may_go.set()
        world.decoders.may_go.set()


class Busy:
    """A rule that uses so much CPU for each batch, or waits so long."""

    def __init__(self, cpu_s=0.0, wait_s=0.0):
        self.cpu_s, self.wait_s = cpu_s, wait_s

    def culprits(self, times_ms, _):
        time.sleep(self.wait_s)
        end_s = time.thread_time() + self.cpu_s
        while time.thread_time() < end_s:
            sum(range(1_000))
        return ()


def busy_view(rule, **bounds):
    view = view_by("busy", limits=TopicLimits(), custom_rules=(CustomRule("busy", rule),))
    return replace(view, limits=SessionLimits(**bounds))


@on_both_loops
async def test_a_request_that_takes_a_thread_too_long_is_answered_and_others_are_served():
    """No charge counts the time of the rule: the clock alone ends the work."""
    world = World()
    async with wire(world, busy_view(Busy(cpu_s=0.5), judging_time_ms=200)) as one, wire(world) as another:
        sent = produce({"t": {0: batch([NOW_MS] * 10_001), 1: GOOD, 2: GOOD}}, correlation_id=1)
        await one.client_sends(sent)
        await until(lambda: one.relay._session.is_judging)
        await another.asks(request(5))
        await another.is_told(answer(5))
        assert one.relay._session.is_judging
        await until(lambda: len(world.outcomes) == 2)
    texts = {each.error_message for each in world.outcomes if each.error_code == ErrorCode.INVALID_RECORD}
    assert texts == {OUR_LIMITS[Fault.JUDGED_TOO_LONG]}


@on_both_loops
@pytest.mark.parametrize(("rule", "is_named"), [(Busy(cpu_s=0.15), True), (Busy(wait_s=0.15), False)])
async def test_a_request_that_takes_the_loop_too_long_is_named(rule, is_named):
    world, sent = World(), produce({"t": {0: GOOD}}, correlation_id=1)
    async with wire(world, busy_view(rule)) as the:
        await the.client_sends(sent)
        await the.broker_gets(len(sent))
    lines = world.logged.of("loop_held")
    facts = [(line["step"], line["api"], line["size"], line["rule"]) for line in lines]
    assert facts == ([("ClientBytes", "Produce", len(sent), "busy")] if is_named else [])
    assert all(150 <= line["held_ms"] < 5_000 for line in lines)
    assert world.metric('tsproxy_loop_held_seconds_count{api="Produce"}') == len(lines)
