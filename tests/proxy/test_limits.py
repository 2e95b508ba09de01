"""The bounds for all clients together, and which client is closed beyond them."""

import resource
from dataclasses import dataclass, field, replace

import pytest
import structlog

from tests.config.files import SMALLEST, config_of
from tests.proxy.frames import answer, request
from tests.proxy.loops import on_both_loops
from tests.proxy.running import put
from tests.proxy.wire import MIB, PEER, wire
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.config.reloaded import Reloaded
from tsproxy.config.settings import ConnectionLimits
from tsproxy.config.source import Source
from tsproxy.proxy.limits import descriptors
from tsproxy.proxy.limits.admission import Admission, Limit
from tsproxy.proxy.limits.connection_monitor import ConnectionMonitor, ConnectionStats, Memory
from tsproxy.proxy.limits.process import ProcessLimits
from tsproxy.proxy.service_manager import ServiceManager
from tsproxy.proxy.workers.member import Member
from tsproxy.proxy.workers.supervisor import Supervisor
from tsproxy.wire.frames import Unfinished

SECOND = 1_000
LIMITS = ConnectionLimits(
    connections=3,
    connections_per_address=2,
    buffered=1000,
    stalled_frame_ms=30 * SECOND,
    idle_ms=600 * SECOND,
)


@dataclass(eq=False)
class Connection:
    """As the connection_monitor sees one."""

    held_bytes: int = 0
    unfinished: Unfinished | None = None
    is_owed_answers: bool = False
    is_paused: bool = False
    weight_bytes: int = 0
    is_owed_first_answer: bool = False
    was_heard: bool = False
    stats: ConnectionStats = field(default_factory=ConnectionStats)
    ended: list[Limit] = field(default_factory=list)
    silences: int = 0
    retirements: int = 0
    late_answers: int = 0
    text: str = ""

    def broker_is_silent(self):
        self.silences += 1

    def answers_are_late(self):
        self.late_answers += 1

    def pause(self, is_paused):
        self.is_paused = is_paused

    def is_too_old(self):
        self.retirements += 1

    def exceeded(self, limit, text):
        self.ended.append(limit)
        self.held_bytes, self.unfinished, self.text = 0, None, text

    def receives(self, number, received, announced=None):
        self.unfinished = Unfinished(number, received, announced)
        self.held_bytes = received
        self.was_heard = True


def patrol_over(*connections, limits=LIMITS):
    memory = Memory(lambda: connections, limits.buffered)
    return ConnectionMonitor(lambda: connections, memory, limits, Clock())


def watched(**limits):
    """A connection and its monitor."""
    connection = Connection()
    return connection, patrol_over(connection, **limits)


# -- Who may connect --------------------------------------------------------------------------------


def test_as_many_clients_as_configured_are_let_in_and_then_one_more_for_each_that_leaves():
    admission = Admission(LIMITS)
    assert [admission.admit(address) for address in "abc"] == [None] * 3
    assert admission.admit("d") is Limit.CONNECTIONS

    admission.leave("a")
    assert admission.admit("d") is None
    assert admission.admit("a") is Limit.CONNECTIONS


IPV4, IPV6, OTHER_IPV6 = "192.0.2.7", "2001:db8::1", "2001:db8:0:1::1"
COME = {
    "one address": (["a"] * 2, "a", "b"),
    "an IPv6 host with its many addresses": ([IPV6, "2001:db8::ffff"], "2001:db8::7", OTHER_IPV6),
    "an IPv4 address on a listener of both kinds": ([IPV4, f"::ffff:{IPV4}"], IPV4, "192.0.2.8"),
}
"""Clients that are let in, one that is not, and one that still is."""


@pytest.mark.parametrize(("let_in", "rejected", "other"), COME.values(), ids=COME)
def test_one_address_cannot_take_the_places_of_all(let_in, rejected, other):
    admission = Admission(LIMITS)
    assert [admission.admit(address) for address in let_in] == [None] * 2
    assert admission.admit(rejected) is Limit.CONNECTIONS_PER_ADDRESS
    assert admission.admit(other) is None
    assert sorted(admission.by_address.values()) == [1, 2]

    for address in (*let_in, other):
        admission.leave(address)
    assert not admission.by_address


def test_a_client_behind_a_load_balancer_counts_for_its_own_network():
    admission = Admission(replace(LIMITS, connections=100))
    for n in range(2):
        admission.admit("10.0.0.1")
        assert admission.move("10.0.0.1", f"2001:db8::{n}") is None
    admission.admit("10.0.0.1")
    assert admission.move("10.0.0.1", "2001:db8::9") is Limit.CONNECTIONS_PER_ADDRESS
    assert admission.by_address == {"2001:db8::/64": 2, "10.0.0.1": 1}


def test_each_of_several_workers_keeps_its_share_rounded_up():
    share = replace(LIMITS, connections=10, connections_per_address=3, buffered=101).share(4)

    assert (share.connections, share.connections_per_address, share.buffered) == (3, 1, 26)
    assert (share.idle_ms, share.stalled_frame_ms) == (LIMITS.idle_ms, LIMITS.stalled_frame_ms)


# -- Silent brokers ---------------------------------------------------------------------------------


def test_a_broker_is_silent_when_its_first_answer_is_missing_for_five_seconds():
    asked, answered = Connection(is_owed_first_answer=True), Connection(is_owed_first_answer=True)
    monitor = patrol_over(asked, answered)
    monitor.check(0)
    answered.is_owed_first_answer = False
    monitor.check(4 * SECOND)
    assert (asked.silences, answered.silences) == (0, 0)
    answered.is_owed_first_answer = True
    monitor.check(5 * SECOND)
    assert (asked.silences, answered.silences) == (1, 0)
    assert not asked.ended


def test_answers_are_late_when_nothing_came_for_five_seconds_and_some_are_owed():
    owed, idle = Connection(is_owed_answers=True), Connection()
    heard = Connection(is_owed_answers=True)
    monitor = patrol_over(owed, idle, heard)
    monitor.check(0)
    heard.was_heard = True
    monitor.check(4 * SECOND)
    assert (owed.late_answers, idle.late_answers, heard.late_answers) == (0, 0, 0)
    monitor.check(5 * SECOND)
    assert (owed.late_answers, idle.late_answers, heard.late_answers) == (1, 0, 0)
    assert not owed.ended


# -- Stalled frames ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("announced", "seconds"), [(300, 30), (90 * MIB, 120)], ids=["small", "large"])
def test_a_frame_that_stalls_ends_its_connection(announced, seconds):
    """A large frame has a second more for each mebibyte."""
    connection, connection_monitor = watched()
    connection.receives(0, 200, announced)
    connection_monitor.check(0)
    connection_monitor.check(seconds * SECOND)
    assert not connection.ended

    connection_monitor.check((seconds + 1) * SECOND)
    assert connection.ended == [Limit.STALLED_FRAME]
    assert connection.text.startswith(
        f"in {seconds + 1} s came 200 bytes of the {announced} that it announced"
    )


def test_a_frame_that_drips_is_stalled_as_well():
    connection, connection_monitor = watched()
    for second in range(32):
        connection.receives(0, 200 + second, 300)
        connection_monitor.check(second * SECOND)

    assert connection.ended == [Limit.STALLED_FRAME]


def test_one_frame_after_the_other_is_no_stalled_frame_however_often_one_is_half_here():
    connection, connection_monitor = watched()
    for second in range(100):
        connection.receives(second, 200, 300)
        connection_monitor.check(second * SECOND)

    assert not connection.ended


def test_what_the_proxy_does_not_read_is_not_held_against_the_client():
    """While the broker takes no more there is no `unfinished`; then the time begins anew."""
    connection, connection_monitor = watched()
    connection.receives(0, 200, 300)
    connection_monitor.check(0)
    connection.unfinished = None
    connection_monitor.check(40 * SECOND)
    connection.unfinished = Unfinished(0, 200, 300)
    connection_monitor.check(50 * SECOND)
    assert not connection.ended

    connection_monitor.check(81 * SECOND)
    assert connection.ended == [Limit.STALLED_FRAME]


# -- Idle -------------------------------------------------------------------------------------------


def test_a_connection_on_which_nothing_comes_ends_and_one_that_is_owed_an_answer_waits():
    idle, waiting, busy = Connection(), Connection(is_owed_answers=True), Connection()
    connection_monitor = patrol_over(idle, waiting, busy)
    for second in range(0, 602, 100):
        busy.was_heard = True
        connection_monitor.check(second * SECOND)
    connection_monitor.check(601 * SECOND)

    assert idle.ended == [Limit.IDLE]
    assert not waiting.ended
    assert not busy.ended


def test_a_connection_with_an_end_that_is_not_read_ends_though_an_answer_is_missing():
    """Nobody would see that the end is gone. A client that takes its answer, however slowly, continues."""
    stuck, slow = (Connection(is_owed_answers=True, is_paused=True, held_bytes=400) for _ in range(2))
    connection_monitor = patrol_over(stuck, slow)
    for second in range(0, 701, 100):
        slow.held_bytes -= 1
        connection_monitor.check(second * SECOND)

    assert stuck.ended == [Limit.IDLE]
    assert not slow.ended


# -- Age --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("age_ms", "ended"), [(None, 0), (100 * SECOND, 20)])
def test_connections_that_began_together_are_too_old_one_after_the_other(age_ms, ended):
    connections = [Connection() for _ in range(20)]
    monitor = patrol_over(*connections, limits=replace(LIMITS, connection_age_ms=age_ms))
    counts = []
    for second in (0, 89, 100, 111):
        monitor.check(second * SECOND)
        counts.append(sum(bool(each.retirements) for each in connections))

    assert counts[0] == counts[1] == 0
    assert counts[3] == ended
    assert counts[2] < ended or not ended


@on_both_loops
async def test_a_connection_that_is_too_old_gets_the_answers_that_are_missing_and_nothing_more_is_taken():
    async with wire() as the:
        await the.asks(request(1))
        for _ in range(2):  # each second
            the.relay.is_too_old()
        await the.client_sends(request(2))
        await the.broker_sends(answer(1))

        assert await the.client_gets(len(answer(1))) == answer(1)
        assert await the.client_sees_end()
        assert await the.broker_sees_end()
    assert the.world.metric('tsproxy_limits_total{limit="connection_age"}') == 1
    assert the.world.metric('tsproxy_sessions_closed_total{listener="default",reason="connection_age"}') == 1
    assert not the.world.logged.of("session_closed")


# -- Memory -----------------------------------------------------------------------------------------


def test_the_connection_that_holds_most_is_ended_as_soon_as_all_hold_too_much():
    small, large = Connection(), Connection()
    memory = Memory(lambda: (small, large), 1000)
    large.receives(0, 700)
    memory.count(large)
    small.receives(0, 300)
    memory.count(small)
    assert memory.held_bytes == 1000

    small.receives(0, 301)
    memory.count(small)
    assert large.ended == [Limit.BUFFERED]
    assert not small.ended
    assert memory.held_bytes == 301


def test_what_is_held_without_a_byte_that_came_is_found_within_a_second():
    """Answers of the proxy's own, to clients that do not read them."""
    small, large = Connection(held_bytes=400), Connection(held_bytes=900)
    small.was_heard = large.was_heard = True
    patrol_over(small, large).check(0)

    assert (small.ended, large.ended) == ([], [Limit.BUFFERED])


def test_who_stalls_goes_before_who_moves():
    stalled, moving, waiting = Connection(), Connection(), Connection(held_bytes=5_000)
    connections = (waiting, stalled, moving)
    memory = Memory(lambda: connections, 100_000)
    connection_monitor = ConnectionMonitor(lambda: connections, memory, LIMITS, Clock())
    stalled.receives(0, 40_000)
    memory.count(stalled)
    connection_monitor.check(0)
    connection_monitor.check(1 * SECOND)
    moving.receives(0, 70_000)
    memory.count(moving)

    assert stalled.ended == [Limit.BUFFERED]
    assert not moving.ended
    assert not waiting.ended  # for answers to a few requests


def test_what_has_been_sent_meanwhile_ends_nobody():
    one, other = Connection(), Connection()
    memory = Memory(lambda: (one, other), 1000)
    one.receives(0, 900)
    memory.count(one)
    one.held_bytes = 0  # its frame went on; nobody counted
    other.receives(0, 900)
    memory.count(other)

    assert not one.ended
    assert not other.ended


# -- In a relay -------------------------------------------------------------------------------------


@on_both_loops
async def test_a_relay_tells_what_it_holds_and_what_is_unfinished():
    whole = request(1, 1000)
    async with wire() as the:
        await the.client_sends(whole[:500])
        await until(lambda: the.relay.held_bytes == 500)
        assert the.world.limits.memory.held_bytes == 500, "what came, and not what was announced"
        assert the.relay.unfinished == Unfinished(0, 500, len(whole))
        assert the.relay.was_heard

        await the.client_sends(whole[500:])
        assert await the.broker_gets(len(whole)) == whole
        assert the.relay.held_bytes < 100  # a request in flight
        assert the.relay.unfinished is None
        assert the.relay.is_owed_answers


@on_both_loops
async def test_a_relay_over_a_limit_is_cut_off_and_told_once():
    async with wire() as the:
        await the.client_sends(request(1) + request(2, 500)[:50])
        await the.broker_gets(len(request(1)))
        the.relay.exceeded(Limit.STALLED_FRAME, "too slow")
        the.relay.exceeded(Limit.IDLE, "again")

        await until(lambda: not the.relay.client.is_open)
        assert await the.broker_sees_end()
    [line] = the.world.logged.of("session_closed")
    assert (line["client"], line["client_port"]) == (PEER.client_address, PEER.client_port)
    assert (line["reason"], line["text"]) == ("stalled_frame", "too slow")
    assert the.world.metric('tsproxy_limits_total{limit="stalled_frame"}') == 1
    assert the.world.metric('tsproxy_limits_total{limit="idle"}') == 0
    assert the.world.metric('tsproxy_sessions_closed_total{listener="default",reason="stalled_frame"}') == 1


@on_both_loops
async def test_an_idle_client_gets_what_was_on_its_way():
    async with wire() as the:
        await the.asks(request(1))
        await the.broker_sends(answer(1))
        await until(lambda: not the.relay.is_owed_answers)
        the.relay.exceeded(Limit.IDLE, "idle")

        assert await the.client_gets(len(answer(1))) == answer(1)
        assert await the.client_sees_end()


# -- File descriptors -------------------------------------------------------------------------------


@pytest.fixture
def granted():
    """The limit of open files, given back as it was."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_soft_limit_of_open_files_is_raised_as_far_as_it_may_be(granted):
    _, hard = granted
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))

    assert descriptors.raise_limit(300) == 300
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (300, hard)
    assert descriptors.raise_limit(200) == 300


async def test_the_supervisor_raises_its_limit_as_its_workers_do(granted, tmp_path, monkeypatch):
    """Else its limit would be joined with the open files of a worker that has far more."""
    _, hard = granted
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))

    async def agrees(*_):
        return ()

    monkeypatch.setattr(Member, "prepare", agrees)
    monkeypatch.setattr(Member, "has_committed", agrees)
    few, more = (
        config_of(f"{SMALLEST}workers: 2\nlimits: {{ connections: {connections} }}\n")
        for connections in (200, 400)
    )
    source = Source(put(tmp_path / "tsproxy.yaml", SMALLEST), lambda: few)
    supervisor = Supervisor(few, source, ServiceManager.of({}), Clock(), lambda _: None)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (descriptors.needed(few), hard)
    await supervisor.adopt(Reloaded(more, (), ()))
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (descriptors.needed(more), hard)


def test_without_a_number_as_many_connect_as_open_files_allow_and_nothing_is_told(monkeypatch):
    monkeypatch.setattr(descriptors, "raise_limit", lambda _: 1_024)
    with structlog.testing.capture_logs() as told:
        found = descriptors.share_of(config_of(SMALLEST))
        descriptors.check(config_of(SMALLEST))

    assert 2 * found.connections + 200 < 1_024 <= 2 * found.connections + 400
    assert told == []


def test_a_number_that_was_asked_for_stays_and_open_files_that_lack_are_told(monkeypatch):
    monkeypatch.setattr(descriptors, "raise_limit", lambda _: 1_024)
    config = config_of(SMALLEST + "limits: { connections: 1000 }\n")
    with structlog.testing.capture_logs() as told:
        found = descriptors.share_of(config)
        descriptors.check(config)

    assert found.connections == 1_000
    assert [(line["event"], line["granted"]) for line in told] == [("file_descriptors_few", 1_024)]


def test_a_reload_that_asks_for_more_connections_than_open_files_allow_is_told(monkeypatch):
    monkeypatch.setattr(descriptors, "raise_limit", lambda _: 1_024)
    limits = ProcessLimits(ConnectionLimits(), Clock())
    with structlog.testing.capture_logs() as told:
        for number in (50, 1_000):
            limits.apply(config_of(SMALLEST + f"limits: {{ connections: {number} }}\n"))
    assert [(line["event"], line["connections"] < 1_000) for line in told] == [("file_descriptors_few", True)]
