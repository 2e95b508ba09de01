"""Evidence against the proxy's clock for which nothing is written: the kernel's and the brokers'."""

import asyncio
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition

from tests.attacks.kept import proxy_in_this_process
from tests.config.files import SMALLEST, config_of
from tests.kit.clocks import HandClock, MovedClock
from tests.kit.tasks import beside
from tests.proxy.clock_check.test_offsets import Sane
from tests.proxy.measured import rendered
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.proxy import clock_check
from tsproxy.proxy.clock_check import system_clock
from tsproxy.proxy.clock_check.doubts import ClockWarnings, Witness
from tsproxy.proxy.clock_check.monitor import TOLD_BEFORE_MS, UNCONFIRMED_MS
from tsproxy.proxy.clock_check.offsets import Offset
from tsproxy.proxy.clock_check.stamps import Look, Newest
from tsproxy.proxy.clock_check.system_clock import meaning

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def logged_by(logs, event="clock_suspected"):
    return [line["by"] for line in logs if line["event"] == event]


def ended(logs):
    return [f"{line['by']}: {line['text']}" for line in logs if line["event"] == "clock_suspicion_ended"]


# -- The kernel --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "status", "is_synchronised"),
    [(0, 0x2001, True), (1, 0x2001, True), (5, 0x40, False), (0, 0x40, False), (5, 0, False)],
)
def test_the_kernels_word_is_its_state_and_its_status(state, status, is_synchronised):
    """adjtimex(2): TIME_ERROR, STA_UNSYNC."""
    assert meaning(state, status) is is_synchronised


async def test_a_clock_that_nothing_keeps_is_information_and_told_once_and_so_is_its_end():
    """The kernel of a guest says so for ever, if the host keeps the clock right and never tells it."""
    says = [False]
    sane = Sane(config_of(SMALLEST), Clock(), kernel_is_synchronised=lambda: says[0])
    with structlog.testing.capture_logs() as logs:
        async with sane.running():
            await until(lambda: [line for line in logs if line["event"] == "clock_not_synchronised"])
            sane.monitor._check_kernel()
            assert rendered(sane.metrics)['tsproxy_clock_suspected{by="kernel"}'] == 1
            assert sane.monitor.warnings() == []
            says[0] = True
            await until(lambda: logged_by(logs, "clock_suspicion_ended"))
    assert [line["log_level"] for line in logs if line["event"] == "clock_not_synchronised"] == ["info"]
    assert logged_by(logs) == []
    assert ended(logs) == ["kernel: the kernel says that something keeps this machine's clock right"]
    assert rendered(sane.metrics)['tsproxy_clock_suspected{by="kernel"}'] == 0
    assert sane.suspended == []


@pytest.mark.parametrize("fails", ["it is forbidden", "there is no such call"])
def test_a_kernel_that_says_nothing_raises_no_doubt(monkeypatch, fails):
    """A sandbox may forbid adjtimex, and another libc may lack it."""
    library = SimpleNamespace(adjtimex=lambda _: -1) if fails == "it is forbidden" else SimpleNamespace()
    monkeypatch.setattr(system_clock.ctypes, "CDLL", lambda _: library)
    sane = Sane(config_of(SMALLEST), Clock(), kernel_is_synchronised=system_clock.is_synchronised)
    with structlog.testing.capture_logs() as logs:
        sane.monitor._check_kernel()

    assert system_clock.is_synchronised() is None
    assert logs == []


def test_the_kernel_warns_together_with_the_brokers():
    doubts = ClockWarnings()
    doubts.put(Witness.KERNEL, "nothing keeps it")
    doubts.put(Witness.BROKERS, "it is 2 h behind")

    assert doubts.warnings == ["it is 2 h behind", "nothing keeps it"]


@pytest.mark.parametrize(("step_ms", "side"), [(-2 * HOUR_MS, "back"), (2 * HOUR_MS, "forward")])
def test_a_step_that_no_broker_confirms_is_a_warning_until_one_does(step_ms, side):
    """The clock was set back by 2 h. Every producer was rejected, so no group committed, and no broker wrote
    a time."""
    clock = MovedClock()
    monitor = Sane(config_of(SMALLEST), clock).monitor
    clock.by_ms = step_ms
    with structlog.testing.capture_logs() as logs:
        assert monitor._has_stepped()
    assert logged_by(logs) == ["step"]
    text = f"this machine's clock was set {side} by 7,200.0 s, and no broker's time confirms it"
    assert monitor.warnings() == [text]
    with structlog.testing.capture_logs() as logs:
        monitor._learn({1: Offset(0, 1)})
    assert monitor.warnings() == []
    assert ended(logs) == ["step: the brokers' times agree with the clock: the step was right"]


def test_a_step_that_nobody_confirms_stays_a_doubt_until_the_clock_is_set_back():
    """The suspicion was over after ten minutes, although nobody had confirmed the clock."""
    clock = HandClock()
    sane = Sane(config_of(SMALLEST), clock)
    clock.by_ms += 900
    assert sane.monitor._has_stepped()
    assert sane.monitor.warnings() == []
    clock.by_ms += HOUR_MS
    assert sane.monitor._has_stepped()
    clock.ms += 30 * 86_400_000
    sane.monitor._judge()
    assert sane.monitor.warnings()
    clock.by_ms -= HOUR_MS
    with structlog.testing.capture_logs() as logs:
        assert sane.monitor._has_stepped()
    assert sane.monitor.warnings() == []
    assert ended(logs) == ["step: the clock was set back by as much: it was wrong meanwhile"]
    assert sane.suspended == []


# -- Two witnesses -----------------------------------------------------------------------------------


KNOWN, UNKNOWN = {1: Offset(0, 2_000)}, {}


@pytest.mark.parametrize(
    ("told", "step_ms", "heard_ms", "suspended"),
    [
        (UNKNOWN, 2 * HOUR_MS, None, []),
        (UNKNOWN, 0, 2 * HOUR_MS, []),
        (UNKNOWN, 2 * HOUR_MS, HOUR_MS, []),
        (UNKNOWN, 2 * HOUR_MS, 2 * HOUR_MS + 900, [True]),
        (UNKNOWN, -2 * HOUR_MS, -2 * HOUR_MS - 900, [True]),
        (UNKNOWN, 2 * HOUR_MS, 0, []),
        (KNOWN, 2 * HOUR_MS, None, [True]),
        (KNOWN, 2 * HOUR_MS, 2 * HOUR_MS, [True]),
        (KNOWN, 2 * HOUR_MS, 0, [True, False]),
        ({1: Offset(-2 * HOUR_MS, 2_000)}, 2 * HOUR_MS, 0, []),
        ({1: Offset(HOUR_MS, 2_000)}, 2 * HOUR_MS, None, []),
    ],
)
def test_a_step_and_brokers_that_are_off_by_as_much_suspend_and_neither_alone(
    told, step_ms, heard_ms, suspended
):
    """A client may write the brokers' times, but it cannot set this clock."""
    clock = HandClock()
    sane = Sane(config_of(SMALLEST), clock)
    sane.monitor._learn(told)
    if step_ms:
        clock.by_ms += step_ms
        assert sane.monitor._has_stepped()
    if heard_ms is not None:
        sane.monitor._learn({1: Offset(heard_ms, 1_000)})
    assert sane.suspended == suspended

    warns = Sane(config_of(SMALLEST + "clock: { when_beyond: warn }\n"), clock)
    warns.monitor._learn(told)
    clock.by_ms += step_ms
    warns.monitor._has_stepped()
    assert warns.suspended == []


def test_a_suspended_proxy_enforces_again_when_the_clock_is_right_whoever_says_so():
    """By a step back at once, even if the brokers' times are forged meanwhile; or by brokers' times."""
    for by_step in (True, False):
        clock = HandClock()
        sane = Sane(config_of(SMALLEST), clock)
        sane.monitor._learn(KNOWN)
        clock.by_ms += 2 * HOUR_MS
        sane.monitor._has_stepped()
        sane.monitor._learn({1: Offset(2 * HOUR_MS - 60_000, 1_000)})  # led back, so no longer the same
        assert sane.suspended == [True]
        if by_step:
            clock.by_ms += 60_000 - 2 * HOUR_MS
            sane.monitor._has_stepped()
            assert sane.suspended == [True, False]
            sane.monitor._learn({1: Offset(2 * HOUR_MS, 1_000)})
        else:
            sane.monitor._learn({1: Offset(500, 1_000)})
        assert sane.suspended == [True, False]
        within = [facts["proven"] for _, facts in sane.logged if facts["what"] == "within"]
        assert within == [True]


def test_times_of_before_a_step_are_a_witness_for_a_minute_and_prove_nothing_to_the_log():
    """A virtual machine that was stopped for two hours is set right by a step. Its clock is not wrong."""
    clock = HandClock()
    sane = Sane(config_of(SMALLEST), clock)
    sane.monitor._learn(KNOWN)
    clock.by_ms += 2 * HOUR_MS
    sane.monitor._has_stepped()
    assert sane.suspended == [True]
    clock.ms += TOLD_BEFORE_MS + 1
    sane.monitor._judge()
    assert sane.suspended == [True, False]
    assert sane.monitor.warnings()  # nobody has confirmed the step
    sane.monitor._learn({1: Offset(0, 1_000)})
    assert sane.monitor.warnings() == []
    last = sane.logged[-1][1]
    assert (last["what"], last["proven"]) == ("within", False)


YOUNG_MS, OLD_MS = UNCONFIRMED_MS - 1, UNCONFIRMED_MS


@pytest.mark.parametrize(
    ("age_ms", "step_ms", "heard", "off_ms"),
    [
        (YOUNG_MS, 0, UNKNOWN, None),
        (OLD_MS, 0, UNKNOWN, 0),
        (YOUNG_MS, 0, {1: Offset(700, 10)}, 700),
        (OLD_MS, 0, {1: Offset(-700, 10)}, -700),
        (OLD_MS, 0, {1: Offset(20 * DAY_MS, 10)}, None),
        (OLD_MS, 20 * DAY_MS, UNKNOWN, None),
        (OLD_MS, 20 * DAY_MS, {1: Offset(20 * DAY_MS, 10)}, None),
        (OLD_MS, 20 * DAY_MS, {1: Offset(0, 10)}, 0),
    ],
)
def test_files_age_by_the_brokers_time_and_not_at_all_while_the_clock_is_in_doubt(
    age_ms, step_ms, heard, off_ms
):
    """A process that begins with a wrong clock sees no step."""
    clock = HandClock()
    monitor = Sane(config_of(SMALLEST), clock).monitor
    clock.ms += age_ms
    if step_ms:
        clock.by_ms += step_ms
        assert monitor.time_for_ages() is None  # nobody has looked for a step since
        monitor._has_stepped()
    monitor._learn(heard)
    assert monitor.time_for_ages() == (None if off_ms is None else clock.now_ms() - off_ms)


async def test_a_step_asks_the_brokers_at_once(monkeypatch):
    """Half a minute might pass until the next query, and all good records were rejected meanwhile."""
    clock = MovedClock()
    listened = Listened(monkeypatch, clock)
    listened.monitor._listens_left = 0
    queries = []
    listened.meanwhile = lambda: queries.append(clock.monotonic_ms())
    async with beside(listened.monitor._listen()):
        await until(lambda: len(queries) == 2)
        await asyncio.sleep(1.5)
        assert len(queries) == 2
        clock.by_ms = HOUR_MS
        assert listened.monitor._has_stepped()
        await until(lambda: len(queries) == 4)


def test_a_step_while_a_brokers_time_is_known_raises_no_doubt():
    clock = MovedClock()
    monitor = Sane(config_of(SMALLEST), clock).monitor
    monitor.offsets = {1: Offset(0, 1)}
    clock.by_ms = HOUR_MS
    with structlog.testing.capture_logs() as logs:
        assert monitor._has_stepped()
    assert logged_by(logs) == ["brokers"]


# -- Clients -----------------------------------------------------------------------------------------


def test_nothing_that_clients_send_comes_to_the_comparison_of_clocks():
    """A client may send any timestamps, and 2,000 of their ids were 250 MiB that nobody counted."""
    assert {witness.value for witness in Witness} == {"kernel", "step", "brokers"}
    for module in Path(clock_check.__file__).parent.glob("*.py"):
        assert "tsproxy.model.outcome" not in module.read_text(encoding="utf-8"), module.name


async def test_a_step_of_our_clock_moves_what_was_found_of_brokers_with_it():
    """Enforcement stayed suspended after the clock was set right, while brokers wrote nothing."""
    clock = MovedClock(by_ms=HOUR_MS)
    sane = Sane(config_of(SMALLEST + "clock: { when_beyond: audit, probe: { topic: time } }\n"), clock)
    sane.monitor.offsets = {1: Offset(HOUR_MS, 1.0)}
    async with sane.running():
        clock.by_ms = 0
        await until(lambda: sane.logged)
        assert (sane.suspended, round(sane.monitor.offsets[1].ms / 1_000)) == ([], 0)
        clock.by_ms = -HOUR_MS
        await until(lambda: sane.suspended == [True])
        clock.by_ms = 0
        await until(lambda: sane.suspended == [True, False])


class Listened:
    """A monitor that finds `newest` at each query, after `meanwhile` has been called."""

    def __init__(self, monkeypatch, clock, text=""):
        self.clock, self.newest, self.meanwhile = clock, [], lambda: None
        self.sane = Sane(config_of(SMALLEST + text), clock)
        self.monitor = self.sane.monitor
        monkeypatch.setattr("tsproxy.proxy.clock_check.monitor.newest_stamps", self._newest_stamps)

    async def _newest_stamps(self, connections, topics, clock):
        began_ms = clock.monotonic_ms()
        self.meanwhile()
        return Look(began_ms, clock.monotonic_ms(), clock.now_ms()), self.newest

    async def listen(self, *timestamps_ms):
        for timestamp_ms in timestamps_ms:
            self.newest = [Newest("__consumer_offsets", 0, 1, timestamp_ms)]
            await self.monitor._listen_once()


async def test_offsets_of_before_a_step_are_forgotten_with_it(monkeypatch):
    """They were those of another clock: two of them together said that this one is an hour off."""
    listened = Listened(monkeypatch, MovedClock())
    now_ms = listened.clock.now_ms()
    await listened.listen(now_ms, now_ms + 1)
    assert listened.monitor.offsets
    listened.clock.by_ms = HOUR_MS
    assert listened.monitor._has_stepped()

    assert listened.monitor._stamps.offsets(listened.clock.monotonic_ms()) == {}
    await listened.listen(now_ms + 2)
    assert round(listened.monitor.offsets[1].ms, -4) == HOUR_MS  # the one of before, moved with the clock


async def test_a_query_during_which_the_clock_was_set_says_nothing(monkeypatch):
    listened = Listened(monkeypatch, MovedClock())
    now_ms = listened.clock.now_ms()
    await listened.listen(now_ms)
    listened.meanwhile = lambda: setattr(listened.clock, "by_ms", HOUR_MS)
    with structlog.testing.capture_logs() as logs:
        await listened.listen(now_ms + 1)

    assert listened.monitor.offsets == {}
    assert logged_by(logs) == ["step"]


async def test_what_was_asked_of_brokers_before_there_was_a_probe_is_no_measurement(monkeypatch):
    """A client may write these times: taken for a measurement, they would end enforcement."""
    audit = "clock: { when_beyond: audit }\n"
    probed = "clock: { when_beyond: audit, probe: { topic: time } }\n"
    listened = Listened(monkeypatch, MovedClock(), audit)
    ahead_ms = listened.clock.now_ms() + HOUR_MS
    await listened.listen(ahead_ms)
    listened.meanwhile = lambda: listened.monitor.apply(config_of(SMALLEST + probed))
    await listened.listen(ahead_ms + 1, ahead_ms + 2)

    assert (listened.monitor.offsets, listened.sane.suspended) == ({}, [])


async def test_a_clock_that_is_off_stays_suspected_while_brokers_write_nothing(monkeypatch):
    """Behind by an hour, it may be why: every producer is rejected, so no group has anything to commit."""
    listened = Listened(monkeypatch, MovedClock())
    ahead_ms = listened.clock.now_ms() + HOUR_MS
    await listened.listen(ahead_ms, ahead_ms + 1)
    [text] = listened.monitor.warnings()
    listened.monitor._stamps.forget()  # as after ten minutes
    await listened.listen(ahead_ms + 1)

    assert listened.monitor.warnings() == [text]


# -- Brokers -----------------------------------------------------------------------------------------


async def committing(kafka, topic):
    """A group that commits again and again: its coordinator writes each time, by its own clock."""
    partition = TopicPartition(topic, 0)
    async with AIOKafkaConsumer(
        bootstrap_servers=kafka.bootstrap_servers, group_id=topic, enable_auto_commit=False
    ) as consumer:
        consumer.assign([partition])
        for offset in count():
            await consumer.commit({partition: offset})
            await asyncio.sleep(0.2)


PROXY = """\
upstream: {{ bootstrap_servers: ['{servers}'] }}
listeners: [{{ bind: 127.0.0.1:0 }}]
decisions: {{ directory: '{folder}' }}
clock: {{ when_beyond: {when_beyond} }}
"""


async def until_suspected(kafka, topic, folder, by_ms, when_beyond):
    """A whole proxy with a clock that is off, before a real broker: its lines, when it has found out."""
    await kafka.create_topic(topic)
    clock = MovedClock(by_ms=by_ms)
    text = PROXY.format(servers=kafka.bootstrap_servers, folder=folder, when_beyond=when_beyond)
    with structlog.testing.capture_logs() as logs:
        async with beside(committing(kafka, topic)), proxy_in_this_process(text, clock=clock) as proxy:
            await until(lambda: "brokers" in logged_by(logs))
            is_suspended, texts = proxy._sanity.is_suspended, proxy._sanity.warnings()
            shown = rendered(proxy.metrics)
            clock.by_ms = 0
            await until(lambda: "brokers" in logged_by(logs, "clock_suspicion_ended"))
    return is_suspended, texts, shown


@pytest.mark.parametrize(
    ("by_ms", "when_beyond", "side"),
    [(-2 * HOUR_MS, "warn", "behind"), (3 * HOUR_MS, "audit", "ahead of")],
    ids=["slow", "fast"],
)
async def test_a_clock_that_is_off_is_found_by_what_brokers_write_anyway_and_suspends_nothing(
    kafka, topic, tmp_path, by_ms, when_beyond, side
):
    """A client may write any times to these topics, directly at a broker. Five records ended enforcement."""
    is_suspended, texts, shown = await until_suspected(kafka, topic, tmp_path, by_ms, when_beyond)

    assert not is_suspended
    assert shown["tsproxy_enforcement_suspended"] == 0
    assert any(f"{side} the brokers'" in text for text in texts)
    assert shown['tsproxy_clock_suspected{by="brokers"}'] == 1
    assert abs(shown['tsproxy_clock_offset_seconds{broker="1"}'] - by_ms / 1_000) < 60
