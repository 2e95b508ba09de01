"""`limits.memory`: what is read of the system, what is decided, and who is closed."""

import os
import resource
from dataclasses import replace

import pytest
import structlog
from prometheus_client import Gauge

from tests.proxy.proxy_listeners import config_of
from tests.proxy.test_limits import LIMITS, Connection
from tsproxy.clock import Clock
from tsproxy.proxy.limits import memory_use
from tsproxy.proxy.limits.admission import Limit
from tsproxy.proxy.limits.memory_guard import MemoryGuard
from tsproxy.proxy.limits.overload import Decision, Overload
from tsproxy.proxy.limits.process import ProcessLimits

MIB = 1 << 20
MACHINE_BYTES = 2 * MIB
GRANTED = {
    "no such files": ({}, MACHINE_BYTES),
    "v2, a group above has less": (
        {
            "proc/self/cgroup": "0::/kube/pod\n",
            "sys/fs/cgroup/kube/pod/memory.max": "1048576\n",
            "sys/fs/cgroup/kube/memory.max": "524288\n",
        },
        MIB // 2,
    ),
    "v2, no limit": (
        {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"},
        MACHINE_BYTES,
    ),
    "v1, where the container sees its own group as the highest": (
        {
            "proc/self/cgroup": "5:cpu,cpuacct:/docker/1\n4:memory:/docker/1\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "1048576\n",
        },
        MIB,
    ),
    "v1, no limit": (
        {
            "proc/self/cgroup": "4:memory:/\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
        MACHINE_BYTES,
    ),
}


@pytest.mark.parametrize("files", GRANTED)
def test_the_least_limit_holds(files, tmp_path, monkeypatch):
    texts, granted = GRANTED[files]
    monkeypatch.setattr(os, "sysconf", lambda name: MACHINE_BYTES // resource.getpagesize())
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert memory_use.granted_bytes(tmp_path) == granted


def test_the_machines_memory_is_known_without_any_file(tmp_path):
    """A unit of systemd with `ProcSubset=pid` has no /proc/meminfo."""
    assert memory_use.granted_bytes(tmp_path) > 64 * MIB


BLIND = {
    "granted_bytes": "limits.memory limits nothing: the machine does not say how much memory it has "
    "(set limits.memory)",
    "used_bytes": "limits.memory limits nothing: /proc/self/statm cannot be read (mount /proc)",
}


@pytest.mark.parametrize("unknown", BLIND)
def test_a_proxy_that_cannot_limit_its_memory_says_so(unknown, monkeypatch):
    monkeypatch.setattr(memory_use, unknown, lambda: None)
    with structlog.testing.capture_logs() as events:
        guard = MemoryGuard(
            config_of(["192.0.2.1:9"]), ProcessLimits(LIMITS, Clock()), lambda: 0, gauge(), gauge()
        )
    assert [event["event"] for event in events] == ["memory_not_limited"]
    assert guard.warnings() == [BLIND[unknown]]


SERVES, FULL, PAUSED = Decision(), Decision(1), Decision(2, reads=False)
CLOSES, IN_VAIN = Decision(3, reads=False, closes=True), Decision(3, gave_up=True)
READINGS = {
    "below all marks": ([100, 179], [SERVES, SERVES]),
    "a mark each": ([180, 185, 190, 184, 179], [FULL, PAUSED, CLOSES, FULL, SERVES]),
    "memory falls with each connection": ([199, 198, 197, 196], [CLOSES] * 4),
    "good clients do not wait for long at the second mark": (
        [187] * 5,
        [PAUSED] * 4 + [replace(PAUSED, closes=True)],
    ),
    "connections that free a little each are closed one after the other": (
        [198 - number / 8 for number in range(30)],
        [CLOSES] * 30,
    ),
    "after ten in vain clients are served": ([195] * 14, [CLOSES] * 11 + [IN_VAIN] * 3),
    "closing is tried again when it grows": (
        [195] * 12 + [198, 197],
        [CLOSES] * 11 + [IN_VAIN] + [CLOSES] * 2,
    ),
    "or when it was well": ([195] * 12 + [150, 195], [CLOSES] * 11 + [IN_VAIN, SERVES, CLOSES]),
}


@pytest.mark.parametrize("readings", READINGS)
def test_each_reading_has_its_decision(readings):
    """100 of 200 MiB are the process's own."""
    used_mib, decisions = READINGS[readings]
    overload = Overload(200 * MIB, 100 * MIB)
    assert [overload.decide(int(used * MIB)) for used in used_mib] == decisions


def test_a_limit_that_leaves_no_room_keeps_no_client_away():
    assert Overload(100 * MIB, 90 * MIB).decide(120 * MIB) == SERVES


@pytest.mark.parametrize(
    ("weights", "closed"),
    [([], []), ([5, 5, 5], []), ([0], []), ([5, 9, 5], [1]), ([2 * MIB] * 2, [1]), ([7 * MIB], [0])],
    ids=str,
)
def test_the_heaviest_is_closed_if_it_is_to_blame(weights, closed):
    limits, made = ProcessLimits(LIMITS, Clock()), [Connection(weight_bytes=each) for each in weights]
    for each in made:
        limits.join(each, "192.0.2.1")
    limits.close_heaviest("")
    assert [n for n, each in enumerate(made) if each.ended == [Limit.MEMORY]] == closed


def of(limit):
    return config_of(["192.0.2.1:9"], limits=f"{{ memory: {limit} }}")


def gauge():
    return Gauge("shown", "", registry=None)


def guard_of(limits, ratio, mark):
    return MemoryGuard(of("100MiB"), limits, lambda: 0, ratio, mark)


def test_decisions_are_performed(monkeypatch):
    limits, one, used = ProcessLimits(LIMITS, Clock()), Connection(weight_bytes=MIB), [0]
    monkeypatch.setattr(memory_use, "used_bytes", lambda: used[0])
    limits.join(one, "192.0.2.1")
    guard, seen = guard_of(limits, ratio := gauge(), mark := gauge()), []
    for mib in (50, 82, 87, 99, 50):
        used[0] = mib * MIB
        guard.step_done(is_large=True)
        guard.check()
        shown = [each.collect()[0].samples[0].value for each in (ratio, mark)]
        seen.append((limits.admit("192.0.2.1"), one.is_paused, bool(one.ended), *shown))
    assert seen == [
        (None, False, False, 0.5, 0),
        (Limit.MEMORY, False, False, 0.82, 1),
        (Limit.MEMORY, True, False, 0.87, 2),
        (Limit.MEMORY, True, True, 0.99, 3),
        (None, False, True, 0.5, 0),
    ]


def test_the_way_back_is_a_larger_limit(monkeypatch):
    limits = ProcessLimits(LIMITS, Clock())
    monkeypatch.setattr(memory_use, "used_bytes", [95 * MIB, 95 * MIB, 0].pop)
    guard = guard_of(limits, gauge(), gauge())
    guard.check()
    assert guard.warnings() == ["limits.memory: connections are closed"]
    guard.apply(of("200MiB"))
    guard.check()
    assert not guard.warnings()
    assert limits.admit("192.0.2.1") is None
