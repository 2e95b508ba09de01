"""How long requests take is told by a sample, of whatever goes by."""

import asyncio

import pytest
from aiokafka import AIOKafkaProducer

from tests.proxy.measured import rendered
from tests.proxy.running import series
from tsproxy.proxy.metrics.registry import Metrics
from tsproxy.proxy.metrics.stopwatch import AT_ONCE, Sampler, Stopwatch
from tsproxy.proxy.metrics.timings import Timings
from tsproxy.testing.proxy import RunningProxy

PRODUCE, FETCH = 0, 1


class Ticks:
    """A clock that is set by hand, in microseconds."""

    us = 0

    def monotonic_us(self):
        return self.us


class Queue:
    """A session, as far as a stopwatch looks at it."""

    is_between_requests = True
    is_judging = False
    requests_answered = 0
    requests_forwarded = 0


class End:
    watch = None


class Told(Timings):
    def __init__(self):
        super().__init__()
        self.all = []

    def took(self, api, broker, inside_us, upstream_us):
        assert broker == "2"
        self.all.append((api, inside_us, upstream_us))


class World:
    """A connection; what happens during a read takes as long as it says."""

    def __init__(self):
        self.client, self.broker, self.queue, self.clock = End(), End(), Queue(), Ticks()
        self.logged = Told()
        self.watch = Stopwatch(self.client, self.broker, self.queue, self.logged, self.clock, "2")

    def reads(self, end, us, *, api_key=-1, forwards=0, answers=0):
        if end.watch is not None:
            end.watch.begins(end, api_key)
        self.clock.us += us
        self.queue.requests_forwarded += forwards
        self.queue.requests_answered += answers
        if end.watch is not None:
            end.watch.ends(end)

    def waits(self, us):
        self.clock.us += us


def asks(us, api_key=PRODUCE, *, forwards=1, answers=0):
    """A read of the client's end."""
    return lambda world: world.reads(world.client, us, api_key=api_key, forwards=forwards, answers=answers)


def told(us):
    """A read of the broker's end, with an answer."""
    return lambda world: world.reads(world.broker, us, answers=1)


def waits(us):
    return lambda world: world.waits(us)


TIMED = {
    "apart from the way between": ([asks(30), waits(2_000), told(20)], [("Produce", 50, 2_000)]),
    "from the last of its pieces": (
        [asks(1_000, forwards=0), waits(50_000)] * 5 + [asks(40), told(10)],
        [("Produce", 50, 0)],
    ),
    "answered here, so with no time upstream": ([asks(90, answers=1)], [("Produce", 90, None)]),
    "no request": ([asks(90, -1)], []),
    "an unknown request": ([asks(90, 9_999)], []),
    "the beginning of TLS": ([asks(90, 0x1603)], []),
}
"""The steps once the watch is armed, and the times that are told."""


@pytest.mark.parametrize(("steps", "times"), TIMED.values(), ids=TIMED)
def test_a_request_and_its_answer_are_timed(steps, times):
    world = World()
    world.watch.arm()
    for step in steps:
        step(world)

    assert world.logged.all == times
    waits_on = None if times else world.watch
    assert world.client.watch is waits_on


def test_only_the_next_request_is_timed_and_only_once():
    world = World()
    world.reads(world.client, 30, api_key=PRODUCE, forwards=1)
    world.watch.arm()
    world.watch.arm()
    world.reads(world.client, 30, api_key=FETCH, forwards=3)
    world.reads(world.broker, 10, answers=1)  # of the one before
    world.reads(world.broker, 10, answers=1)
    world.reads(world.client, 30, api_key=PRODUCE, forwards=1)

    assert [api for api, _, _ in world.logged.all] == ["Fetch"]


def test_a_request_that_is_judged_beside_the_loop_counts_as_long_as_that_takes():
    world = World()
    world.watch.arm()
    world.queue.is_judging = True
    world.reads(world.client, 10, api_key=PRODUCE)
    world.waits(7_000)
    world.queue.is_judging = False
    world.queue.requests_forwarded += 1
    world.watch.look()
    world.reads(world.broker, 10, answers=1)

    assert world.logged.all == [("Produce", 7_020, 0)]


def test_in_the_middle_of_a_request_nothing_is_taken_for_the_beginning_of_one():
    world = World()
    world.watch.arm()
    world.queue.is_between_requests = False
    world.reads(world.client, 90, api_key=PRODUCE, forwards=1)

    assert world.logged.all == []


def test_times_are_shown_as_histograms_in_seconds():
    metrics = Metrics()
    metrics.timings.took("Produce", "2", 150, 3_000)
    metrics.timings.took("Produce", "2", 90, None)
    metrics.timings.took("Fetch", "2", 90, 500_000)
    metrics.timings.connected("3", 2_000_000)

    found = rendered(metrics)
    assert found['tsproxy_request_seconds_bucket{api="Produce",le="0.0001"}'] == 1
    assert found['tsproxy_request_seconds_bucket{api="Produce",le="0.0002"}'] == 2
    assert found['tsproxy_request_seconds_sum{api="Produce"}'] == pytest.approx(0.00024)
    assert found['tsproxy_upstream_seconds_count{api="Produce"}'] == 1
    assert found['tsproxy_upstream_seconds_bucket{api="Produce",le="0.005"}'] == 1
    assert found['tsproxy_broker_produce_seconds_count{broker="2"}'] == 1, "Fetch waits by design"
    assert found['tsproxy_broker_produce_seconds_bucket{broker="2",le="0.003"}'] == 1
    assert found['tsproxy_broker_connect_seconds_bucket{broker="3",le="1.0"}'] == 0
    assert found['tsproxy_broker_connect_seconds_bucket{broker="3",le="3.0"}'] == 1


class Counted:
    times = 0

    def time_next(self):
        self.times += 1


def test_connections_take_their_turns_however_many_there_are():
    connections = [Counted() for _ in range(3 * AT_ONCE)]
    sampler = Sampler(lambda: connections)
    for _ in range(6):
        sampler.arm()

    assert {each.times for each in connections} == {2}


async def test_what_real_clients_ask_is_timed(kafka_440, topic):
    """Each way through the proxy: Produce by the fast path, Metadata by the session."""
    await kafka_440.create_topic(topic)
    async with (
        RunningProxy(kafka_440.bootstrap_servers) as proxy,
        AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers, metadata_max_age_ms=100) as producer,
    ):
        found = {}
        async with asyncio.timeout(120):
            while not {'api="Produce"', 'api="Metadata"'} <= found.keys():
                await producer.send_and_wait(topic, b"x")
                found = {
                    name.partition("{")[2].rstrip("}"): value
                    for name, value in (await series(proxy)).items()
                    if name.startswith("tsproxy_upstream_seconds_count") and value
                }
        sums = {
            name: value
            for name, value in (await series(proxy)).items()
            if name.startswith(("tsproxy_request_seconds_sum", "tsproxy_upstream_seconds_sum"))
        }
    assert sums
    assert all(0 < value < 60 for value in sums.values())
