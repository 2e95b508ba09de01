"""This proxy's clock beside real brokers': measured, told of, and not judged by while it is wrong."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
import structlog
from aiokafka.errors import KafkaError
from hypothesis import given
from hypothesis import strategies as st

from tests.config.files import SMALLEST, config_of
from tests.kit.clocks import HandClock, MovedClock
from tests.kit.tasks import beside
from tests.proxy.measured import rendered
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.config.settings import WhenBeyond
from tsproxy.model.addresses import Address
from tsproxy.proxy.clock_check.monitor import ClockMonitor
from tsproxy.proxy.clock_check.offsets import Conclusion, Offset, conclude, middle, offset_text
from tsproxy.proxy.clock_check.probe import measure
from tsproxy.proxy.metrics.registry import Metrics

APPEND_TIME = {"message.timestamp.type": "LogAppendTime"}
HOUR_MS = 3_600_000


class Sane:
    """A clock monitor, and all that it logs."""

    def __init__(self, config, clock, **options):
        self.logged, self.suspended, self.metrics = [], [], Metrics()
        self.monitor = ClockMonitor(
            config,
            None,
            clock,
            lambda kind, facts: self.logged.append((kind.value, dict(facts))),
            self.suspended.append,
            **{"kernel_is_synchronised": lambda: None, **options},
        )
        self.metrics.add(self.monitor)

    def running(self):
        return beside(self.monitor.run())


async def test_a_topic_that_keeps_the_times_it_is_sent_measures_nothing_and_that_is_told(kafka_440, topic):
    await kafka_440.create_topic(topic)
    node = kafka_440.node(1)
    servers = (Address(node.host, node.port),)
    probe = f"clock: {{ when_beyond: audit, probe: {{ topic: {topic} }} }}\n"
    config = config_of(SMALLEST + probe)
    config = replace(config, upstream=replace(config.upstream, bootstrap_servers=servers))
    sane = Sane(config, MovedClock(by_ms=HOUR_MS))
    with structlog.testing.capture_logs() as told:
        async with sane.running():
            await until(lambda: told)
    assert told[0]["event"] == "clock_not_measured"
    assert "LogAppendTime" in told[0]["error"]
    assert sane.suspended == []


class Answering:
    """A producer, and brokers whose clocks are 5 s behind ours, that answer after so many ms. `leaders` are
    those of the topic's partitions, -1 for none."""

    def __init__(self, clock, *took_ms, leaders=(7, 7)):
        self.took_ms = list(took_ms)
        self._clock = clock
        self._leaders = leaders
        self.client = SimpleNamespace(cluster=SimpleNamespace(leader_for_partition=self._leader_of))

    def _leader_of(self, partition):
        return self._leaders[partition.partition]

    async def partitions_for(self, topic):
        return {*range(len(self._leaders))}

    async def send_and_wait(self, topic, value, partition):
        took_ms = self.took_ms.pop(0)
        self._clock.ms += took_ms
        return SimpleNamespace(timestamp_type=1, timestamp=self._clock.ms - took_ms // 2 - 5_000)


async def test_the_quickest_of_three_answers_says_the_offset_to_half_of_its_time():
    clock = HandClock()
    producer = Answering(clock, 40, 10, 90)
    offset_ms, half_ms, whole_ms = 5_000, 5, 1  # a clock counts whole ms
    assert await measure(producer, "time", clock) == {7: Offset(offset_ms, half_ms + whole_ms)}
    assert producer.took_ms == []


async def test_a_partition_without_a_leader_is_left_out():
    clock = HandClock()
    found = await measure(Answering(clock, 10, 10, 10, leaders=(-1, None, 7)), "time", clock)
    assert list(found) == [7]


@pytest.mark.parametrize("leaders", [(-1,), (None, -1)])
async def test_while_no_partition_has_a_leader_the_last_result_stays_in_force(leaders):
    """Enforcement by a clock that was an hour off went on: an empty result was taken for a clock that is
    right."""
    clock = MovedClock(by_ms=HOUR_MS)
    sane = Sane(WITH_PROBE, clock)
    sane.monitor.offsets = offsets_of(HOUR_MS)
    sane.monitor._judge()
    with pytest.raises(KafkaError, match="no partition of the topic has a leader"):
        await sane.monitor._measure(Answering(clock, leaders=leaders), "time")

    assert (sane.suspended, sane.monitor.offsets) == ([True], offsets_of(HOUR_MS))


NOBODY = Address("127.0.0.1", 1)
WITHOUT_PROBE = config_of(SMALLEST + "clock: { when_beyond: audit }\n")
WITH_PROBE = config_of(SMALLEST + "clock: { when_beyond: audit, probe: { topic: time } }\n")


@pytest.mark.parametrize(("ms", "is_suspended"), [(HOUR_MS, True), (5, False)])
async def test_while_nothing_can_be_measured_the_last_result_stays_in_force(ms, is_suspended):
    """A broker that does not answer says nothing new about this clock."""
    config = replace(WITH_PROBE, upstream=replace(WITH_PROBE.upstream, bootstrap_servers=(NOBODY,)))
    sane = Sane(config, Clock())
    sane.monitor.offsets = offsets_of(ms)
    sane.monitor._judge()
    assert sane.suspended == [True] * is_suspended
    with structlog.testing.capture_logs() as told:
        async with sane.running():
            await until(lambda: "clock_not_measured" in [line["event"] for line in told])
            assert sane.monitor.is_suspended is is_suspended
    assert sane.suspended == [True] * is_suspended
    assert sane.monitor.offsets == offsets_of(ms)


@pytest.mark.parametrize(
    ("before", "after", "suspended"),
    [(WITHOUT_PROBE, WITH_PROBE, []), (WITH_PROBE, WITHOUT_PROBE, [True, False])],
    ids=["configured later", "taken away"],
)
def test_a_reload_of_the_probe_ends_what_was_measured_and_suspends_by_nothing_else(before, after, suspended):
    """Times that brokers wrote anyway never suspend: a client may write them."""
    sane = Sane(before, Clock())
    sane.monitor.offsets = offsets_of(HOUR_MS)
    sane.monitor._judge()
    sane.monitor.apply(after)

    assert sane.suspended == suspended
    assert not sane.monitor.is_suspended


@given(
    st.dictionaries(st.integers(1, 5), st.floats(-1e9, 1e9), max_size=5),
    st.floats(0, 1e6),
    st.booleans(),
    st.booleans(),
)
def test_only_a_measured_offset_suspends(many_ms, error_ms, is_probed, was_beyond):
    offsets = {node: Offset(ms, error_ms) for node, ms in many_ms.items()}
    settings = (WITH_PROBE if is_probed else WITHOUT_PROBE).clock
    was = Conclusion(is_beyond=was_beyond)
    found = conclude(offsets, settings, was)

    assert found.is_suspended == (found.is_beyond and is_probed)
    assert not conclude(offsets, replace(settings, when_beyond=WhenBeyond.WARN), was).is_suspended


@pytest.mark.parametrize(
    ("config", "error_ms", "still_ms", "over_ms"),
    [
        (WITH_PROBE, 900, 1_001, 1_000),
        (WITH_PROBE, 9_000, 1_001, 1_000),
        (WITHOUT_PROBE, 900, 1_001, 1_000),
        (WITHOUT_PROBE, 9_000, 9_001, 9_000),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_clock_that_was_off_is_off_until_it_is_within_the_limit(config, error_ms, still_ms, over_ms, sign):
    """A measured offset counts by itself: the least that it may be would begin and end again and again. The
    brokers' timestamps are never closer than their margin, so they cannot show a smaller offset."""
    sane = Sane(config, Clock())
    for ms, is_off in ((still_ms, False), (HOUR_MS, True), (still_ms, True), (over_ms, False)):
        sane.monitor.offsets = offsets_of(sign * ms, error_ms=error_ms)
        sane.monitor._judge()
        assert bool(sane.monitor.warnings()) is is_off, ms
    told = [(facts["what"], facts["enforced"]) for _, facts in sane.logged]
    assert told == [("beyond", config is WITHOUT_PROBE), ("within", True)]


async def test_a_measurement_during_which_the_clock_was_set_says_nothing():
    """Half of it is by the clock before, half by the clock after."""

    class Stepping(Answering):
        async def send_and_wait(self, topic, value, partition):
            clock.by_ms = HOUR_MS
            return await super().send_and_wait(topic, value, partition)

    clock = HandClock()
    sane = Sane(WITH_PROBE, clock)
    await sane.monitor._measure(Stepping(clock, 10, 10, 10), "time")

    assert (sane.monitor.offsets, sane.suspended) == ({}, [])
    assert [facts["what"] for _, facts in sane.logged] == ["stepped"]


class Probed:
    """The connections that a monitor makes to measure, and its measurements: `measure` has the results."""

    def __init__(self, monkeypatch, measure):
        self.used, self.measured, self.closed = [], [], 0
        self._measure = measure
        monkeypatch.setattr("tsproxy.proxy.clock_check.monitor.connected_producer", self._connected)
        monkeypatch.setattr("tsproxy.proxy.clock_check.monitor.measure", self._measured)

    @asynccontextmanager
    async def _connected(self, upstream, *_, **__):
        self.used.append(upstream)
        yield upstream
        self.closed += 1

    async def _measured(self, producer, topic, clock):
        self.measured.append((producer, topic))
        return await self._measure()


async def test_a_reload_with_another_login_measures_by_that_login_and_one_without_a_probe_not_at_all(
    monkeypatch,
):
    """The probe would go on as the user of before, whose rights may have been taken away."""
    probed, sane = Probed(monkeypatch, lambda: asyncio.sleep(0, {})), Sane(WITH_PROBE, Clock())
    other = replace(WITH_PROBE, upstream=replace(WITH_PROBE.upstream, bootstrap_servers=(NOBODY,)))
    async with sane.running():
        await until(lambda: probed.measured)
        sane.monitor.apply(other)
        await until(lambda: len(probed.measured) == 2)
        sane.monitor.apply(replace(other, clock=WITHOUT_PROBE.clock))
        await until(lambda: probed.closed == 2)
    assert probed.used == [WITH_PROBE.upstream, other.upstream]
    assert probed.measured == [(upstream, "time") for upstream in probed.used]


async def test_a_measurement_that_hangs_is_given_up_and_made_again(monkeypatch):
    monkeypatch.setattr("tsproxy.proxy.clock_check.monitor.ANSWER_TIMEOUT_S", 0.01)
    monkeypatch.setattr("tsproxy.proxy.clock_check.monitor.RETRY_MS", 10)
    answers = [asyncio.Event().wait(), asyncio.sleep(0, offsets_of(5))]
    Probed(monkeypatch, lambda: answers.pop(0))
    sane = Sane(WITH_PROBE, Clock())
    with structlog.testing.capture_logs() as told:
        async with sane.running():
            await until(lambda: sane.monitor.offsets == offsets_of(5))
    assert [line["event"] for line in told] == ["clock_not_measured"]


def test_one_culprit_is_named():
    """A proxy that was two hours slow said that broker 1's clock differs, and then broker 2's."""
    off, settings = offsets_of(-2 * HOUR_MS, -2 * HOUR_MS + 5, 3), WITHOUT_PROBE.clock
    ours, theirs = (conclude(some, settings, Conclusion()) for some in (off, offsets_of(-2 * HOUR_MS, 1, 3)))

    assert (ours.is_beyond, ours.brokers_off) == (True, frozenset())
    assert (theirs.is_beyond, theirs.brokers_off) == (False, {0})


@pytest.mark.parametrize(
    ("ms", "error_ms", "text"),
    [
        (-11_924.4, 16_000.2, "-12 s ± 17 s"),
        (-0.4, 2.1, "+0 ms ± 3 ms"),
        (7_201_000.0, 999.0, "+7,201 s ± 1 s"),
    ],
)
def test_an_offset_is_told_with_what_it_may_be_wrong_by(ms, error_ms, text):
    assert offset_text(ms, error_ms) == text


def test_each_offset_has_its_margin_among_the_metrics():
    sane = Sane(WITHOUT_PROBE, Clock())
    sane.monitor.offsets = {1: Offset(-12_000, 16_001)}
    shown = rendered(sane.metrics)

    assert shown['tsproxy_clock_offset_seconds{broker="1"}'] == -12
    assert shown['tsproxy_clock_offset_margin_seconds{broker="1"}'] == 16.001


def offsets_of(*many_ms, error_ms=1):
    return {number: Offset(ms, error_ms) for number, ms in enumerate(many_ms)}


def test_one_broker_that_is_off_is_not_this_proxys_trouble():
    assert middle(offsets_of(9_000, 3, 5)).ms == 5
    assert middle(offsets_of(9_000, 3)).ms == 3
    assert middle(offsets_of(-9_000, -3)).ms == -3
    assert middle(offsets_of(-9_000, -9_001, 4)).ms == -9_000
    assert middle({}) is None


def test_a_broker_that_is_off_is_told_of_once_and_suspends_nothing():
    sane = Sane(WITH_PROBE, Clock())
    with structlog.testing.capture_logs() as told:
        for _ in range(2):
            sane.monitor.offsets = offsets_of(HOUR_MS, 3, 5)
            sane.monitor._judge()
    [line] = told
    assert (line["event"], line["node_id"]) == ("broker_clock_differs", 0)
    assert (line["offset_ms"], line["error_ms"]) == (HOUR_MS, 1)
    assert (sane.suspended, sane.monitor.warnings()) == ([], [])


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=9))
def test_at_least_half_of_the_brokers_are_as_far_off_or_further_on_its_side(many_ms):
    found = middle(offsets_of(*many_ms)).ms
    further = sum(ms >= found for ms in many_ms) if found > 0 else sum(ms <= found for ms in many_ms)
    assert found in many_ms
    assert 2 * further >= len(many_ms)
